import { assertEquals } from "@std/assert";
import type { Access } from "../../src/core/memory/access.ts";
import { Frame } from "../../src/core/tensors/frame.ts";
import { type ImageInfo, imageInfo, type ImageInit } from "../../src/core/layout/frame_info.ts";
import type { MapOptions } from "../../src/core/graph/graph.ts";
import { nameOf } from "../../src/core/graph/context.ts";
import { region } from "../../src/core/layout/layout.ts";
import type { Mapped } from "../../src/core/tensors/mapped.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { NativeCallError } from "../../src/core/errors.ts";
import { random } from "./bytes.ts";
import type { End, Subject } from "./subject.ts";

export { warningsOf } from "../warnings.ts";

/** One thing that every edge has to keep. */
export interface Case {
  /** Stable, in kebab-case: rows are compared by it. */
  readonly name: string;
  /** It ends contexts or the graph, or has native calls fail: so it gets contexts of its own. */
  readonly alone?: true;
  /** It opens a context again and again: one edge of an API does, on each device. */
  readonly opens?: true;
  /** Fails by throwing; a {@linkcode NotHere} says that the edge has nothing to be asked. */
  readonly run: (subject: Subject) => Promise<void> | void;
}

/** A case that cannot be asked of this edge, or not on this machine. It says so before it does anything. */
export class NotHere extends Error {
  override name = "NotHere";
}

/** Maps across the edge itself, or along the route that is asked for: any other is a failure. */
export function across(subject: Subject, source: Tensor, options?: MapOptions, to?: End): Tensor;
/** The same for a frame. */
export function across(subject: Subject, source: Frame, options?: MapOptions, to?: End): Frame;
export function across(
  { graph, source: { target: from }, target, via, expected }: Subject,
  source: Tensor | Frame,
  options: MapOptions = {},
  to: End = target,
): Tensor | Frame {
  const asked: MapOptions = expected === "copy" ? { copy: "allow", ...options } : options;
  const mapped = graph.map(source as Tensor, to.target, asked);
  // A frame of several blocks takes a step for each.
  const edges = mapped.route.steps.map((step) => step.edge);
  const taken = source instanceof Frame ? [...new Set(edges)] : edges;
  assertEquals(taken, via ?? [`${from.kind}→${to.target.kind}`], `the route to ${nameOf(to.target)}`);
  return mapped;
}

/** The tensor that a map was made of, however many steps away. */
export function sourceOf(mapped: Tensor): Tensor {
  let at: Mapped = mapped;
  for (let i = 0; i < mapped.route.steps.length; i++) at = at.parent!;
  return at as Tensor;
}

/** A page and a bit, four times: more than one page, and no multiple of one; whole rows of 64 bytes, for images. */
export const SIZE = 4 * 5008;

/** A source of random bytes. */
export async function filled(
  end: End,
  byteLength: number = SIZE,
): Promise<{ source: Tensor; bytes: Uint8Array<ArrayBuffer> }> {
  const source = end.allocate({ shape: end.shapeOf?.(byteLength) ?? [byteLength], dtype: "u8" });
  const bytes = random(byteLength);
  await end.write(source, bytes);
  return { source, bytes };
}

/** The bytes of the least piece of a tensor that can be mapped by itself: a byte, or a row, a layer, a pixel of an image. */
export function unitOf({ layout }: Tensor): number {
  return layout.strides[0];
}

/** Lends some of these pieces, where the API has parts of tensors. */
export function partOf(tensor: Tensor, start: number, end: number, access: Access = "read-write"): Tensor {
  const [, ...inner] = tensor.layout.shape;
  return tensor.slice(region(tensor.layout, [start, ...inner.map(() => 0)], [end - start, ...inner]), { access });
}

/** Says that there is nothing to be asked where the API at an end lends no part of a tensor. */
export function needsParts(end: End): void {
  if (end.wholeOnly) throw new NotHere(`${nameOf(end.target)} has no parts of tensors`);
}

/** Says that there is nothing to be asked where a frame's planes are not mapped one by one. */
export function needsPlanes({ source, target }: Subject): void {
  for (const end of [source, target]) {
    if (end.picturesOnly) throw new NotHere(`${nameOf(end.target)} maps whole pictures`);
  }
}

/** Says that there is nothing to be asked where one end has no frames. */
export function assertFrames({ source, target }: Subject): void {
  for (const end of [source, target]) {
    if (end.allocateFrame === undefined) throw new NotHere(`${nameOf(end.target)} has no frames`);
  }
}

/** A frame's description, in the subject's format. */
export function infoOf({ picture: format = "NV12" }: Subject, about: Omit<ImageInit, "format">): ImageInfo {
  return imageInfo({ format, ...about });
}

/** A frame at the source. */
export function frameOf(subject: Subject, info: ImageInfo): Frame {
  assertFrames(subject);
  return subject.source.allocateFrame!(info);
}

/** What the work of a test fails with. */
export function failure(): NativeCallError {
  return new NativeCallError("the test failed it", { api: "host" });
}

/** Nothing is lent of it. */
export function assertFree(tensor: Tensor, access: Access = "read-write"): void {
  tensor.assertUsable(access);
  assertEquals(tensor.grant.state, "live");
}
