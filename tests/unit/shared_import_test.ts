// SharedImport: one native object over another API's memory, for several maps at once.

import { assertEquals } from "@std/assert";
import type { Call } from "../../src/core/contract.ts";
import { SharedImport } from "../../src/core/device/shared_import.ts";

type Lane = string[];

/** Notes what is asked of it. */
class Noted extends SharedImport<Lane> {
  readonly released: string[] = [];
  protected override readonly again = { fn: "again", call: (lane: Lane) => lane.push("again") - lane.length };
  protected override readonly mark = { fn: "mark", call: (lane: Lane) => lane.push("mark") - lane.length };

  override release(): void {
    this.released.push(this.isAcquired ? "while acquired" : "handed back");
  }

  protected override hand(acquires: boolean): Call<Lane> {
    return {
      fn: acquires ? "acquire" : "release",
      call: (lane) => {
        lane.push(acquires ? "acquire" : "release");
        this.isAcquired = acquires;
        return 0;
      },
    };
  }
}

Deno.test("SharedImport.use() acquires with the first map, and hands back with the last", () => {
  const [shared, lane] = [new Noted(), [] as Lane];
  const first = shared.use(true);
  first.begin()!.call(lane);
  const second = shared.use(true);
  second.begin()!.call(lane);
  first.end()!.call(lane);
  first.release();
  second.end()!.call(lane);
  second.release();
  assertEquals(lane, ["acquire", "again", "mark", "release"]);
  assertEquals(shared.released, []);
});

Deno.test("SharedImport.use() counts the maps when the end's command is made, and not when it was asked for", () => {
  const [shared, lane] = [new Noted(), [] as Lane];
  const [first, second] = [shared.use(true), shared.use(true)];
  first.begin()!.call(lane);
  const end = second.end()!;
  first.release();
  end.call(lane);
  assertEquals(lane, ["acquire", "release"]);
});

Deno.test("SharedImport.use() releases an object that is not kept with its map", () => {
  const [shared, lane] = [new Noted(), [] as Lane];
  const only = shared.use(false);
  only.begin()!.call(lane);
  only.end()!.call(lane);
  only.release();
  assertEquals([lane, shared.released], [["acquire", "release"], ["handed back"]]);
});
