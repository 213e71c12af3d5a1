import { LayoutError } from "../../core/errors.ts";
import { describeLayout, type Layout } from "../../core/layout.ts";

/** Throws unless two layouts have the same shape and dtype. */
export function assertSameElements(one: Layout, other: Layout, argument: string, fn: string): void {
  const { shape, dtype } = other;
  if (one.dtype === dtype && one.shape.length === shape.length && one.shape.every((n, i) => n === shape[i])) return;
  throw new LayoutError(
    `${argument}: it has the elements of ${describeLayout(other)}, not of ${describeLayout(one)}.`,
    {
      api: "opencl",
      fn,
      argument,
    },
  );
}
