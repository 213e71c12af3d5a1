/**
 * Frames that do not fill their memory, and the process that sends them through a ring.
 *
 * @module
 */
import { Frame, host, type HostTensor, imageInfo, layout, type Tensor } from "../../mod.ts";
import { FrameRing } from "../../src/channel/mod.ts";

/** How the frames lie in their memory. */
export type Kind = keyof typeof MAKE;

/** How many frames are sent. */
export const ROUNDS = 7;

const [WIDTH, HEIGHT, PITCH, FRAMES, MARGIN, GAP] = [48, 16, 80, 3, 16, 4];

/** What lies in the padding and in the gaps, and nowhere else. */
const PADDING = 255;

const MAKE = {
  /** All in one block: rows with padding on both sides. */
  slices(): HostTensor[] {
    const block = host.allocate({ shape: [FRAMES * HEIGHT, PITCH], dtype: "u8", sharable: true });
    block.bytes().fill(PADDING);
    const place = { shape: [HEIGHT, WIDTH], dtype: "u8", strides: [PITCH, 1] } as const;
    return Array.from(
      { length: FRAMES },
      (_, i) => block.slice(layout({ ...place, byteOffset: i * HEIGHT * PITCH + MARGIN })),
    );
  },
  /** Each in a block of its own: two planes with padded rows, and a gap between them. */
  planes(): Frame<HostTensor>[] {
    const info = imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT });
    const light = layout({ shape: [HEIGHT, WIDTH], dtype: "u8", strides: [PITCH, 1] });
    const byteOffset = (HEIGHT + GAP) * PITCH;
    const colour = layout({
      shape: [HEIGHT / 2, WIDTH / 2, 2],
      dtype: "u8",
      strides: [PITCH, 2, 1],
      byteOffset,
    });
    return Array.from({ length: FRAMES }, () => {
      const block = host.allocate({ shape: [HEIGHT + GAP + HEIGHT / 2, PITCH], dtype: "u8", sharable: true });
      block.bytes().fill(PADDING);
      return Frame.of([block.slice(light), block.slice(colour)], info);
    });
  },
};

/** The planes of a frame; of a tensor, itself. */
export function planesOf<T extends Tensor>(frame: T | Frame<T>): readonly T[] {
  return frame instanceof Frame ? frame.planes : [frame];
}

/** The rows of a plane, and how many bytes of each are elements. */
export function sizeOf({ layout: { shape: [rows, ...rest] } }: Tensor): readonly [rows: number, width: number] {
  return [rows, rest.reduce((product, count) => product * count, 1)];
}

/** What lies in a plane of a round, without the padding. */
export function elements(plane: Tensor, round: number, number: number): Uint8Array {
  const [rows, width] = sizeOf(plane);
  return Uint8Array.from({ length: rows * width }, (_, i) => {
    return (round * 31 + number * 101 + Math.floor(i / width) * 7 + i % width) % PADDING;
  });
}

/** Sends the rounds to the first process that joins. */
export async function send(path: string, kind: Kind): Promise<void> {
  await using ring = FrameRing.create<HostTensor | Frame<HostTensor>>(path, { frames: MAKE[kind]() });
  console.log("listens");
  await ring.joined();
  for (let round = 0; round < ROUNDS; round++) {
    const frame = await ring.next();
    for (const [number, plane] of planesOf(frame).entries()) {
      const [rows, width] = sizeOf(plane);
      const values = elements(plane, round, number);
      const bytes = plane.bytes();
      for (let y = 0; y < rows; y++) {
        bytes.set(values.subarray(y * width, (y + 1) * width), y * plane.layout.strides[0]);
      }
    }
    await ring.publish(frame);
  }
  await ring.flush();
}
