import { CL_CONTEXT_REFERENCE_COUNT } from "../../ffi/opencl/constants.ts";
import type { ClMem } from "../../ffi/opencl/handles.ts";
import type { Target } from "../../src/core/graph/context.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import type { Line } from "../../src/core/device/line.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import type { ImageInfo } from "../../src/core/layout/frame_info.ts";
import type { LayoutInit } from "../../src/core/layout/layout.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import {
  type KernelArgument,
  type OpenCLContext,
  type OpenCLDevice,
  openclDevices,
  type OpenCLKernel,
  type OpenCLTensor,
} from "../../src/opencl/mod.ts";
import { bufferOf, release, told } from "../opencl/raw.ts";
import { LateQueue } from "./opencl_late.ts";
import { PASS, type Place, RawQueue, type RawRun, ulong } from "./opencl_raw.ts";
import { peersOf } from "./opencl_peers.ts";
import { asBytes, separateFrame } from "./bytes.ts";
import type { End, Foreign, Peers } from "./subject.ts";

/** An acquire has no event: a marker asks what has become of it, and is tried again where it was refused. */
export const ASKED_OF_ACQUIRES: readonly string[] = ["opencl.clEnqueueMarkerWithWaitList"];

/** A work-item a byte: loops are cut short on llvmpipe. */
const SOURCE = `
kernel void copy(global uchar* to, ulong at, global const uchar* from, ulong begin) {
  to[at + get_global_id(0)] = from[begin + get_global_id(0)];
}`;

/** One kind of memory of an OpenCL context, as the suite uses it. */
export interface Memory {
  /** The kind. */
  readonly target: Target;
  /** New memory of it. */
  allocate(init: LayoutInit): Tensor;
  /** A kernel's two arguments for it: a pointer, and where from there on. */
  argumentsOf(tensor: Tensor): readonly [KernelArgument, number];
  /** Where a kernel of the tests' own finds it. */
  placeOf(tensor: Tensor): Place;
  /** Peers of host tensors, where it can be attached to. */
  readonly peers?: Peers;
  /** @see {@link End.foreign} */
  foreign?(): Foreign;
}

/** Buffers. */
export function buffersOf(context: OpenCLContext): Memory {
  return {
    target: context,
    allocate: (init) => context.allocate(init),
    argumentsOf: (tensor) => [(tensor as OpenCLTensor).base, tensor.layout.byteOffset],
    placeOf({ rawHandle, layout: { byteOffset: offset, byteLength: length } }) {
      return { pass: PASS.mem(rawHandle as ClMem), offset, length };
    },
    peers: peersOf(context),
    foreign: () => foreignBuffer(context),
  };
}

/** A `cl_mem` of 4096 bytes that OpenCL's own calls made. */
function foreignBuffer(context: OpenCLContext): Foreign {
  const mem = bufferOf(context);
  return {
    attach: (options) => context.attach(mem, { shape: [4096], dtype: "u8" }, options),
    misfit: (options) => context.attach(mem, { shape: [4097], dtype: "u8" }, options),
    [Symbol.dispose]: () => release(mem),
  };
}

/** OpenCL's end of an edge: kernels write and read, one with samepage's checks and one without. */
export class OpenCLEnd implements End, Disposable {
  readonly target: Target;
  readonly peers?: Peers;
  readonly foreign?: () => Foreign;
  readonly #context: OpenCLContext;
  readonly #memory: Memory;
  readonly #copy: OpenCLKernel;
  /** Keeps the handle that the raw queue uses. */
  readonly #rawCopy: OpenCLKernel;
  readonly #raw: RawQueue;
  readonly #late: LateQueue;

  constructor(context: OpenCLContext, memory: Memory) {
    this.target = memory.target;
    if (memory.peers !== undefined) this.peers = memory.peers;
    if (memory.foreign !== undefined) this.foreign = memory.foreign;
    this.#context = context;
    this.#late = new LateQueue(context);
    this.#memory = memory;
    const program = context.program(SOURCE);
    this.#copy = program.kernel("copy");
    this.#rawCopy = program.kernel("copy");
    this.#raw = new RawQueue(context.handle, context.device.handle);
  }

  /** The line on which its work comes late. */
  get lateLine(): Line {
    return this.#late.line;
  }

  /** The queue keeps the last command's event; the last one has to go well, or waiting for it would fail. */
  quiet(): void {
    using scratch = this.#scratch(1);
    this.#context.queue.write(scratch, new Uint8Array(1));
    this.#context.queue.finish();
  }

  allocate(init: LayoutInit): Tensor {
    return this.#memory.allocate(init);
  }

  allocateFrame(info: ImageInfo): Frame {
    return separateFrame((init) => this.allocate(init), info);
  }

  submit(tensor: Tensor, bytes: Uint8Array): Fence {
    const from = this.#scratch(bytes.length);
    this.#context.queue.write(from, bytes);
    const queue = this.#late.busy();
    this.#run(this.#memory.argumentsOf(tensor), [from, 0], bytes.length, queue);
    const fence = queue.fence();
    from.disposeAfter(fence);
    return fence;
  }

  async write(tensor: Tensor, bytes: Uint8Array): Promise<void> {
    await using whole = asBytes(tensor);
    await using from = this.#scratch(bytes.length);
    this.#context.queue.write(from, bytes);
    this.#run(this.#memory.argumentsOf(whole), [from, 0], bytes.length);
  }

  async read(tensor: Tensor): Promise<Uint8Array> {
    await using whole = asBytes(tensor, "read");
    using to = this.#scratch(tensor.layout.byteLength);
    this.#run([to, 0], this.#memory.argumentsOf(whole), to.layout.byteLength);
    const bytes = new Uint8Array(tensor.layout.byteLength);
    this.#context.queue.read(to, bytes);
    return bytes;
  }

  readonly raw = {
    write: (tensor: Tensor, bytes: Uint8Array) => {
      const { pass, offset, length } = this.#memory.placeOf(tensor);
      return this.#raw.write(bytes.slice(), (from) => this.#rawRun([pass, offset], [from, 0], length));
    },
    read: (tensor: Tensor) => {
      const { pass, offset, length } = this.#memory.placeOf(tensor);
      return Promise.resolve(this.#raw.read(length, (to) => this.#rawRun([to, 0], [pass, offset], length)));
    },
  };

  [Symbol.dispose](): void {
    this.#raw[Symbol.dispose]();
  }

  #scratch(byteLength: number): OpenCLTensor {
    return this.#context.allocate({ shape: [byteLength], dtype: "u8" });
  }

  #rawRun(to: readonly [Place["pass"], number], from: readonly [Place["pass"], number], length: number): RawRun {
    const pass = [to, from].flatMap(([pass, offset]) => [pass, ulong(offset)]);
    return { kernel: this.#rawCopy.handle, items: [length], pass };
  }

  #run(
    to: readonly [KernelArgument, number],
    from: readonly [KernelArgument, number],
    byteLength: number,
    queue = this.#context.queue,
  ): void {
    this.#copy.run({ items: [byteLength] }, [...to, ...from], { queue });
  }
}

/** How many objects there are in contexts: each is an owner of its own. */
export function objectsIn(...contexts: readonly OpenCLContext[]): number {
  return contexts.reduce((sum, { handle }) => sum + told("clGetContextInfo", handle, CL_CONTEXT_REFERENCE_COUNT), 0);
}

/** The devices of every platform, each name once: a device is opened by its name. */
export function devicesByName(): OpenCLDevice[] {
  return [...new Map(openclDevices().map((device) => [`${device.platform}: ${device.name}`, device])).values()];
}
