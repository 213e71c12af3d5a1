import { host, type HostTensor } from "@samepage/interop";
import type { CudaTensor } from "@samepage/interop/cuda";
import type { ClaimCase } from "../../src/advisor/mod.ts";
import { BLOCK, gpu, pieces, threads } from "../harness/cuda.ts";
import { assertInverse, randomize } from "../harness/frame.ts";
import type { Operation } from "../harness/operation.ts";
import { bytesOf, makePinned } from "./pinned.ts";

/** How often a kernel comes back to each piece. */
const TURNS = 16;

/** Bytes of a word. */
const WORD = 4;

/** All passes over some bytes; what they make is in `to`, which is the same memory unless every piece is read again. */
type Passes = (from: CudaTensor, to: CudaTensor) => void;

/** The work of a claim in place: in mapped pinned memory, or in memory of the host that is registered for it. */
export function inPlace(of: ClaimCase): Operation {
  const { cuda, graph } = gpu();
  const passes = passesOf(of);
  if (of.existing === true) {
    const bytes = makeHost(of.size);
    return {
      run(count) {
        for (let i = 0; i < count; i++) {
          using onDevice = graph.map(bytes, cuda);
          passes(onDevice, onDevice);
          cuda.stream.finish();
        }
      },
    };
  }
  const from = makePinned(of.size);
  const to = of.gpu === "repeated" ? makePinned(of.size) : from;
  return checked(of, from, to, (count) => {
    for (let i = 0; i < count; i++) {
      passes(from, to);
      cuda.stream.finish();
    }
  });
}

/** The same by copies to and from device memory: those that the CPU's use of the bytes asks for. */
export function byCopies(of: ClaimCase): Operation {
  const { cuda } = gpu();
  const passes = passesOf(of);
  const there = cuda.allocate({ shape: [of.size], dtype: "u8" });
  const result = of.gpu === "repeated" ? cuda.allocate({ shape: [of.size], dtype: "u8" }) : there;
  if (of.copies === "pageable") {
    using tensor = makeHost(of.size);
    const bytes = tensor.view().slice();
    return {
      run(count) {
        for (let i = 0; i < count; i++) {
          if (of.cpu !== "read-once") cuda.stream.write(there, bytes);
          passes(there, result);
          if (of.cpu !== "write-once") cuda.stream.read(result, bytes);
          else cuda.stream.finish();
        }
      },
    };
  }
  const from = makePinned(of.size);
  const to = of.gpu === "repeated" ? makePinned(of.size) : from;
  return checked(of, from, to, (count) => {
    for (let i = 0; i < count; i++) {
      if (of.cpu !== "read-once") cuda.stream.copy(from, there);
      passes(there, result);
      if (of.cpu !== "write-once") cuda.stream.copy(result, to);
      cuda.stream.finish();
    }
  });
}

function passesOf({ size, cpu, gpu: pattern, stride, repeats }: ClaimCase): Passes {
  const { cuda, kernel } = gpu();
  const { count: n, launch } = pieces(size);
  const pass = ((): Passes => {
    if (cpu === "write-once") {
      const [readAll, sum] = [kernel("read_all"), cuda.allocate({ shape: [1], dtype: "u32" })];
      return (from) => readAll.run(launch, [from, n, sum]);
    }
    if (cpu === "read-once") {
      const writeAll = kernel("write_all");
      return (_, to) => writeAll.run(launch, [to, n, 1]);
    }
    if (pattern === "scattered") {
      const [inverted, words] = [kernel("invert_strided"), size / WORD];
      const sizes = threads(words);
      return (from) => inverted.run(sizes, [from, words, stride! / WORD]);
    }
    if (pattern === "repeated") {
      const again = kernel("read_again");
      return (from, to) => again.run(launch, [from, to, n, TURNS]);
    }
    const invert = kernel("invert");
    return (from) => invert.run(launch, [from, n]);
  })();
  return (from, to) => {
    for (let i = 0; i < repeats; i++) pass(from, to);
  };
}

/** Runs it once, and checks the bytes where their values are known. */
function checked(of: ClaimCase, from: CudaTensor, to: CudaTensor, run: (count: number) => void): Operation {
  const before = bytesOf(from);
  run(1);
  if (of.cpu === "read-write" && of.repeats % 2 === 1) {
    if (of.gpu === "repeated") assertReadAgain(bytesOf(to), before);
    else assertInverse(bytesOf(to), before);
  }
  return { run };
}

/** @throws where a word is not what its piece and those that follow at a block's distance have in common. */
function assertReadAgain(result: Uint8Array, before: Uint8Array): void {
  const [found, words] = [new Uint32Array(result.buffer), new Uint32Array(before.buffer)];
  const step = 4 * BLOCK;
  for (let i = 0; i < words.length; i += 4099) { // a prime: some of all words
    let all = 0;
    for (let turn = 0; turn < TURNS; turn++) all ^= words[(i + turn * step) % words.length];
    if (found[i] !== all >>> 0) throw new Error(`word ${i} was not read again`);
  }
}

/** Random bytes of the host's. */
function makeHost(byteLength: number): HostTensor<"u8"> {
  const bytes = host.allocate({ shape: [byteLength], dtype: "u8" });
  randomize(bytes.view());
  return bytes;
}
