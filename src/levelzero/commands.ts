import type { Address } from "../../ffi/address.ts";
import { isMade } from "../core/argument.ts";
import type { Call, Commands } from "../core/contract.ts";
import { assertFew } from "../core/device/box.ts";
import type { Use } from "../core/device/line.ts";
import { type FillValue, patternIn } from "../core/device/pattern.ts";
import type { Direction, HostBytes } from "../core/device/queue.ts";
import { wrongMemory } from "../core/device/wrong_memory.ts";
import { countOf, placesOf, runsBetween, runsOf } from "../core/layout/runs.ts";
import type { Access } from "../core/memory/access.ts";
import type { LevelZeroContext } from "./context.ts";
import type { LevelZeroLane } from "./lane.ts";
import { checks, levelZero } from "./library.ts";
import { LevelZeroTensor } from "./tensor.ts";

const COPY = "zeCommandListAppendMemoryCopy";
const FILL = "zeCommandListAppendMemoryFill";

export function copyCall(to: Address, from: Address, byteLength: number): Call<LevelZeroLane> {
  const length = BigInt(byteLength);
  return {
    fn: COPY,
    call: (lane) => {
      const signal = lane.signal();
      return levelZero()[COPY](lane.list, to, from, length, signal, lane.waitCount, lane.waits);
    },
  };
}

function fillCall(at: Address, pattern: Uint8Array<ArrayBuffer>, byteLength: number): Call<LevelZeroLane> {
  const [size, length] = [BigInt(pattern.length), BigInt(byteLength)];
  return {
    fn: FILL,
    call: (lane) => {
      const signal = lane.signal();
      return levelZero()[FILL](lane.list, at, pattern, size, length, signal, lane.waitCount, lane.waits);
    },
  };
}

export class LevelZeroCommands implements Commands<LevelZeroLane, LevelZeroTensor> {
  readonly checks = checks;
  readonly #context: LevelZeroContext;

  constructor(context: LevelZeroContext) {
    this.#context = context;
  }

  useOf(tensor: LevelZeroTensor, access: Access, argument: string): Use {
    if (!isMade(tensor, LevelZeroTensor)) {
      throw wrongMemory(checks, tensor, access, argument, { expected: "a LevelZeroTensor", target: "levelZero.usm" });
    }
    checks.assertHere(tensor.target.context, this.#context, argument, tensor.name);
    return { tensor, access, argument };
  }

  fill({ address, layout, name }: LevelZeroTensor, value: FillValue): Call<LevelZeroLane>[] {
    const pattern = patternIn(value, layout.dtype, checks);
    const { length, dimensions } = runsOf([layout]);
    assertFew(countOf(dimensions), name, { api: "levelzero", argument: "to", fn: FILL });
    if (length % pattern.length !== 0) {
      throw checks.wrong("value", `the rows of ${name} have ${length} bytes, no multiple of ${pattern.length}.`);
    }
    return placesOf([0], dimensions).map(([begin]) => fillCall(address + BigInt(begin) as Address, pattern, length));
  }

  copy(from: LevelZeroTensor, to: LevelZeroTensor): Call<LevelZeroLane>[] {
    const { length, dimensions } = runsBetween(from, to, { api: "levelzero", fn: COPY, argument: "to" });
    assertFew(countOf(dimensions), to.name, { api: "levelzero", argument: "to", fn: COPY });
    return placesOf([0, 0], dimensions).map(([there, here]) =>
      copyCall(to.address + BigInt(here) as Address, from.address + BigInt(there) as Address, length)
    );
  }

  move(
    direction: Direction,
    { rawHandle }: LevelZeroTensor,
    { bytes, address }: HostBytes,
    begin: number,
  ): Call<LevelZeroLane>[] {
    const device = rawHandle + BigInt(begin) as Address;
    const [to, from] = direction === "read" ? [address, device] : [device, address];
    return [copyCall(to, from, bytes.length)];
  }
}
