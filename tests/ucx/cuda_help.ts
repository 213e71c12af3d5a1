/**
 * Memory of CUDA's over UCX, in tests.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type Frame, type FrameInfo, host, type HostTensor, type LayoutInit } from "../../mod.ts";
import type { RingReader } from "../../src/channel/mod.ts";
import { CudaContext, type CudaTensor } from "../../src/cuda/mod.ts";
import { UcxContext, type UcxRings } from "../../src/ucx/mod.ts";
import { missing as missingGpu } from "../cuda/help.ts";
import { missing as missingUcx } from "./help.ts";

/** Why UCX cannot use CUDA's memory here; undefined where it can. */
export const missingCuda: string | undefined = (() => {
  if ((missingGpu ?? missingUcx) !== undefined) return missingGpu ?? missingUcx;
  using ucx = UcxContext.open();
  return ucx.takesCuda ? undefined : "UCX has no libuct_cuda";
})();

/** By the GPU's own copies between two processes, and by copies through the CPU's memory. */
export const CUDA_TRANSPORTS: readonly (readonly string[])[] = [
  ["posix", "cuda_copy", "cuda_ipc"],
  ["posix", "cuda_copy"],
  ["tcp", "cuda_copy"],
];

/** CUDA's kinds of memory. */
export const KINDS: Readonly<Record<string, (cuda: CudaContext, init: LayoutInit) => CudaTensor>> = {
  device: (cuda, init) => cuda.allocate(init),
  pool: (cuda, init) => cuda.stream.allocate(init),
  virtual: (cuda, init) => cuda.virtual.allocate(init),
  managed: (cuda, init) => cuda.managed.allocate(init),
  pinned: (cuda, init) => cuda.pinned.allocate(init),
};

/** Where a side of a ring keeps its frames. */
export type Where = "host" | "cuda";

/** Publishes frames of one number each: 1, 2, and so on. */
export async function write(rings: UcxRings, address: string, where: Where, info: FrameInfo, count: number) {
  using cuda = where === "cuda" ? CudaContext.open() : undefined;
  const frames = Array.from({ length: 3 }, (): Frame => cuda?.allocateFrame(info) ?? host.allocateFrame(info));
  await using ring = rings.create(address, { frames });
  await ring.joined();
  for (let i = 1; i <= count; i++) {
    const frame = await ring.next();
    for (const plane of frame.planes) {
      if (cuda === undefined) (plane as HostTensor).bytes().fill(i);
      else cuda.stream.fill(plane as CudaTensor, i & 0xff);
    }
    await ring.publish(frame);
  }
  await ring.end();
}

/** Reads them, from any first number on, and returns what it found, in words. */
export async function read(rings: UcxRings, address: string, where: Where): Promise<string> {
  using cuda = where === "cuda" ? CudaContext.open() : undefined;
  await using ring: RingReader<Frame> = await rings.open(address, { contexts: [cuda ?? host] });
  let count = 0;
  for await (const frame of ring) {
    count++;
    for (const plane of frame.planes) {
      assertEquals(plane.target, cuda ?? host);
      const wrong = bytesOf(plane, cuda).findIndex((byte) => byte !== (ring.sequence & 0xff));
      if (wrong >= 0) return `frame ${count} is wrong at byte ${wrong}`;
    }
  }
  return `${count} frames`;
}

/** A copy of a tensor's bytes. */
export function bytesOf(tensor: CudaTensor | HostTensor | Frame["planes"][number], cuda: CudaContext | undefined) {
  if (cuda === undefined) return (tensor as HostTensor).bytes().slice();
  const bytes = new Uint8Array(tensor.byteLength);
  cuda.stream.read(tensor as CudaTensor, bytes);
  return bytes;
}

/** The bytes of the tests' tensors. */
export function pattern(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).map((_, i) => i * 7);
}

export function assertPattern(bytes: Uint8Array): void {
  assert(bytes.every((value, i) => value === (i * 7 & 0xff)), "other bytes");
}
