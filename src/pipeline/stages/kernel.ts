import { FUNCTION } from "../../core/checks.ts";
import type { Target } from "../../core/graph/context.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import { checks, type Transform } from "../stage.ts";
import { operation, type OperationOptions, OPTIONS } from "./operation.ts";

/** What the kernels of all APIs have in common. `R` is the range of a launch, and `A` an argument. */
export interface KernelOf<T extends Tensor, R, A> {
  /** Its name. */
  readonly name: string;
  /** Its parameters. */
  readonly parameters: readonly unknown[];
  /** Its program, whose context is the memory that it works in. */
  readonly program: { readonly context: Target<T> };
  /** For Vulkan: work-items of a group. */
  readonly groupSize?: readonly number[] | undefined;
  /** Submits it. */
  run(range: R, args: readonly A[]): void;
}

/** Options of {@link kernel}. */
export interface KernelOptions<T extends Tensor, R, A> extends OperationOptions {
  /** The memory that it works in; that of its context if left out. For CUDA: `cuda.managed`, `cuda.pinned`. */
  readonly memory?: Target<T>;
  /** Its arguments for a plane. */
  readonly arguments?: (from: T, to: T, plane: number) => readonly A[];
  /** How many work-items run for a plane. */
  readonly range?: (to: T, plane: number) => R;
}

const NAMES = { ...OPTIONS, memory: true, arguments: FUNCTION, range: FUNCTION };

/** CUDA's default group: threads across and down. */
const GROUP = [32, 8];

/** The range of a launch over so many pixels, in groups of that size, as each API takes it. */
const RANGES: Readonly<Record<string, (size: readonly number[], group?: readonly number[]) => object>> = {
  opencl: (items) => ({ items }),
  vulkan: (size, group = [1, 1]) => ({ groups: groupsOf(size, group) }),
  cuda: (size) => ({ groups: groupsOf(size, GROUP), groupSize: GROUP }),
};

function groupsOf(size: readonly number[], group: readonly number[]): readonly number[] {
  return size.map((pixels, i) => Math.ceil(pixels / group[i]));
}

/**
 * Runs an OpenCL, Vulkan or CUDA kernel on each plane of a frame: in place, or into the frame that it `gives`. It gets
 * as many of these arguments as it has parameters: the plane that it reads and the bytes from row to row there; the
 * plane that it writes and the bytes from row to row there (not in place); pixels across and down; and the plane's
 * number. For Vulkan, the buffers come first. One work-item runs for each pixel that is written; for Vulkan and CUDA, in
 * whole groups.
 *
 * @param of the kernel, which the program disposes
 * @throws {ArgumentError} for anything but a kernel, and for wrong options.
 *
 * @example
 * ```ts
 * import { FFmpegContext } from "@samepage/interop/ffmpeg";
 * import { OpenCLContext } from "@samepage/interop/opencl";
 * import { decode, kernel } from "@samepage/interop/pipeline";
 *
 * using ffmpeg = FFmpegContext.open();
 * using cl = OpenCLContext.open();
 * using program = cl.program(`
 *   kernel void invert(global const uchar *from, int stride, global uchar *to, int toStride) {
 *     int x = get_global_id(0), y = get_global_id(1);
 *     to[y * toStride + x] = 255 - from[y * stride + x];
 *   }
 * `);
 * using invert = program.kernel("invert");
 * const photo = decode(ffmpeg, "examples/edges/photo.jpg");
 * const inverted = kernel(invert, { gives: (info) => info });
 * for await (using frame of photo.pipeThrough(inverted)) console.log(frame.planes.length); // 3
 * ```
 */
export function kernel<T extends Tensor, R, A>(
  of: KernelOf<T, R, A>,
  options: KernelOptions<T, R, A> = {},
): Transform<T> {
  const target: Target<T> | undefined = of?.program?.context;
  const { api = "" } = target?.context ?? {};
  if (!Object.hasOwn(RANGES, api)) throw checks.wrongKind("of", "a kernel of OpenCL, Vulkan or CUDA", of);
  const { memory = target!, range, arguments: given, ...about } = checks.optionsIn(options, NAMES);
  const usualRange = (to: T) => RANGES[api](sizeOf(to), of.groupSize) as R;
  const usualArguments = (from: T, to: T, plane: number) =>
    usual(from, to, plane, api === "vulkan").slice(0, of.parameters.length) as A[];
  return operation(memory, (from, to, plane) => {
    of.run((range ?? usualRange)(to, plane), (given ?? usualArguments)(from, to, plane));
  }, { name: of.name, ...about });
}

function usual(from: Tensor, to: Tensor, plane: number, buffersFirst: boolean): readonly (Tensor | number)[] {
  const tensors = from === to ? [to] : [from, to];
  const strides = tensors.map(({ layout }) => layout.strides[0]);
  const planes = buffersFirst ? [...tensors, ...strides] : tensors.flatMap((tensor, i) => [tensor, strides[i]]);
  return [...planes, ...sizeOf(to), plane];
}

/** Pixels across and down. */
function sizeOf({ layout: { shape } }: Tensor): readonly [across: number, down: number] {
  return [shape[1] ?? 1, shape[0]];
}
