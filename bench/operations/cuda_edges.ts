import type { CudaTensor } from "@samepage/interop/cuda";
import { CudaEdges } from "../../examples/cuda-edges/kernels.ts";
import { stripes } from "../../examples/cuda-edges/picture.ts";
import { detectEdgesInGrey } from "../../examples/edges/host.ts";
import { gpu } from "../harness/cuda.ts";
import type { Operation } from "../harness/operation.ts";
import { bytesOf, onHost } from "./pinned.ts";

/** A picture's size. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Blur and Canny, from one plane to the other. */
type Submit = (edges: CudaEdges, from: CudaTensor, to: CudaTensor) => void;

/** Blur and Canny of stripes: the first kernel reads them in mapped memory, and the last writes the edges there. */
export function edgesInMapped(size: Size): Operation {
  return between(size, (edges, from, to) => edges.run(from, to));
}

/** The same by copies from and to the same memory. */
export function edgesByPinnedCopies(size: Size): Operation {
  const { cuda } = gpu();
  const there = cuda.allocate(planeOf(size));
  return between(size, (edges, from, to) => {
    cuda.stream.copy(from, there);
    edges.run(there, there);
    cuda.stream.copy(there, to);
  });
}

/** The same by copies from and to memory of the host that CUDA knows nothing of. */
export function edgesByPageableCopies(size: Size): Operation {
  const { cuda } = gpu();
  const edges = new CudaEdges(cuda, size.width, size.height);
  const there = cuda.allocate(planeOf(size));
  const { grey } = stripes(size.width, size.height);
  const found = new Uint8Array(grey.length);
  const run = (count: number) => {
    for (let i = 0; i < count; i++) {
      cuda.stream.write(there, grey);
      edges.run(there, there);
      cuda.stream.read(there, found);
    }
  };
  run(1);
  assertEdges(found, size);
  return { run };
}

/** From one plane of pinned memory to another. */
function between(size: Size, submit: Submit): Operation {
  const { cuda } = gpu();
  const edges = new CudaEdges(cuda, size.width, size.height);
  const [from, to] = [cuda.pinned.allocate(planeOf(size)), cuda.pinned.allocate(planeOf(size))];
  {
    using picture = onHost(from);
    picture.bytes().set(stripes(size.width, size.height).grey);
  }
  const run = (count: number) => {
    for (let i = 0; i < count; i++) {
      submit(edges, from, to);
      cuda.stream.finish();
    }
  };
  run(1);
  assertEdges(bytesOf(to), size);
  return { run };
}

function planeOf({ width, height }: Size): { shape: [number, number]; dtype: "u8" } {
  return { shape: [height, width], dtype: "u8" };
}

/** @throws where one pixel is not what the CPU makes of it. */
function assertEdges(found: Uint8Array, { width, height }: Size): void {
  const expected = detectEdgesInGrey(stripes(width, height).grey, width, height);
  if (!found.every((pixel, i) => pixel === expected[i])) throw new Error("the edges are not the CPU's");
}
