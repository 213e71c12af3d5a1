import { FUNCTION, OBJECT, TEXT } from "../../core/checks.ts";
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
  /** What the frames are that it writes; if left out, it works in place. */
  readonly gives?: (input: FrameInfo) => FrameInfo;
  /** Other contexts that routes to its memory need: `[cl]` for `cv.umat`, if no other stage brings one. */
  readonly contexts?: Iterable<Context>;
}

export const OPTIONS = { name: TEXT, takes: OBJECT, gives: FUNCTION, contexts: true };

/**
 * Calls a function on each plane of a frame: of OpenCV, or of any library that works in a context's memory.
 *
 * @param memory where it works: `cv.mat`, `cv.umat`, `host`
 * @param work is called with the plane that it reads, the plane that it writes (the same plane, in place) and the
 * plane's number, once for each plane of the frame that is written
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
