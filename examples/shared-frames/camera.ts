/**
 * The process with the camera: it draws each frame into memory that other processes see, and publishes it.
 *
 * `camera.ts PATH COUNT`; main.ts starts it.
 *
 * @module
 */

import { host, imageInfo } from "@samepage/interop";
import { FrameRing } from "@samepage/interop/channel";

/** Nanoseconds from one frame to the next. */
const INTERVAL = 40_000_000n;

const [path, count] = Deno.args;
const info = imageInfo({ format: "RGBA", width: 640, height: 480 });
const frames = Array.from({ length: 4 }, () => host.allocateFrame(info, { sharable: true }));
await using ring = FrameRing.create(path, { frames });
console.log("listens");
await ring.joined();

for (let i = 0; i < Number(count); i++) {
  const frame = await ring.next(); // waits while the readers are behind
  draw(frame.planes[0].bytes(), i);
  await ring.publish(frame, { timestamp: BigInt(i) * INTERVAL });
}
await ring.flush();

/** A ball that crosses a room: its place in frame `i` is all that changes. */
function draw(rgba: Uint8Array<ArrayBuffer>, i: number): void {
  const { width, height } = info;
  const pixels = new Uint32Array(rgba.buffer, rgba.byteOffset, width * height);
  const [x, y, radius] = [width * (i + 0.5) / Number(count), height * (0.7 - 0.4 * Math.abs(Math.sin(i / 3))), 60];
  for (let row = 0; row < height; row++) {
    const wall = row < 0.8 * height ? 0xffb08860 : 0xff406080; // ABGR
    pixels.fill(wall, row * width, (row + 1) * width);
    const half = Math.sqrt(Math.max(0, radius ** 2 - (row - y) ** 2));
    const [left, right] = [x - half, x + half].map((at) => Math.min(width, Math.max(0, Math.round(at))));
    pixels.fill(0xff2040e0, row * width + left, row * width + right);
  }
}
