import { host, type HostTensor, type Tensor } from "@samepage/interop";

/** The frame that is measured: 3840 × 2160 pixels of four bytes. */
export const FRAME = { shape: [2160, 3840, 4], dtype: "u8" } as const;

/** Pixels of the frame. */
export const PIXELS: number = FRAME.shape[0] * FRAME.shape[1];

/** Fills an array with random bytes: what is compared later cannot be guessed. */
export function randomize(bytes: Uint8Array<ArrayBuffer>): void {
  const most = 65536; // of getRandomValues
  for (let at = 0; at < bytes.length; at += most) crypto.getRandomValues(bytes.subarray(at, at + most));
}

/** A frame of random bytes in host memory. */
export function makeFrame(): HostTensor<"u8"> {
  const frame = host.allocate(FRAME);
  randomize(frame.view());
  return frame;
}

/** @throws where one byte is not the inverse of what it was. */
export function assertInverse(bytes: Uint8Array, before: Uint8Array): void {
  if (!bytes.every((byte, i) => byte === 255 - before[i])) {
    throw new Error("the frame is not the inverse of what it was");
  }
}

/** Has both planes of NV12 made, and checked for use. */
export function readBoth([luma, chroma]: readonly Tensor[]): void {
  void luma.handle;
  void chroma.handle;
}
