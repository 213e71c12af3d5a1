/**
 * What the tests compare frames by.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor, type MapperGraph } from "@samepage/interop";

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
}

/** The bytes of a frame, row by row, as FFmpeg writes raw files. */
export function bytesOf(frame: Frame, graph: MapperGraph): Uint8Array {
  using mapped = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
  assertEquals(mapped.route!.bytesMoved, 0);
  const parts = mapped.planes.map((plane) => {
    const { shape: [rows, columns], strides: [stride, step] } = plane.layout;
    const all = plane.bytes();
    if (columns === undefined) return all.slice();
    const dense = new Uint8Array(rows * columns * step);
    for (let y = 0; y < rows; y++) dense.set(all.subarray(y * stride, y * stride + columns * step), y * columns * step);
    return dense;
  });
  return concat(parts);
}
