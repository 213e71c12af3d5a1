import { FRAME_BYTES, gpu, pieces } from "../harness/cuda.ts";
import { assertInverse, FRAME, makeFrame } from "../harness/frame.ts";
import type { Operation } from "../harness/operation.ts";
import { bytesOf, makePinned, onHost } from "./pinned.ts";

/** Inverts a frame of mapped pinned memory where it is, and looks at it. */
export function invertingInMapped(): Operation {
  const { kernel } = gpu();
  const invert = kernel("invert");
  const { count: n, launch } = pieces(FRAME_BYTES);
  const frame = makePinned(FRAME_BYTES);
  let last = bytesOf(frame)[FRAME_BYTES - 1];
  const run = (count: number) => {
    for (let i = 0; i < count; i++) {
      invert.run(launch, [frame, n]);
      using seen = onHost(frame);
      last = assertInverted(seen.view(), last);
    }
  };
  const before = bytesOf(frame);
  run(1);
  assertInverse(bytesOf(frame), before);
  return { run };
}

/** The same of a frame of the host, whose pages are registered for it. */
export function invertingRegistered(): Operation {
  const { cuda, graph, kernel } = gpu();
  const invert = kernel("invert");
  const { count: n, launch } = pieces(FRAME_BYTES);
  const frame = makeFrame();
  let last = frame.view()[FRAME_BYTES - 1];
  const run = (count: number) => {
    for (let i = 0; i < count; i++) {
      {
        using onDevice = graph.map(frame, cuda);
        invert.run(launch, [onDevice, n]);
      }
      last = assertInverted(frame.view(), last);
    }
  };
  const before = frame.view().slice();
  run(1);
  assertInverse(frame.view(), before);
  return { run };
}

/** The same by copies from and to pinned memory. */
export function invertingByPinnedCopies(): Operation {
  const { cuda, kernel } = gpu();
  const invert = kernel("invert");
  const { count: n, launch } = pieces(FRAME_BYTES);
  const frame = makePinned(FRAME_BYTES);
  const there = cuda.allocate(frame.layout);
  let last = bytesOf(frame)[FRAME_BYTES - 1];
  const run = (count: number) => {
    for (let i = 0; i < count; i++) {
      cuda.stream.copy(frame, there);
      invert.run(launch, [there, n]);
      cuda.stream.copy(there, frame);
      using seen = onHost(frame);
      last = assertInverted(seen.view(), last);
    }
  };
  const before = bytesOf(frame);
  run(1);
  assertInverse(bytesOf(frame), before);
  return { run };
}

/** The same by copies from and to memory of the host that CUDA knows nothing of. */
export function invertingByPageableCopies(): Operation {
  const { cuda, kernel } = gpu();
  const invert = kernel("invert");
  const { count: n, launch } = pieces(FRAME_BYTES);
  using frame = makeFrame();
  const bytes = frame.view().slice();
  const there = cuda.allocate(FRAME);
  let last = bytes[FRAME_BYTES - 1];
  const run = (count: number) => {
    for (let i = 0; i < count; i++) {
      cuda.stream.write(there, bytes);
      invert.run(launch, [there, n]);
      cuda.stream.read(there, bytes);
      last = assertInverted(bytes, last);
    }
  };
  const before = bytes.slice();
  run(1);
  assertInverse(bytes, before);
  return { run };
}

/** Looks at one byte. @throws where it is not the inverse of what it was. */
function assertInverted(bytes: Uint8Array, before: number): number {
  const now = bytes[FRAME_BYTES - 1];
  if (now !== 255 - before) throw new Error("the frame was not inverted");
  return now;
}
