import { fail } from "@std/assert";
import { sizeOf } from "../../src/core/layout/dtype.ts";
import { type ImageInfo, planeLayouts } from "../../src/core/layout/frame_info.ts";
import { isContiguous, type Layout, type LayoutInit } from "../../src/core/layout/layout.ts";
import type { Access } from "../../src/core/memory/access.ts";
import { Frame } from "../../src/core/tensors/frame.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";

/** Bytes at any address, with no API in between. They keep nothing alive. */
export function bytesAt(address: bigint, byteLength: number): Uint8Array<ArrayBuffer> {
  const pointer = Deno.UnsafePointer.create(address)!;
  return new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(pointer, byteLength) as ArrayBuffer);
}

/** Random bytes: no code can have guessed them. */
export function random(byteLength: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(byteLength);
  for (let at = 0; at < byteLength; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
  return bytes;
}

/** A tensor's whole range, padding included, as the bytes that it is. */
export function asBytes<T extends Tensor>(tensor: T, access: Access = tensor.access): T {
  const { byteOffset, byteLength } = tensor.layout;
  return tensor.slice({ shape: [byteLength], dtype: "u8", strides: [1], byteOffset, byteLength }, { access }) as T;
}

/** A frame whose planes are blocks of their own. Where one cannot be made, none is left. */
export function separateFrame(allocate: (init: LayoutInit) => Tensor, info: ImageInfo): Frame {
  using made = new DisposableStack();
  const frame = Frame.of(planeLayouts(info).map((plane) => made.use(allocate({ ...plane, byteOffset: 0 }))), info);
  made.move();
  return frame;
}

/** Where two arrays differ first; -1 where they do not. */
export function firstDifference(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length) return Math.min(a.length, b.length);
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return i;
  return -1;
}

/** Fails with the first difference. */
export function assertSame(actual: Uint8Array, expected: Uint8Array, what: string): void {
  const at = firstDifference(actual, expected);
  if (at < 0) return;
  const wrong = expected.reduce((count, byte, i) => count + Number(actual[i] !== byte), 0);
  fail(`${what}: ${wrong} of ${expected.length} bytes differ, at ${at} there is ${actual[at]}, not ${expected[at]}.`);
}

/** The elements of a layout, in order and without gaps, from the bytes of its bounding range. */
export function elementsOf(layout: Layout, bytes: Uint8Array): Uint8Array {
  if (isContiguous(layout)) return bytes;
  const size = sizeOf(layout.dtype);
  const places = placesOf(layout);
  const elements = new Uint8Array(places.length * size);
  places.forEach((at, i) => elements.set(bytes.subarray(at, at + size), i * size));
  return elements;
}

/** The bounding range with other elements; what lies between them stays. */
export function withElements(layout: Layout, bytes: Uint8Array, elements: Uint8Array): Uint8Array {
  const size = sizeOf(layout.dtype);
  const all = bytes.slice();
  placesOf(layout).forEach((at, i) => all.set(elements.subarray(i * size, i * size + size), at));
  return all;
}

/** Where each element begins in the bounding range, in order. */
export function placesOf({ shape, strides }: Layout): number[] {
  return shape.reduce(
    (places, count, i) => places.flatMap((at) => Array.from({ length: count }, (_, n) => at + n * strides[i])),
    [0],
  );
}

/** So often it is asked at least: where the machine stood still, time alone says nothing. */
const MIN_ASKED = 500;

/**
 * Asks again and again until the answer is yes; false where it took too long. What has to happen is given far more time
 * than it needs on a busy machine: only a test that fails waits for all of it.
 */
export async function until(condition: () => boolean | Promise<boolean>, milliseconds = 30_000): Promise<boolean> {
  const end = performance.now() + milliseconds;
  const least = Math.min(milliseconds, MIN_ASKED);
  for (let asked = 1; !await condition(); asked++) {
    if (performance.now() > end && asked > least) return false;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return true;
}
