import { LayoutError } from "../../core/errors.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { typeName } from "../type.ts";

/** What an operation is going to make: sizes and type. */
export interface Result {
  /** The extent of each dimension. */
  readonly sizes: readonly number[];
  /** Depth and channels. */
  readonly type: number;
}

/** Throws a {@link LayoutError} unless an output has the size and type of the result: it says what that is. */
export function assertFits(fn: string, dst: OpenCVTensor, result: Result): void {
  const { sizes, type } = dst.shape;
  if (type === result.type && sizes.length === result.sizes.length && sizes.every((n, i) => n === result.sizes[i])) {
    return;
  }
  throw new LayoutError(`dst: ${fn} makes ${inWords(result)}; ${dst.name} is ${inWords(dst.shape)}.`, {
    api: "opencv",
    fn,
    argument: "dst",
    hint: "Map memory of that size and type; or pass { reallocate: true }, and take the result from the error.",
  });
}

function inWords({ sizes, type }: Result): string {
  return `${sizes.join("×")} ${typeName(type)}`;
}
