import type { Address } from "../../ffi/address.ts";
import { isMade } from "../core/argument.ts";
import type { Checks } from "../core/checks.ts";
import type { Context } from "../core/graph/context.ts";
import { rowStrideOf } from "../core/layout/facts.ts";
import type { Layout } from "../core/layout/layout.ts";
import type { Undo } from "../core/life/undo.ts";
import { Frame } from "../core/tensors/frame.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import type { MediaContext } from "./context.ts";

/**
 * A frame that a program hands over to a library.
 *
 * @param on the context whose frames are taken as well: the one that the library's stands on, where it takes pictures of
 * that one's
 * @throws {ArgumentError} for what is no frame of these contexts.
 */
export function frameIn<T extends Tensor>(
  checks: Checks,
  context: MediaContext,
  frame: Frame<T>,
  on?: Context,
): Frame<T> {
  if (!isMade<Frame<T>>(frame, Frame)) throw checks.wrongKind("frame", "a Frame", frame, OF_TENSORS);
  const { context: home } = frame.target;
  if (home !== on) checks.assertHere(home, context, "frame", "it", `Map it: graph.map(frame, ${context.api}).`);
  return frame;
}

const OF_TENSORS = "Make a frame of the mapped tensor: Frame.of([tensor], info).";

/**
 * How a sink refers to a frame of the library's own memory, which the program may then dispose at once. Undefined for other
 * memory, which has to stay.
 *
 * @param refer takes a reference, until the list is undone
 */
export function referring(
  context: MediaContext,
  { rawHandle, target }: Frame,
  refer: (own: Address, undo: Undo) => void,
): ((undo: Undo) => void) | undefined {
  if (rawHandle === undefined || target.context !== context) return undefined;
  return (undo) => refer(rawHandle as Address, undo);
}

/** Bytes from a row of each plane to the next. @param object what has no others: `"an AVFrame"` @throws {LayoutError} for gaps within a row. */
export function stridesIn(
  checks: Checks,
  planes: readonly { readonly layout: Layout }[],
  object: string,
): readonly number[] {
  return planes.map(({ layout }, i) => {
    const stride = rowStrideOf(layout);
    if (stride !== undefined) return stride;
    throw checks.unfit("frame", `there are gaps within the rows of plane ${i}, and ${object} has none.`);
  });
}
