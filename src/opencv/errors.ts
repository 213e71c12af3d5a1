import { ArgumentError, type ErrorFields, InteropError, LayoutError, NativeCallError } from "../core/errors.ts";
import type { OpenCVTensor } from "./tensor.ts";
import type { Unfit } from "./shape.ts";

/** What `cv::Exception` says. */
export interface OpenCVErrorFields extends ErrorFields {
  /** The function of OpenCV that threw (`func`), where it says so. */
  readonly thrownBy?: string;
  /** The source file of OpenCV (`file`). */
  readonly file?: string;
  /** The line of it (`line`). */
  readonly line?: number;
}

/** OpenCV threw: `code` and `codeName` are of `cv::Error::Code`, `fn` is what was called. */
export class OpenCVError extends NativeCallError {
  /** The function of OpenCV that threw, where it says so. */
  readonly thrownBy: string | undefined;
  /** The source file of OpenCV. */
  readonly file: string | undefined;
  /** The line of it. */
  readonly line: number | undefined;

  /** Made of a `cv::Exception`. */
  constructor(message: string, fields: OpenCVErrorFields) {
    super(message, fields);
    this.thrownBy = fields.thrownBy;
    this.file = fields.file;
    this.line = fields.line;
  }
}

/**
 * OpenCV gave an output memory of its own, because its size or type did not fit: what was written is there, and not in the
 * bytes that were mapped. `result` is a tensor over it; it is yours to dispose.
 */
export class ReallocatedError extends InteropError {
  /** Where the result is; undefined where the context had been disposed too, and OpenCV's memory with it. */
  readonly result: OpenCVTensor | undefined;

  /** `name` is what had been mapped. */
  constructor(name: string, result: OpenCVTensor | undefined) {
    const where = result === undefined ? "OpenCV's own, and is gone with its context" : `${result.name} (error.result)`;
    super(`OpenCV gave ${name} other memory: what it wrote is in ${where}, and not in the bytes that were mapped.`, {
      api: "opencv",
      hint: "Map an output that has the size and type of the result.",
    });
    this.result = result;
  }
}

/** The error of a layout that OpenCV cannot have. */
export function unfitError({ argument, problem, remedy }: Unfit): LayoutError {
  const hint = remedy === undefined ? {} : { hint: remedy };
  return new LayoutError(`${argument}: ${problem}`, { api: "opencv", argument, ...hint });
}

/** The error of an argument that is of no use. */
export function wrong(argument: string, what: string, hint?: string): ArgumentError {
  return new ArgumentError(`${argument}: ${what}`, {
    api: "opencv",
    argument,
    ...(hint === undefined ? {} : { hint }),
  });
}
