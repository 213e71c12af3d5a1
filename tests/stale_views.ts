/**
 * Views whose bytes are gone.
 *
 * @module
 */

type Viewer = new (buffer: ArrayBuffer, byteOffset?: number, length?: number) => ArrayBufferView<ArrayBuffer>;

const VIEWERS: readonly Viewer[] = [DataView, Uint8Array, Uint8ClampedArray, Float16Array, BigInt64Array];

/** Views of buffers that were detached, or have become too short for them. Each showed 8 bytes at least. */
export function staleViews(): readonly ArrayBufferView<ArrayBuffer>[] {
  const detached = new ArrayBuffer(64);
  const shrunk = new ArrayBuffer(64, { maxByteLength: 64 });
  const views = VIEWERS.flatMap((View) => [
    new View(detached),
    new View(detached, 32, 1),
    new View(shrunk, 32), // as long as what is behind it
    new View(shrunk, 0, 8),
  ]);
  detached.transfer();
  shrunk.resize(7);
  return views;
}
