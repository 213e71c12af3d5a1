import type { Target } from "../../src/core/graph/context.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import type { ImageInfo } from "../../src/core/layout/frame_info.ts";
import type { LayoutInit } from "../../src/core/layout/layout.ts";
import type { CudaContext, CudaKernel, CudaTensor } from "../../src/cuda/mod.ts";
import type { AttachOptions } from "../../src/core/tensors/adopt.ts";
import { OwnersMemory } from "../cuda/owners_memory.ts";
import { SIZE } from "./case.ts";
import { RawStream } from "./cuda_raw.ts";
import { asBytes, separateFrame } from "./bytes.ts";
import type { End, Foreign } from "./subject.ts";

/** A thread a byte. `late` begins after two milliseconds: what does not wait for it is found out. */
const SOURCE = `
__device__ void put(unsigned char* to, const unsigned char* from, unsigned long long count) {
  size_t i = blockIdx.x * (size_t) blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}
extern "C" __global__ void copy(unsigned char* to, const unsigned char* from, unsigned long long count) {
  put(to, from, count);
}
extern "C" __global__ void late(unsigned char* to, const unsigned char* from, unsigned long long count) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - begin < 2000000);
  put(to, from, count);
}`;

const TYPES = ["unsigned char*", "const unsigned char*", "unsigned long long"] as const;

/** Threads of a block. */
const BLOCK = 256;

/** One kind of memory of a CUDA context, as the suite uses it. */
export interface Memory {
  /** The kind. */
  readonly target: Target;
  /** @see {@link End.hidden} */
  readonly hidden?: boolean;
  /** New memory of it. */
  allocate(init: LayoutInit): CudaTensor;
  /** @see {@link End.foreign} */
  readonly foreign?: () => Foreign;
}

/** Memory of the device. */
export function deviceOf(context: CudaContext): Memory {
  const foreign = () => foreignMemory(context);
  return { target: context, hidden: true, allocate: (init) => context.allocate(init), foreign };
}

/** Memory of the device that cudaMalloc itself made. */
function foreignMemory(context: CudaContext): Foreign {
  const theirs = new OwnersMemory(context, SIZE);
  const attach = (length: number, options?: AttachOptions) =>
    context.attach(theirs.address, { shape: [length], dtype: "u8" }, options);
  return {
    attach: (options) => attach(SIZE, options),
    misfit: (options) => attach(1 << 30, options),
    [Symbol.dispose]() {
      theirs.free();
      theirs[Symbol.dispose]();
    },
  };
}

/** Pinned memory of the host. */
export function pinnedOf({ pinned }: CudaContext): Memory {
  return { target: pinned, allocate: (init) => pinned.allocate(init) };
}

/** Managed memory. */
export function managedOf({ managed }: CudaContext): Memory {
  return { target: managed, allocate: (init) => managed.allocate(init) };
}

/** Virtual memory, on the host or on the device, for the devices of other contexts too. */
export function virtualOf(
  { virtual }: CudaContext,
  location: "device" | "host",
  devices: readonly CudaContext[] = [],
): Memory {
  return {
    target: virtual,
    hidden: location === "device",
    allocate: (init) => virtual.allocate({ ...init, location, devices }),
  };
}

/** Events that a context keeps from then on: what a failed call leaves in use is not new then. */
const EVENTS = 16;

/** CUDA's end of an edge: kernels write and read, one with samepage's checks and one without. */
export class CudaEnd implements End, Disposable {
  readonly target: Target;
  readonly hidden: boolean;
  readonly foreign?: () => Foreign;
  readonly #context: CudaContext;
  readonly #memory: Memory;
  readonly #copy: CudaKernel;
  readonly #late: CudaKernel;
  readonly #raw: RawStream;
  /** What kernels that were only submitted read from. */
  #scratch: CudaTensor[] = [];

  constructor(context: CudaContext, memory: Memory = deviceOf(context)) {
    this.target = memory.target;
    this.hidden = memory.hidden ?? false;
    if (memory.foreign !== undefined) this.foreign = memory.foreign;
    this.#context = context;
    this.#memory = memory;
    const program = context.program(SOURCE);
    this.#copy = program.kernel("copy", TYPES);
    this.#late = program.kernel("late", TYPES);
    this.#raw = new RawStream(context.within, this.#copy.handle);
    keepEvents(context);
  }

  /** Gives up what was kept for submitted work. */
  quiet(): void {
    this.#scratch.splice(0).forEach((tensor) => tensor[Symbol.dispose]());
  }

  allocate(init: LayoutInit): CudaTensor {
    return this.#memory.allocate(init);
  }

  allocateFrame(info: ImageInfo): Frame {
    return separateFrame((init) => this.allocate(init), info);
  }

  submit(tensor: CudaTensor, bytes: Uint8Array): Fence {
    const from = this.#with(bytes);
    this.#scratch.push(from);
    run(this.#late, tensor, from, bytes.length);
    return this.#context.stream.fence();
  }

  async write(tensor: CudaTensor, bytes: Uint8Array): Promise<void> {
    await using whole = asBytes(tensor);
    await using from = this.#with(bytes);
    run(this.#copy, whole, from, bytes.length);
  }

  async read(tensor: CudaTensor): Promise<Uint8Array> {
    await using whole = asBytes(tensor, "read");
    const bytes = new Uint8Array(tensor.layout.byteLength);
    await using to = this.#context.allocate({ shape: [bytes.length], dtype: "u8" });
    run(this.#copy, to, whole, bytes.length);
    this.#context.stream.read(to, bytes);
    return bytes;
  }

  readonly raw = {
    write: (tensor: CudaTensor, bytes: Uint8Array) => this.#raw.write(placeOf(tensor), bytes.slice()),
    read: (tensor: CudaTensor) => this.#raw.read(placeOf(tensor)),
  };

  [Symbol.dispose](): void {
    this.quiet();
    this.#raw[Symbol.dispose]();
  }

  /** Memory of the device with these bytes. */
  #with(bytes: Uint8Array): CudaTensor {
    const tensor = this.#context.allocate({ shape: [bytes.length], dtype: "u8" });
    this.#context.stream.write(tensor, bytes);
    return tensor;
  }
}

/** Has a context make events in advance. */
export function keepEvents({ stream }: CudaContext): void {
  for (let i = 0; i < EVENTS; i++) stream.fence();
  stream.finish();
}

function run(kernel: CudaKernel, to: CudaTensor, from: CudaTensor, count: number): void {
  kernel.run({ groups: [Math.ceil(count / BLOCK)], groupSize: [BLOCK] }, [to, from, count]);
}

function placeOf({ address, layout }: CudaTensor) {
  return { address, length: layout.byteLength };
}
