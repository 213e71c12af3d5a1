import { sizeOf } from "./dtype.ts";
import { LayoutError } from "../errors.ts";
import type { Tensor } from "../tensors/tensor.ts";
import { describeLayout, type Layout } from "./layout.ts";

/** Elements along one dimension, and the bytes from one to the next in each of several layouts. */
export interface Dimension {
  /** How many. */
  readonly count: number;
  /** Bytes from one to the next, in each layout. */
  readonly strides: readonly number[];
}

/** Elements of one shape and dtype, as bytes: elements that are adjacent in every layout form one run. */
export interface Runs {
  /** The bytes of one run. */
  readonly length: number;
  /** How runs are repeated, innermost first; empty if there is only one. */
  readonly dimensions: readonly Dimension[];
}

/** The runs of elements that lie in several layouts of one shape and dtype: dimensions are joined as far as all allow. */
export function runsOf(layouts: readonly Layout[]): Runs {
  const [{ shape, dtype }] = layouts;
  const inward = shape
    .map((count, i) => ({ count, strides: layouts.map(({ strides }) => strides[i]) }))
    .filter(({ count }) => count > 1)
    .sort((a, b) => a.strides[0] - b.strides[0]);
  let length = sizeOf(dtype);
  const dimensions: Dimension[] = [];
  for (const { count, strides } of inward) {
    const inner = dimensions.at(-1);
    if (inner === undefined && strides.every((stride) => stride === length)) length *= count;
    else if (inner !== undefined && strides.every((stride, i) => stride === inner.strides[i] * inner.count)) {
      dimensions[dimensions.length - 1] = { count: inner.count * count, strides: inner.strides };
    } else dimensions.push({ count, strides });
  }
  return { length, dimensions };
}

/** How many runs there are. */
export function countOf(dimensions: readonly Dimension[]): number {
  return dimensions.reduce((product, { count }) => product * count, 1);
}

/** Where each step along some dimensions begins, in each of several layouts. */
export function placesOf(begins: readonly number[], dimensions: readonly Dimension[]): (readonly number[])[] {
  let places = [begins];
  for (const { count, strides } of dimensions) {
    const step = (n: number) => places.map((place) => place.map((begin, i) => begin + n * strides[i]));
    places = Array.from({ length: count }, (_, n) => step(n)).flat();
  }
  return places;
}

/** The runs of a copy. @throws {LayoutError} if shape or dtype differ, or the bytes overlap. */
export function runsBetween(from: Tensor, to: Tensor, about: { argument: string; api: string; fn?: string }): Runs {
  assertSameElements(from.layout, to.layout, about);
  if (from.grant.overlaps(to.grant)) {
    throw new LayoutError(`${about.argument}: its bytes overlap those of ${from.name}.`, about);
  }
  return runsOf([from.layout, to.layout]);
}

/** Copies elements from where one layout has them to where the other has them, and not what lies between. */
export function copyElements(to: Uint8Array, toLayout: Layout, from: Uint8Array, fromLayout: Layout): void {
  const { length, dimensions } = runsOf([toLayout, fromLayout]);
  const copy = (level: number, there: number, here: number): void => {
    if (level < 0) return to.set(from.subarray(here, here + length), there);
    const { count, strides: [thereTo, hereFrom] } = dimensions[level];
    for (let i = 0; i < count; i++) copy(level - 1, there + i * thereTo, here + i * hereFrom);
  };
  copy(dimensions.length - 1, toLayout.byteOffset, fromLayout.byteOffset);
}

export function assertSameElements(
  one: Layout,
  other: Layout,
  about: { argument: string; api: string; fn?: string },
): void {
  const { shape, dtype } = other;
  if (one.dtype === dtype && one.shape.length === shape.length && one.shape.every((n, i) => n === shape[i])) return;
  const what = `expected the elements of ${describeLayout(one)}, got those of ${describeLayout(other)}.`;
  throw new LayoutError(`${about.argument}: ${what}`, about);
}
