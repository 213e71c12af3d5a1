import type { Address } from "../../../ffi/address.ts";
import { isMade } from "../../core/argument.ts";
import type { Call, Commands } from "../../core/contract.ts";
import type { Use } from "../../core/device/line.ts";
import type { FillValue } from "../../core/device/pattern.ts";
import type { Direction, HostBytes } from "../../core/device/queue.ts";
import { wrongMemory } from "../../core/device/wrong_memory.ts";
import type { Runs } from "../../core/layout/runs.ts";
import type { Access } from "../../core/memory/access.ts";
import { CudaArray } from "../arrays/array.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { checks } from "../check.ts";
import { assertReachable } from "../reach.ts";
import type { StreamLane } from "../stream_lane.ts";
import { CudaTensor } from "../tensor.ts";
import { copyArray } from "./array.ts";
import { copyRows, copyTensor } from "./copy.ts";
import { fillTensor } from "./fill.ts";

export type Copied = CudaTensor | CudaArray;

export class CudaCommands implements Commands<StreamLane, CudaTensor, Copied> {
  readonly checks = checks;
  readonly #context: CudaPrimaryContext;

  constructor(context: CudaPrimaryContext) {
    this.#context = context;
  }

  useOf(memory: Copied, access: Access, argument: string): Use {
    if (isMade<Copied>(memory, CudaArray)) {
      checks.assertHere((memory as CudaArray).context, this.#context, argument);
    } else if (!isMade<Copied>(memory, CudaTensor)) {
      throw wrongMemory(checks, memory, access, argument, { expected: "a CudaTensor", target: "cuda" });
    }
    return { tensor: memory, access, argument };
  }

  fill(to: CudaTensor, value: FillValue): Call<StreamLane>[] {
    checks.assertInstance(to, CudaTensor, "to");
    assertReachable(to, this.#context, "to");
    return [fillTensor(to, value)];
  }

  copy(from: Copied, to: Copied): Call<StreamLane>[] {
    if (from instanceof CudaTensor) {
      return [to instanceof CudaTensor ? copyTensor(from, to) : copyArray(from, to, "to")];
    }
    if (to instanceof CudaTensor) return [copyArray(to, from, "from")];
    throw checks.wrong("to", "both are arrays, which are copied to and from tensors.", "Copy it to a tensor first.");
  }

  move(direction: Direction, tensor: CudaTensor, host: HostBytes, begin: number): Call<StreamLane>[] {
    return this.moveRuns(direction, tensor, host, { length: host.bytes.length, dimensions: [] }, [begin, 0]);
  }

  moveRuns(
    direction: Direction,
    tensor: CudaTensor,
    { address }: HostBytes,
    { length, dimensions }: Runs,
    [begin, place]: readonly number[],
  ): Call<StreamLane>[] {
    checks.assertInstance(tensor, CudaTensor, direction === "read" ? "from" : "to");
    const ends = [tensor.rawHandle + BigInt(begin), address + BigInt(place)] as Address[];
    if (direction === "read") return [copyRows(ends, { length, dimensions })];
    const turned = dimensions.map(({ count, strides }) => ({ count, strides: [...strides].reverse() }));
    return [copyRows(ends.reverse(), { length, dimensions: turned })];
  }
}
