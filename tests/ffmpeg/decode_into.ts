/**
 * Decoding into memory that other APIs have made.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor, type MapperGraph, type Tensor } from "@samepage/interop";
import type { FrameMemory } from "../../src/core/tensors/native_buffers.ts";
import { type Clip, clipOf, CODECS } from "./codecs.ts";
import { hashOf, RawDecoder } from "./raw.ts";

const H264: Clip = { ...CODECS[0], size: "318x182", frames: 30 };

/** Decodes into memory of any kind. `use` is given each frame, and its bytes of luma as FFmpeg's own buffers have them. */
export async function decodeInto<T extends Tensor>(
  into: FrameMemory<T>,
  use: (frame: Frame<T>) => unknown,
): Promise<void> {
  const path = await clipOf(H264);
  const hashes: bigint[] = [];
  {
    await using decoder = await RawDecoder.open(path);
    for await (const pointer of decoder.frames()) hashes.push(hashOf(pointer));
  }
  let count = 0;
  await using decoder = await RawDecoder.open<T>(path, { threads: 4, into });
  for await (const pointer of decoder.frames()) {
    assertEquals(hashOf(pointer), hashes[count++]);
    await using frame = decoder.frameOf(pointer)!;
    assert(frame !== undefined, "it is FFmpeg's");
    await use(frame);
  }
  assertEquals(count, 30);
}

/** The bytes of luma, as the host sees them by a map that moves none. */
export function luma(graph: MapperGraph, frame: Frame): Uint8Array {
  using mapped = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
  assertEquals(mapped.route.bytesMoved, 0);
  return mapped.planes[0].bytes().slice();
}
