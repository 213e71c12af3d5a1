import type { Address } from "../../ffi/address.ts";
import type { DPCTLSyclEventRef } from "../../ffi/sycl/handles.ts";
import { MapperGraph } from "../../mod.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import type { ImageInfo } from "../../src/core/layout/frame_info.ts";
import type { LayoutInit } from "../../src/core/layout/layout.ts";
import type { Target } from "../../src/core/graph/context.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import type { UsmKind } from "../../src/core/tensors/unified.ts";
import { host } from "../../src/host/mod.ts";
import { OpenCLContext } from "../../src/opencl/mod.ts";
import { sycl } from "../../src/sycl/library.ts";
import { SyclContext, type SyclKernel, type SyclQueue, type SyclTensor } from "../../src/sycl/mod.ts";
import { alive, isStandIn, openSycl, UNREPORTED } from "../sycl/open.ts";
import { asBytes, bytesAt, separateFrame } from "./bytes.ts";
import { hostEnd } from "./host_end.ts";
import { objectsIn } from "./opencl_end.ts";
import { usmEnd } from "./svm.ts";
import type { Candidate, End, Foreign, RawEnd, Subject } from "./subject.ts";

const USM_TO_HOST = "sycl.usm→host";
const HOST_TO_USM = "host→sycl.usm";
const TO_OPENCL = "sycl.usm→opencl.usm";
const FROM_OPENCL = "opencl.usm→sycl.usm";

const missing = await openSycl();

/** The edges between the host and SYCL's memory, on the stand-in of the tests, or by a real DPCTL on Intel's drivers. */
export function sycls(): Candidate[] {
  if (missing !== undefined) {
    return [USM_TO_HOST, HOST_TO_USM, TO_OPENCL, FROM_OPENCL].map((edge) => ({ edge, open: `there is no ${missing}` }));
  }
  const device = isStandIn() ? "stand-in" : "Intel";
  return [
    ...(["host", "shared", "device"] as const).map((kind, i): Candidate => ({
      edge: USM_TO_HOST,
      device: `${device}, ${kind}`,
      open: () => open(USM_TO_HOST, kind),
      covered: i === 1,
      openedElsewhere: i > 0,
    })),
    { edge: HOST_TO_USM, device: `${device}, system`, open: () => open(HOST_TO_USM, "host"), openedElsewhere: true },
    ...[TO_OPENCL, FROM_OPENCL].map((edge): Candidate => ({
      edge,
      device: `${device}, shared`,
      openedElsewhere: true,
      open: isStandIn() ? "the stand-in is not a driver of OpenCL's" : () => openBeside(edge),
    })),
  ];
}

/** OpenCL's memory and SYCL's in one `cl_context`; what comes from elsewhere has another. */
function openBeside(edge: string): Subject {
  using made = new DisposableStack();
  const contexts = [0, 1].map(() => made.use(OpenCLContext.open({ platform: "Intel" })));
  const sycls = contexts.map((on) => made.use(SyclContext.open({ on })));
  const graph = made.use(new MapperGraph([host, ...contexts, ...sycls]));
  const ours = sycls.map((context) => made.use(new SyclEnd(context, "shared")));
  const theirs = contexts.map((context) => made.use(usmEnd(context, "shared")));
  const [sources, targets] = edge === TO_OPENCL ? [ours, theirs] : [theirs, ours];
  const kept = made.move();
  return {
    graph,
    source: sources[0],
    target: targets[0],
    expected: "alias",
    withoutCalls: true,
    alive: () => objectsIn(...contexts),
    quiet: () => theirs.forEach((end) => end.quiet()),
    silent: ["sycl.DPCTLQueue_SubmitBarrierForEvents"],
    silentAtOpening: UNREPORTED,
    openContext: () => SyclContext.open({ on: contexts[0] }),
    [Symbol.dispose]: () => kept.dispose(),
  };
}

function openContext(): SyclContext {
  return isStandIn() ? SyclContext.open() : SyclContext.open({ platform: "Intel" });
}

function open(edge: string, kind: UsmKind): Subject {
  using made = new DisposableStack();
  const contexts = [0, 1].map(() => made.use(openContext()));
  const graph = made.use(new MapperGraph([host, ...contexts]));
  const ends = contexts.map((context) => made.use(new SyclEnd(context, kind)));
  const fromHost = edge === HOST_TO_USM;
  const kept = made.move();
  return {
    graph,
    source: fromHost ? hostEnd : ends[0],
    target: fromHost ? ends[0] : hostEnd,
    elsewhere: fromHost ? ends[1] : hostEnd,
    expected: kind === "device" ? "copy" : "as proven",
    ...(kind === "device" ? {} : { withoutCalls: true }),
    silent: ["sycl.DPCTLQueue_SubmitBarrierForEvents"], // the host waits then
    silentAtOpening: UNREPORTED,
    openContext,
    alive,
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/** So many bytes are copied in front of work that is to come late, which takes some milliseconds. */
const BALLAST = 16 * 2 ** 20;

/** The stand-in knows it by its name. */
const SOURCE = `
kernel void copy(global uchar* to, ulong at, global const uchar* from, ulong begin) {
  to[at + get_global_id(0)] = from[begin + get_global_id(0)];
}`;

/** SYCL's end of an edge. */
class SyclEnd implements End, Disposable {
  readonly target: Target;
  readonly hidden: boolean;
  readonly #context: SyclContext;
  readonly #kind: UsmKind;
  readonly #late: SyclQueue;
  readonly #ballast: readonly SyclTensor[];
  readonly #copy: SyclKernel;
  readonly raw: RawEnd;

  constructor(context: SyclContext, kind: UsmKind) {
    this.target = context.usm;
    this.hidden = kind === "device";
    this.#context = context;
    this.#kind = kind;
    this.#late = context.createQueue();
    this.#ballast = [0, 1].map(() => context.usm.allocate({ kind: "device", shape: [BALLAST], dtype: "u8" }));
    this.#copy = context.program(SOURCE).kernel("copy", ["global void*", "ulong", "global const void*", "ulong"]);
    this.raw = rawOf(this.#late, kind);
  }

  allocate(init: LayoutInit): Tensor {
    return this.#context.usm.allocate({ ...init, kind: this.#kind });
  }

  allocateFrame(info: ImageInfo): Frame {
    return separateFrame((init) => this.allocate(init), info);
  }

  foreign(): Foreign {
    const { usm, native, queue } = this.#context;
    const pointer = sycl()[`DPCTLaligned_alloc_${this.#kind}`](0n, 4096n, queue.line.lane.handle);
    const elsewhere = new Uint8Array(4096);
    return {
      attach: (options) => usm.attach(pointer, { shape: [4096], dtype: "u8" }, options),
      misfit: (options) => usm.attach(addressOf(elsewhere, "sycl"), { shape: [4096], dtype: "u8" }, options),
      [Symbol.dispose]: () => sycl().DPCTLfree_with_context(pointer, native.handle),
    };
  }

  submit(tensor: Tensor, bytes: Uint8Array): Fence {
    const from = this.#context.usm.allocate({ kind: "host", shape: [bytes.length], dtype: "u8" });
    this.#context.queue.write(from, bytes);
    const [one, other] = this.#ballast;
    this.#late.copy(one, other);
    this.#copy.run({ items: [bytes.length] }, [tensor as SyclTensor, 0, from, 0], { queue: this.#late });
    const fence = this.#late.fence();
    from.disposeAfter(fence);
    return fence;
  }

  async write(tensor: Tensor, bytes: Uint8Array): Promise<void> {
    await using whole = asBytes(tensor as SyclTensor);
    this.#context.queue.write(whole, bytes);
  }

  async read(tensor: Tensor): Promise<Uint8Array> {
    await using whole = asBytes(tensor as SyclTensor, "read");
    const bytes = new Uint8Array(tensor.layout.byteLength);
    this.#context.queue.read(whole, bytes);
    return bytes;
  }

  /** The queue and the kernel end with the context. */
  [Symbol.dispose](): void {
    this.#ballast.forEach((each) => each[Symbol.dispose]());
  }
}

/** Past all checks: DPCTL's own calls. */
function rawOf({ line: { lane: { handle: queue } } }: SyclQueue, kind: UsmKind): RawEnd {
  const placeOf = ({ rawHandle, layout }: Tensor) => (rawHandle as bigint) + BigInt(layout.byteOffset) as Address;
  const ended = (event: DPCTLSyclEventRef) => {
    sycl().DPCTLEvent_WaitAndThrow(event);
    sycl().DPCTLEvent_Delete(event);
  };
  const copy = (to: Address, from: Address, length: number) =>
    sycl().DPCTLQueue_Memcpy(queue, to, from, BigInt(length));
  return {
    write(tensor, bytes) {
      const own = bytes.slice();
      const event = copy(placeOf(tensor), addressOf(own, "sycl"), own.length);
      // deno-lint-ignore require-await
      return async () => {
        ended(event);
        own.fill(0); // it stays until here
      };
    },
    read(tensor) {
      const bytes = new Uint8Array(tensor.layout.byteLength);
      ended(copy(addressOf(bytes, "sycl"), placeOf(tensor), bytes.length));
      return Promise.resolve(bytes);
    },
    ...(kind === "device" ? {} : {
      look: (tensor: Tensor) => bytesAt(placeOf(tensor), tensor.layout.byteLength),
    }),
  };
}
