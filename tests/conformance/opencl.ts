import { hostToOpenCL, MapperGraph, openCLToHost } from "../../mod.ts";
import type { Fence } from "../../src/core/fence.ts";
import { Frame } from "../../src/core/frame.ts";
import { type ImageInfo, planeLayouts } from "../../src/core/frame_info.ts";
import { InteropError, messageOf } from "../../src/core/errors.ts";
import type { LayoutInit } from "../../src/core/layout.ts";
import { edgeOf, type Mapper } from "../../src/core/mapper.ts";
import { host } from "../../src/host/mod.ts";
import {
  BaseOf,
  OpenCLContext,
  type OpenCLContext as Context,
  type OpenCLDevice,
  openclDevices,
  type OpenCLKernel,
  type OpenCLTensor,
} from "../../src/opencl/mod.ts";
import { hostEnd } from "./host_end.ts";
import { RawQueue, words } from "./opencl_raw.ts";
import type { Candidate, End, Gate, Subject } from "./subject.ts";

/** A work-item a byte: loops are cut short on llvmpipe. */
const SOURCE = `
kernel void copy(global uchar* to, ulong at, global const uchar* from, ulong begin) {
  to[at + get_global_id(0)] = from[begin + get_global_id(0)];
}`;

/**
 * Both edges between the host and OpenCL, on every device of every platform.
 *
 * @param expected what the edge from the host has to say of itself; of the driver's own memory nothing is known
 */
export function opencl(expected: Subject["expected"] = "as proven"): Candidate[] {
  const edges = [hostToOpenCL, openCLToHost].map((mapper) => edgeOf(mapper as Mapper));
  try {
    const devices = openclDevices();
    if (devices.length === 0) return edges.map((edge) => ({ edge, open: "OpenCL has no device" }));
    return devices.flatMap((device) =>
      edges.map((edge) => ({
        edge,
        device: `${device.platform}: ${device.name}`,
        open: () => open(edge, device, expected),
      }))
    );
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    return edges.map((edge) => ({ edge, open: messageOf(error) }));
  }
}

function open(edge: string, device: OpenCLDevice, expected: Subject["expected"]): Subject {
  const choice = { platform: device.platform, device: device.name };
  const contexts = [OpenCLContext.open(choice), OpenCLContext.open(choice)];
  const ends = contexts.map((context) => new OpenCLEnd(context));
  const graph = new MapperGraph([host, ...contexts]);
  const fromHost = edge.startsWith("host");
  return {
    graph,
    source: fromHost ? hostEnd : ends[0],
    target: fromHost ? ends[0] : hostEnd,
    elsewhere: fromHost ? ends[1] : hostEnd,
    expected: fromHost ? expected : "as proven",
    gate: () => gateOf(contexts[0]),
    quiet: () => ends.forEach((end) => end.quiet()),
    [Symbol.dispose]() {
      using all = new DisposableStack();
      for (const one of [...contexts, ...ends, graph]) all.use(one);
    },
  };
}

/** OpenCL's end of an edge: kernels write and read, one with samepage's checks and one without. */
export class OpenCLEnd implements End, Disposable {
  readonly target: Context;
  readonly #copy: OpenCLKernel;
  /** Keeps the handle that the raw queue uses. */
  readonly #rawCopy: OpenCLKernel;
  readonly #raw: RawQueue;

  constructor(context: Context) {
    this.target = context;
    const program = context.program(SOURCE);
    this.#copy = program.kernel("copy");
    this.#rawCopy = program.kernel("copy");
    this.#raw = new RawQueue(context.handle, context.device.handle);
  }

  /** The queue keeps the last command's event; the last one has to go well, or waiting for it would fail. */
  quiet(): void {
    using scratch = this.#scratch(1);
    this.target.queue.write(scratch, new Uint8Array(1));
    this.target.queue.finish();
  }

  allocate(init: LayoutInit): OpenCLTensor {
    return this.target.allocate(init);
  }

  allocateFrame(info: ImageInfo): Frame<OpenCLTensor> {
    return Frame.of(planeLayouts(info).map((plane) => this.target.allocate({ ...plane, byteOffset: 0 })), info);
  }

  submit(tensor: OpenCLTensor, bytes: Uint8Array): Fence {
    using from = this.#scratch(bytes.length);
    this.target.queue.write(from, bytes);
    this.#run(tensor, from);
    return this.target.queue.fence();
  }

  async write(tensor: OpenCLTensor, bytes: Uint8Array): Promise<void> {
    await using whole = asBytes(tensor);
    await using from = this.#scratch(bytes.length);
    this.target.queue.write(from, bytes);
    this.#run(whole, from);
  }

  async read(tensor: OpenCLTensor): Promise<Uint8Array> {
    await using whole = asBytes(tensor, "read");
    using to = this.#scratch(tensor.layout.byteLength);
    this.#run(to, whole);
    const bytes = new Uint8Array(tensor.layout.byteLength);
    this.target.queue.read(to, bytes);
    return bytes;
  }

  readonly raw = {
    write: (tensor: OpenCLTensor, bytes: Uint8Array) =>
      this.#raw.from(bytes.slice(), (from) => this.#runRaw(placeOf(tensor), [from, 0n], bytes.length)),
    read: (tensor: OpenCLTensor) => {
      const { byteLength } = tensor.layout;
      return Promise.resolve(
        this.#raw.to(byteLength, (to) => this.#runRaw([to, 0n], placeOf(tensor), byteLength)),
      );
    },
  };

  [Symbol.dispose](): void {
    this.#raw[Symbol.dispose]();
  }

  #scratch(byteLength: number): OpenCLTensor {
    return this.target.allocate({ shape: [byteLength], dtype: "u8" });
  }

  #runRaw(to: Place, from: Place, length: number): bigint {
    return this.#raw.run(this.#rawCopy.handle, [length], [...to, ...from].map((word) => words([word])));
  }

  #run(to: OpenCLTensor, from: OpenCLTensor): void {
    const args = [to, from].flatMap((tensor) => [new BaseOf(tensor), tensor.layout.byteOffset]);
    this.#copy.run([to.layout.byteLength], args);
  }
}

/** The tensor's whole range, padding included, as the bytes that it is. */
function asBytes(tensor: OpenCLTensor, access = tensor.access): OpenCLTensor {
  const { byteOffset, byteLength } = tensor.layout;
  return tensor.slice({ shape: [byteLength], dtype: "u8", strides: [1], byteOffset, byteLength }, { access });
}

/** A `cl_mem`, and an offset into it. */
type Place = readonly [mem: bigint, offset: bigint];

function placeOf(tensor: OpenCLTensor): Place {
  return [tensor.rawHandle, BigInt(tensor.layout.byteOffset)];
}

/** A gate of a user event. */
export function gateOf(context: Context): Gate {
  const event = context.userEvent();
  return {
    fence: event.fence,
    open: () => event.complete(),
    fail: () => event.fail(),
    [Symbol.dispose]: () => event[Symbol.dispose](),
  };
}
