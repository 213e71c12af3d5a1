import type { Address } from "../../../ffi/address.ts";
import { isMade, withArticle } from "../argument.ts";
import type { Checks } from "../checks.ts";
import type { Call, Commands } from "../contract.ts";
import { assertFew } from "../device/box.ts";
import type { Use } from "../device/line.ts";
import { assertRepeats, type FillValue, patternIn } from "../device/pattern.ts";
import type { Direction, HostBytes } from "../device/queue.ts";
import { wrongMemory } from "../device/wrong_memory.ts";
import { countOf, placesOf, runsBetween, runsOf } from "../layout/runs.ts";
import type { Access } from "../memory/access.ts";
import type { UnifiedDeviceContext, UnifiedDeviceMemory, UnifiedTensor } from "./unified_device.ts";

/** A queue's commands on unified shared memory: fills and copies of bytes at addresses, row by row. For backends. */
export class UnifiedCommands<L, T extends UnifiedTensor> implements Commands<L, T> {
  /** The checks of the API's arguments. */
  readonly checks: Checks;
  readonly #usm: UnifiedDeviceMemory<T, UnifiedDeviceContext>;

  /** Those of one context. */
  constructor(usm: UnifiedDeviceMemory<T, UnifiedDeviceContext>, checks: Checks) {
    this.#usm = usm;
    this.checks = checks;
  }

  useOf(tensor: T, access: Access, argument: string): Use {
    const { tensors, title, context } = this.#usm;
    if (!isMade(tensor, tensors)) {
      throw wrongMemory(this.checks, tensor, access, argument, { expected: withArticle(tensors.name), target: title });
    }
    this.checks.assertHere(tensor.target.context, context, argument, tensor.name);
    return { tensor, access, argument };
  }

  fill({ address, layout, name }: T, value: FillValue): Call<L>[] {
    const pattern = patternIn(value, layout.dtype, this.checks);
    const { length, dimensions } = runsOf([layout]);
    this.#assertFew(countOf(dimensions), name);
    assertRepeats(pattern, length, name, this.checks);
    return placesOf([0], dimensions).map(([place]) =>
      this.#usm.fillCall(address + BigInt(place) as Address, pattern, length) as Call<L>
    );
  }

  copy(from: T, to: T): Call<L>[] {
    const { length, dimensions } = runsBetween(from, to, { api: this.checks.api, argument: "to" });
    this.#assertFew(countOf(dimensions), to.name);
    return placesOf([0, 0], dimensions).map(([there, here]) =>
      this.#copyCall(to.address + BigInt(here), from.address + BigInt(there), length)
    );
  }

  move(direction: Direction, { rawHandle }: T, { bytes, address }: HostBytes, begin: number): Call<L>[] {
    const own = rawHandle + BigInt(begin);
    const [to, from] = direction === "read" ? [address, own] : [own, address];
    return [this.#copyCall(to, from, bytes.length)];
  }

  #copyCall(to: bigint, from: bigint, byteLength: number): Call<L> {
    return this.#usm.copyCall(to as Address, from as Address, byteLength, false) as Call<L>;
  }

  #assertFew(rows: number, name: string): void {
    assertFew(rows, name, { api: this.checks.api, argument: "to" });
  }
}
