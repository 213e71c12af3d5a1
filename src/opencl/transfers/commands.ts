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
import { OpenCLPointerTensor } from "../pointers/tensor.ts";
import { moveBytes, moveElements } from "./bytes.ts";
import { copyBuffer } from "./copy.ts";
import { fillBuffer } from "./fill.ts";
import { copyImage, fillImage, movePixels, pixelBytes } from "./image.ts";

/** Memory that is a cl_mem. */
export type MemTensor = BufferTensor | ImageTensor;

/** What queues take: the rest is memory at an address. */
export type Taken = MemTensor | OpenCLPointerTensor;

const TAKES = { expected: "a tensor or an image of OpenCL's", target: "cl" };

export class ClCommands implements Commands<ClLane, Taken> {
  readonly checks = checks;
  readonly #context: BaseContext;

  constructor(context: BaseContext) {
    this.#context = context;
  }

  useOf(tensor: Taken, access: Access, argument: string): Use {
    if (!ImageTensor.isImage(tensor) && !isMade(tensor, BufferTensor) && !isMade(tensor, OpenCLPointerTensor)) {
      throw wrongMemory(checks, tensor, access, argument, TAKES);
    }
    return usable(tensor, access, argument, this.#context);
  }

  fill(to: Taken, value: FillValue): Call<ClLane>[] {
    if (to instanceof OpenCLPointerTensor) return to.target.commands.fill(to, value);
    return ImageTensor.isImage(to) ? [fillImage(to, value)] : fillBuffer(to, value);
  }

  copy(from: Taken, to: Taken): Call<ClLane>[] {
    if (from instanceof OpenCLPointerTensor || to instanceof OpenCLPointerTensor) return copyPointers(from, to);
    const command = copyImage(from, to);
    return command === undefined ? copyBuffer(from as BufferTensor, to as BufferTensor) : [command];
  }

  pixelsOf(tensor: Taken): Pixels | undefined {
    if (!ImageTensor.isImage(tensor)) return undefined;
    return { byteLength: pixelBytes(tensor), dtype: tensor.format.dtype };
  }

  move(
    direction: Direction,
    tensor: Taken,
    host: HostBytes,
    begin: number,
  ): Call<ClLane>[] {
    if (tensor instanceof OpenCLPointerTensor) return tensor.target.commands.move(direction, tensor, host, begin);
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
  ): Call<ClLane>[] | undefined {
    if (tensor instanceof OpenCLPointerTensor) return undefined;
    assertHost(direction, tensor);
    return moveElements(direction, tensor as BufferTensor, host, runs, begins);
  }
}

/** No command of OpenCL's copies between a cl_mem and memory at an address, or between its two kinds of such memory. */
function copyPointers(from: Taken, to: Taken): Call<ClLane>[] {
  if (from instanceof OpenCLPointerTensor && to instanceof OpenCLPointerTensor && from.target === to.target) {
    return from.target.commands.copy(from, to);
  }
  const [source, target] = [from.target.kind, to.target.kind];
  const hint = "Map one of them to the host, and queue.read() or queue.write() its view.";
  throw checks.wrong("to", `no command copies from ${source} to ${target}.`, hint);
}

function assertHost(direction: Direction, tensor: MemTensor): void {
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
