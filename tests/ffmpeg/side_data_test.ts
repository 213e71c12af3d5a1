// FFmpeg's side data as a frame's metadata, and back: what C has written, C reads.

import { assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, host, imageInfo, type Metadata } from "@samepage/interop";
import * as av from "../../ffi/avutil57/constants.ts";
import { CFrame, inC } from "./frames.ts";
import { type Open, testOpen } from "./open.ts";

const TYPES = [
  av.AV_FRAME_DATA_DISPLAYMATRIX,
  av.AV_FRAME_DATA_A53_CC,
  av.AV_FRAME_DATA_CONTENT_LIGHT_LEVEL,
  av.AV_FRAME_DATA_MASTERING_DISPLAY_METADATA,
];

/** All bytes of the side data of a type. */
function bytesOf(frame: bigint, type: number): number[] {
  const bytes: number[] = [];
  for (let byte = inC().side_byte(frame, type, 0); byte >= 0;) {
    bytes.push(byte);
    byte = inC().side_byte(frame, type, bytes.length);
  }
  return bytes;
}

testOpen("side data of a known type is the frame's metadata, and that of a map of it", (open) => {
  using made = CFrame.picture("nv12", 16, 8);
  inC().add_side_data(made.pointer);
  using frame = open.attach(made);
  using mapped = open.map(frame);
  const turned = [...new Int32Array(Uint8Array.from(bytesOf(made.pointer, TYPES[0])).buffer)];
  assertEquals(Object.fromEntries([...mapped.metadata.entries()]), {
    displayMatrix: { matrix: turned },
    closedCaptions: { data: Uint8Array.of(0xfc, 1, 2, 0xfd, 0x80, 0x80) },
    contentLight: { most: 4000000000, average: 400 },
    masteringDisplay: {
      primaries: [0, 1, 2, 3, 4, 5].map((i) => [1000 + i, 50000]),
      whitePoint: [[15635, 50000], [15636, 50000]],
      luminance: [[50, 10000], [10000000, 10000]],
    },
  });
});

testOpen("a frame without side data has no metadata, and side data that is too short is left out", (open) => {
  using made = CFrame.picture("gray", 16, 8);
  assertEquals([...open.attach(made).metadata.entries()], []);
  inC().add_short_matrix(made.pointer);
  using frame = open.attach(made, { access: "read" });
  assertEquals([...frame.metadata.entries()], []);
});

testOpen("metadata goes back as the same side data, byte by byte", async (open) => {
  using made = CFrame.picture("nv12", 16, 8);
  inC().add_side_data(made.pointer);
  await using frame = open.attach(made, { access: "read" });
  using lent = new CFrame(open.ffmpeg.avFrame(frame));
  for (const type of TYPES) assertEquals(bytesOf(lent.pointer, type), bytesOf(made.pointer, type));
  assertEquals(TYPES.map((type) => bytesOf(made.pointer, type).length), [36, 6, 8, 88]);
});

testOpen("a display without a known white point has no primaries in FFmpeg", async (open) => {
  await handedOver(open, (metadata) => metadata.add("masteringDisplay", { luminance: [[1, 2], [3, 4]] }), (pointer) => {
    const bytes = Uint8Array.from(bytesOf(pointer, TYPES[3]));
    assertEquals([...new Int32Array(bytes.buffer)], [...Array(16).fill(0), 1, 2, 3, 4, 0, 1]);
  });
});

/** Hands a picture over that has this metadata, and looks at it. */
async function handedOver(
  { ffmpeg, graph }: Open,
  add: (to: Metadata) => void,
  look = (_: bigint) => {},
): Promise<void> {
  using picture = host.allocateFrame(imageInfo({ format: "GRAY8", width: 32, height: 16 }));
  add(picture.metadata);
  await using mapped = graph.map(picture, ffmpeg, { access: "read" });
  using lent = new CFrame(ffmpeg.avFrame(mapped));
  look(lent.pointer);
}

/** Metadata that FFmpeg has no room for. */
const REFUSED: readonly (readonly [name: string, add: (to: Metadata) => void])[] = [
  ["a matrix of eight", (to) => to.add("displayMatrix", { matrix: [0, 1, 2, 3, 4, 5, 6, 7] })],
  ["a matrix of fractions", (to) => to.add("displayMatrix", { matrix: [0.5, 1, 2, 3, 4, 5, 6, 7, 8] })],
  ["a light below zero", (to) => to.add("contentLight", { most: -1, average: 0 })],
  ["a light of 2³²", (to) => to.add("contentLight", { most: 1, average: 2 ** 32 })],
  ["a luminance of three numbers", (to) => to.add("masteringDisplay", { luminance: [[1, 2], [3]] })],
];

for (const [name, add] of REFUSED) {
  testOpen(`refused: ${name}`, async (open) => {
    let error: unknown;
    await handedOver(open, add).catch((caught) => error = caught);
    assertThrows(
      () => {
        throw error;
      },
      ArgumentError,
      "metadata.",
    );
  });
}
