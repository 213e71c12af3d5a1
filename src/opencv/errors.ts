import { ArgumentError, type ErrorFields, LayoutError, NativeCallError } from "../core/errors.ts";
import type { Unfit } from "./shape.ts";

/** The fields of a `cv::Exception`. */
export interface OpenCVErrorFields extends ErrorFields {
  /** The function of OpenCV that threw (`func`), if the exception names it. */
  readonly thrownBy?: string | undefined;
  /** The source file of OpenCV (`file`). */
  readonly file?: string | undefined;
  /** The line in that file (`line`). */
  readonly line?: number;
}

/** OpenCV threw. `code` and `codeName` are those of `cv::Error::Code`; `fn` is the function that was called. */
export class OpenCVError extends NativeCallError {
  /** The function of OpenCV that threw, if the exception names it. */
  declare readonly thrownBy: string | undefined;
  /** The source file of OpenCV. */
  declare readonly file: string | undefined;
  /** The line in that file. */
  declare readonly line: number | undefined;

  /** Made from a `cv::Exception`. */
  constructor(message: string, fields: OpenCVErrorFields) {
    super(message, fields);
  }
}

export function unfitError({ argument, problem, remedy }: Unfit): LayoutError {
  return new LayoutError(`${argument}: ${problem}`, { api: "opencv", argument, hint: remedy });
}

export function wrong(argument: string, what: string, hint?: string): ArgumentError {
  return new ArgumentError(`${argument}: ${what}`, { api: "opencv", argument, hint });
}
