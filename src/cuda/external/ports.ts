import type { Address } from "../../../ffi/address.ts";
import { cudaMemcpyDefault, cudaStreamLegacy } from "../../../ffi/cuda_runtime/constants.ts";
import type { CudaStream as StreamHandle } from "../../../ffi/cuda_runtime/handles.ts";
import type { Imported, Memory, Offer } from "../../core/contract.ts";
import type { SampleClass } from "../../core/device/proofs.ts";
import { GlPort } from "../../gl/port.ts";
import { Port } from "../../core/device/port.ts";
import type { DeviceId } from "../../core/device/device_id.ts";
import type { Access } from "../../core/memory/access.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import type { Undo } from "../../core/life/undo.ts";
import { Imports } from "../../core/memory/imports.ts";
import { addressOf } from "../../core/native/pin.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { check } from "../errors.ts";
import { glResourceOf } from "../egl/gl_resource.ts";
import { cudart } from "../library.ts";
import { cudaBlockOf } from "../memory/block.ts";
import { pinnedBlock, pinnedFlags } from "../memory/pinned_block.ts";
import type { CudaVirtual, VirtualLocation } from "../memory/virtual.ts";
import { virtualBlockOf } from "../memory/virtual/block.ts";
import type { CudaStreamContext } from "../stream.ts";
import { CudaTensor } from "../tensor.ts";
import { copyCall } from "../transfers/copy.ts";
import { type ExternalMemory, importMemory } from "./memory.ts";

const KIND = "opaque-fd";

/** The ports of a GPU's memory: exports, and imports of other APIs' memory on the same GPU by its fd. `undo` releases those. */
export function devicePorts(
  context: CudaStreamContext,
  exports: Memory<CudaTensor>,
  undo: Undo,
): Memory<CudaTensor, Address> {
  const imports = new Imports<ExternalMemory>(undo);
  return {
    ...exports,
    exports: [...exports.exports, { kind: "host-view", transfer: "copy", verdict: FAR, stage: stageOn(context) }],
    imports: [
      { kind: KIND, device: onlyUuid(context), refuse: refuseOwn },
      { kind: "gl-buffer", device: onlyUuid(context), orders: true },
    ],
    get line() {
      return context.stream.line;
    },
    import: (port: Port, _access: Access, of?: Allocation) =>
      port instanceof GlPort ? glBuffer(context, port, of!) : imported(context, imports, port, of),
    tensor: (init) => new CudaTensor({ ...init, memory: "external" }),
    addressOf: () => undefined, // the CPU does not see it
    copies: copiesOf(context),
  };
}

const FAR = { aliases: false, evidence: "memory of the device, which the CPU cannot reach" };

/** Page-locked memory, to which the device copies faster. */
function stageOn(context: CudaStreamContext): NonNullable<Offer["stage"]> {
  return (tensor, byteLength) => {
    context.stream.line.resource.assertLive(); // while it ends, it takes only copies back
    const { address } = tensor as CudaTensor;
    const block = pinnedBlock(context, byteLength, pinnedFlags({}));
    return {
      block,
      there: () => copyCall(block.address, address, byteLength),
      back: () => copyCall(address, block.address, byteLength),
    };
  };
}

/** An OpenGL buffer, whose address is known once it is mapped. */
function glBuffer(context: CudaPrimaryContext, port: GlPort, of: Allocation): Imported<Address> {
  const resource = glResourceOf(context, of, port);
  return {
    ...resource.use(true),
    get handle() {
      return resource.address + BigInt(port.offset) as Address;
    },
  };
}

/** The ports of virtual memory: by its fd too, if it has one. */
export function virtualPorts(virtual: CudaVirtual, exports: Memory<CudaTensor>): Memory<CudaTensor> {
  const { context } = virtual;
  const samples = { device: sampleOf(virtual, "device"), host: sampleOf(virtual, "host") };
  const byFd: Offer = {
    kind: KIND, // importers decide about memory of another GPU, which some drivers map to other bytes
    refuse: ({ allocation }) => virtualBlockOf(allocation)?.duplicateFd === undefined ? NO_FD : undefined,
    sample: ({ allocation }) => samples[virtualBlockOf(allocation)?.hostAddress === undefined ? "device" : "host"],
  };
  return {
    exports: [byFd, ...exports.exports],
    imports: [],
    copies: copiesOf(context),
    export(tensor, kind, byteLength, access, gaps) {
      if (kind !== KIND) return exports.export!(tensor, kind, byteLength, access, gaps);
      const { grant: { allocation, start: offset } } = tensor;
      const fd = virtualBlockOf(allocation)!.duplicateFd!;
      const whole = { byteLength: allocation.block.byteLength };
      return { port: new Port(kind, { fd, offset, byteLength, whole }) };
    },
  };
}

/** @param of the exporter's block, if it belongs to this process: then all of it is imported, once */
function imported(
  context: CudaPrimaryContext,
  imports: Imports<ExternalMemory>,
  port: Port,
  of: Allocation | undefined,
): Imported<Address> {
  const byteLength = port.wholeLength(of?.block, "cuda");
  const { dedicated } = port;
  const make = () => importMemory(context, { fd: port.takeFd(), byteLength, dedicated });
  const memory = of === undefined ? make() : imports.of(of, make);
  const handle = memory.address + BigInt(port.offset) as Address;
  return of === undefined ? { handle, release: () => memory.release() } : { handle };
}

/** The device by its UUID, which every API that shares memory by fds reports. */
function onlyUuid({ id: { uuid } }: CudaPrimaryContext): DeviceId {
  return uuid === undefined ? {} : { uuid };
}

function refuseOwn({ allocation }: { readonly allocation: Allocation }): typeof OWN | undefined {
  return cudaBlockOf(allocation) === undefined ? undefined : OWN;
}

const OWN = {
  reason: "it is CUDA memory already.",
  remedy: "Pass its own tensor to the kernel.",
};

const NO_FD = {
  reason: "its memory was made without an fd.",
  remedy: "Allocate it with { sharable: true }.",
};

function sampleOf(virtual: CudaVirtual, location: VirtualLocation): SampleClass<CudaTensor> {
  return {
    name: `${location} memory of cuda.virtual by its fd`,
    make(byteLength, undo) {
      const tensor = virtual.allocate({ shape: [byteLength], dtype: "u8", location });
      undo.push(() => tensor[Symbol.dispose]());
      return tensor;
    },
  };
}

function copiesOf(context: CudaPrimaryContext): NonNullable<Memory<CudaTensor>["copies"]> {
  return {
    write: ({ address }, bytes) => copy(context, address, addressOf(bytes, "cuda"), bytes.length),
    read: ({ address }, into) => copy(context, addressOf(into, "cuda"), address, into.length),
  };
}

/** Copies bytes, and blocks. cudaMemcpy alone may return before host bytes have arrived on the device. */
function copy({ within }: CudaPrimaryContext, to: Address, from: Address, byteLength: number): void {
  within(() => {
    check(cudart().cudaMemcpy(to, from, BigInt(byteLength), cudaMemcpyDefault), "cudaMemcpy");
    check(cudart().cudaStreamSynchronize(cudaStreamLegacy as StreamHandle), "cudaStreamSynchronize");
  });
}
