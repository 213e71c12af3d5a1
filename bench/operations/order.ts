import { Semaphore } from "@samepage/interop";
import type { SemaphoreExporter } from "../../src/core/device/semaphore.ts";
import type { Player } from "../../examples/vulkan-opencl-ring/players.ts";

/** Makes one player's turn come after the other's. */
export interface Order {
  /** Called before the turn of player 0 or 1. */
  before(player: 0 | 1): void;
  /** Called after it. */
  after(player: 0 | 1): void;
}

/** Two binary semaphores, by hand: one from the first player to the second, and one back. */
export function bySemaphores(exporter: SemaphoreExporter, [one, other]: readonly [Player, Player]): Order & Disposable {
  using made = new DisposableStack();
  const there = made.use(Semaphore.create(exporter, { kind: "binary" }));
  const back = made.use(Semaphore.create(exporter, { kind: "binary" }));
  const signals = [there.in(one.context), back.in(other.context)];
  const waits = [back.in(one.context), there.in(other.context)];
  let isFirst = true;
  const kept = made.move();
  return {
    before(player) {
      if (!isFirst) waits[player].wait();
      isFirst = false;
    },
    after: (player) => void signals[player].signal(),
    [Symbol.dispose]: () => kept.dispose(),
  };
}
