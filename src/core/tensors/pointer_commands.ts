import type { Address } from "../../../ffi/address.ts";
import type { Checks } from "../checks.ts";
import type { Call } from "../contract.ts";
import { assertFew } from "../device/box.ts";
import { assertRepeats, type FillValue, patternIn } from "../device/pattern.ts";
import type { Direction, HostBytes } from "../device/queue.ts";
import { countOf, placesOf, runsBetween, runsOf } from "../layout/runs.ts";
import type { PointerTensor } from "./pointer.ts";

/** The native commands of an API for bytes at addresses. For backends. */
export interface PointerCalls {
  /** A command that repeats a pattern. */
  fillCall(at: Address, pattern: Uint8Array<ArrayBuffer>, byteLength: number): Call;
  /** A command that copies bytes. */
  copyCall(to: Address, from: Address, byteLength: number, blocks: boolean): Call;
}

/** What a queue does with memory that device code reaches by its address: a command for each row. For backends. */
export class PointerCommands<L, T extends PointerTensor> {
  /** The checks of the API's arguments. */
  readonly checks: Checks;
  readonly #calls: PointerCalls;

  /** Those of one kind of memory. */
  constructor(calls: PointerCalls, checks: Checks) {
    this.#calls = calls;
    this.checks = checks;
  }

  /** Commands that fill elements, and leave the gaps alone. */
  fill({ address, layout, name }: T, value: FillValue): Call<L>[] {
    const pattern = patternIn(value, layout.dtype, this.checks);
    const { length, dimensions } = runsOf([layout]);
    this.#assertFew(countOf(dimensions), name);
    assertRepeats(pattern, length, name, this.checks);
    return placesOf([0], dimensions).map(([place]) =>
      this.#calls.fillCall(address + BigInt(place) as Address, pattern, length) as Call<L>
    );
  }

  /** Commands that copy elements, and leave the gaps alone. */
  copy(from: T, to: T): Call<L>[] {
    const { length, dimensions } = runsBetween(from, to, { api: this.checks.api, argument: "to" });
    this.#assertFew(countOf(dimensions), to.name);
    return placesOf([0, 0], dimensions).map(([there, here]) =>
      this.#copyCall(to.address + BigInt(here), from.address + BigInt(there), length)
    );
  }

  /** The command that moves all of the program's bytes, from the tensor's byte `begin` on. */
  move(direction: Direction, { rawHandle }: T, { bytes, address }: HostBytes, begin: number): Call<L>[] {
    const own = rawHandle + BigInt(begin);
    const [to, from] = direction === "read" ? [address, own] : [own, address];
    return [this.#copyCall(to, from, bytes.length)];
  }

  #copyCall(to: bigint, from: bigint, byteLength: number): Call<L> {
    return this.#calls.copyCall(to as Address, from as Address, byteLength, false) as Call<L>;
  }

  #assertFew(rows: number, name: string): void {
    assertFew(rows, name, { api: this.checks.api, argument: "to" });
  }
}
