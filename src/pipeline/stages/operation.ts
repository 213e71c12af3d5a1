import { FUNCTION, TEXT } from "../../core/checks.ts";
import type { Context, Target } from "../../core/graph/context.ts";
import type { FrameInfo } from "../../core/layout/frame_info.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import { checks, type Takes, Transform } from "../stage.ts";

/** Options of {@link operation}. */
export interface OperationOptions {
  /** Its name, for errors and figures; the function's if left out. */
  readonly name?: string;
  /** Which frames it takes: format and size. */
  readonly takes?: Omit<Takes, "memory">;
  /** What it makes of such a frame, in memory of its own; left out, it works in place. */
  readonly gives?: (input: FrameInfo) => FrameInfo;
  /** Others that the way to its memory needs: `[cl]` for `cv.umat`, where no other stage brings one. */
  readonly contexts?: Iterable<Context>;
}

export const OPTIONS = { name: TEXT, takes: true, gives: FUNCTION, contexts: true };

/**
 * A function of a library, over each plane of a frame: of OpenCV, or of any other that works in memory of a context.
 *
 * @param memory where it works: `cv.mat`, `cv.umat`, `host`
 * @param work is called with the plane that it reads, the one that it writes (the same one, in place), and its number. It
 * writes the planes of what is given: of a frame of one plane, one.
 * @throws {ArgumentError} for wrong arguments.
 *
 * @example
 * ```ts
 * import { host, imageInfo } from "@samepage/interop";
 * import { operation, pipeline } from "@samepage/interop/pipeline";
 *
 * const invert = operation(host, function invert(from, to) {
 *   const [bytes, written] = [from.bytes({ access: "read" }), to.bytes()];
 *   for (let i = 0; i < bytes.length; i++) written[i] = 255 - bytes[i];
 * });
 * const white = async function* () {
 *   yield host.allocateFrame(imageInfo({ format: "GRAY8", width: 4, height: 1 }));
 * };
 * for await (using frame of pipeline(white(), invert)) console.log(frame.planes[0].target === host); // true
 * ```
 */
export function operation<T extends Tensor>(
  memory: Target<T>,
  work: (from: T, to: T, plane: number) => unknown,
  options: OperationOptions = {},
): Transform<T> {
  FUNCTION(checks, work, "work");
  const { name = work.name === "" ? "operation" : work.name, takes, gives, contexts = [] } = checks.optionsIn(
    options,
    OPTIONS,
  );
  return new Transform<T>({
    ...{ name, contexts, takes: { ...takes, memory }, ...(gives === undefined ? {} : { gives }) },
    async process(input, output) {
      for (const [i, to] of output.planes.entries()) await work(input.planes[i], to, i);
    },
  });
}
