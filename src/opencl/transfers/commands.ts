import { isMade } from "../../core/argument.ts";
import type { Call, Commands } from "../../core/contract.ts";
import type { Use } from "../../core/device/line.ts";
import type { FillValue } from "../../core/device/pattern.ts";
import type { Direction, HostBytes, Pixels } from "../../core/device/queue.ts";
import { wrongMemory } from "../../core/device/wrong_memory.ts";
import type { Runs } from "../../core/layout/runs.ts";
import type { Access } from "../../core/memory/access.ts";
import type { BaseContext } from "../base_context.ts";
import { assertHostMay } from "../buffers/limits.ts";
import { BufferTensor } from "../buffers/tensor.ts";
import { checks } from "../check.ts";
import { ImageTensor } from "../images/tensor.ts";
import type { ClLane } from "../lane.ts";
import { moveBytes, moveElements } from "./bytes.ts";
import { copyBuffer } from "./copy.ts";
import { fillBuffer } from "./fill.ts";
import { copyImage, fillImage, movePixels, pixelBytes } from "./image.ts";

export type Taken = BufferTensor | ImageTensor;

const TAKES = { expected: "an OpenCLTensor or an OpenCLImage", target: "cl" };

export class ClCommands implements Commands<ClLane, Taken> {
  readonly checks = checks;
  readonly #context: BaseContext;

  constructor(context: BaseContext) {
    this.#context = context;
  }

  useOf(tensor: Taken, access: Access, argument: string): Use<Taken> {
    if (!ImageTensor.isImage(tensor) && !isMade(tensor, BufferTensor)) {
      throw wrongMemory(checks, tensor, access, argument, TAKES);
    }
    return usable(tensor, access, argument, this.#context);
  }

  fill(to: Taken, value: FillValue): Call<ClLane>[] {
    return ImageTensor.isImage(to) ? [fillImage(to, value)] : fillBuffer(to, value);
  }

  copy(from: Taken, to: Taken): Call<ClLane>[] {
    const command = copyImage(from, to);
    return command === undefined ? copyBuffer(from as BufferTensor, to as BufferTensor) : [command];
  }

  pixelsOf(tensor: Taken): Pixels | undefined {
    if (!ImageTensor.isImage(tensor)) return undefined;
    return { byteLength: pixelBytes(tensor), dtype: tensor.format.dtype };
  }

  move(direction: Direction, tensor: Taken, host: HostBytes, begin: number): Call<ClLane>[] {
    assertHost(direction, tensor);
    return [
      ImageTensor.isImage(tensor) ? movePixels(direction, tensor, host) : moveBytes(direction, tensor, host, begin),
    ];
  }

  moveRuns(
    direction: Direction,
    tensor: Taken,
    host: HostBytes,
    runs: Runs,
    begins: readonly number[],
  ): Call<ClLane>[] {
    assertHost(direction, tensor);
    return moveElements(direction, tensor as BufferTensor, host, runs, begins);
  }
}

function assertHost(direction: Direction, tensor: Taken): void {
  const { limits } = tensor instanceof BufferTensor ? tensor : tensor.root;
  assertHostMay(direction, limits, tensor.name, direction === "read" ? "from" : "to");
}

export function usable<T extends Taken>(tensor: T, access: Access, argument: string, context: BaseContext): Use<T> {
  tensor.usable(access);
  checks.assertHere(tensor.context, context, argument, tensor.name);
  return { tensor, access, argument };
}

export function assertBuffer(value: unknown, argument: string): asserts value is BufferTensor {
  if (!isMade(value, BufferTensor)) throw checks.wrongKind(argument, "an OpenCLTensor", value);
}
