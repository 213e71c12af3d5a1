import { assertEquals } from "@std/assert";
import { type Frame, host, type ImageFormat, type ImageInfo, imageInfo } from "../../mod.ts";
import type { HostTensor } from "../../src/host/mod.ts";

/** Random bytes that come at once. */
const MOST = 65_536;

/** A picture's description. */
export function picture(format: ImageFormat, width = 64, height = 32): ImageInfo {
  return imageInfo({ format, width, height });
}

/** A frame of random pixels in host memory. */
export function randomFrame(format: ImageFormat, width = 64, height = 32): Frame<HostTensor> {
  const frame = host.allocateFrame(picture(format, width, height));
  for (const plane of frame.planes) {
    const bytes = plane.bytes() as Uint8Array<ArrayBuffer>;
    for (let at = 0; at < bytes.length; at += MOST) crypto.getRandomValues(bytes.subarray(at, at + MOST));
  }
  return frame;
}

/** The pixels of each plane, without what lies between rows. */
export function pixelsOf(frame: Frame<HostTensor>): Uint8Array[] {
  return frame.planes.map((plane) => {
    const { shape: [rows], strides: [stride], byteLength } = plane.layout;
    const row = byteLength - (rows - 1) * stride;
    const bytes = plane.bytes({ access: "read" });
    const pixels = new Uint8Array(rows * row);
    for (let y = 0; y < rows; y++) pixels.set(bytes.subarray(y * stride, y * stride + row), y * row);
    return pixels;
  });
}

/** Fails unless two frames have the same pixels. */
export function assertSamePixels(one: Frame<HostTensor>, other: Frame<HostTensor>, what = "pixels"): void {
  const there = pixelsOf(other);
  for (const [i, pixels] of pixelsOf(one).entries()) {
    const wrong = pixels.reduce((count, byte, at) => count + Number(byte !== there[i][at]), 0);
    assertEquals([pixels.length, wrong], [there[i].length, 0], `${what}, plane ${i} of ${one.name}`);
  }
}
