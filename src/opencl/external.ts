import { whyEnded } from "../core/graph/mapper.ts";
import { GlPort } from "../gl/port.ts";
import type { Imported, Memory, Offer } from "../core/contract.ts";
import { UNPROVEN } from "../core/device/proofs.ts";
import { Port } from "../core/device/port.ts";
import type { Access } from "../core/memory/access.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import { importFor } from "../core/memory/imports.ts";
import type { ByteRange } from "../core/tensors/described.ts";
import type { Reason } from "../core/errors.ts";
import type { BaseQueue } from "./base_context.ts";
import { hostView, hostViewOffer, refuseHostView, type ShowingContext } from "./buffers/host_view.ts";
import { asDmaBuf, dmaBufOffer } from "./external/dma_buf.ts";
import { GlBuffer, ordersGl, refuseGl, refuseOtherGl } from "./external/gl.ts";
import { lackingForMemory, MEMORY_HANDLES } from "./external/handles.ts";
import { ExternalBuffer } from "./external/memory.ts";
import { OpenCLTensor } from "./tensor.ts";
import { copiesOn } from "./external/copies.ts";

type ForeignBuffer = ExternalBuffer | GlBuffer;

interface ImportingContext extends ShowingContext {
  readonly queue: BaseQueue;
}

/** Imports memory of other APIs by POSIX fds (cl_khr_external_memory), and exports buffers to the host, as dma-bufs, and as they are. */
export class OpenCLExternalMemory {
  /** Its ports: to the host, and to others by a dma-buf or by the `cl_mem`; from others by an opaque fd or a dma-buf, or the reason why not. */
  readonly ports: Memory<OpenCLTensor>;
  readonly #context: ImportingContext;

  /** Made by the context. */
  constructor(context: ImportingContext) {
    this.#context = context;
    const ports: Memory<OpenCLTensor, ForeignBuffer> = {
      denseCopy: "cl.queue.copy(tensor, cl.allocate({ shape, dtype }))",
      exports: [hostViewOffer(context), dmaBufOffer(context), { kind: "cl_mem" }],
      imports: [...MEMORY_HANDLES.flatMap((handle) => this.#offers(handle)), this.#glOffer()],
      get line() {
        return context.queue.line;
      },
      refuse: ({ target, range }, access) => {
        const ended = whyEnded(context);
        if (ended !== undefined || target === context) {
          return ended ?? this.#refuseForeign(range) ?? refuseHostView(context, range, access);
        }
        return target.context.api === context.gl?.api ? refuseOtherGl(context, target.context) : undefined;
      },
      export(tensor, kind, byteLength, access, gaps) {
        if (kind === "dma-buf") return asDmaBuf(tensor, byteLength);
        if (kind !== "cl_mem") return hostView(context, tensor, byteLength, access, gaps);
        const { rawHandle: value, layout: { byteOffset: offset } } = tensor;
        return { port: new Port(kind, { value, offset, byteLength }) };
      },
      import: (port: Port, _access: Access, of?: Allocation) =>
        port instanceof GlPort ? this.#importGl(port, of!) : this.#import(port, of),
      tensor({ handle: buffer, layout, ...about }) {
        const { handle, ...part } = buffer.part(layout);
        return new OpenCLTensor({ ...about, root: buffer.root, handle, ...part });
      },
      copies: copiesOn(context),
    };
    this.ports = ports;
  }

  /** Marks memory that may come here. */
  readonly #prepare = ({ allocation }: ByteRange): void => {
    allocation.attachment(this.#context.memory.space.foreign, () => true);
  };

  /** Memory of another API that comes here by its fd is that API's to show to the host. */
  #refuseForeign({ allocation, address }: ByteRange): Reason | undefined {
    if (address !== undefined || allocation.findAttachment(this.#context.memory.space.foreign) !== true) {
      return undefined;
    }
    return {
      reason: "it is memory of another API.",
      remedy: "Map the tensor to the host that it was mapped from.",
    };
  }

  #offers(handle: (typeof MEMORY_HANDLES)[number]): Offer[] {
    const { kind } = handle;
    const problem = lackingForMemory(this.#context, handle);
    if (problem !== undefined) return [{ kind, closed: () => ({ reason: problem }) }];
    const offer = { kind, prepare: this.#prepare, blocks: true };
    if (kind === "dma-buf") return [{ ...offer, verdict: UNPROVEN }]; // no device was seen to take one
    const { id: { uuid }, device: { platform } } = this.#context;
    const own = { ...offer, device: uuid === undefined ? {} : { uuid } };
    // NVIDIA's driver takes memory of cuMemCreate from another GPU, and refuses Vulkan's: seen on two H200s.
    return platform === "NVIDIA CUDA" ? [own, { ...offer, from: "cuda.virtual" }] : [own];
  }

  #glOffer(): Offer {
    const [kind, closed] = ["gl-buffer", refuseGl(this.#context)];
    if (closed !== undefined) return { kind, closed: () => closed };
    return { kind, blocks: true, orders: ordersGl(this.#context), prepare: this.#prepare };
  }

  #importGl(port: GlPort, of: Allocation): Imported<GlBuffer> {
    const context = this.#context;
    const buffer = importFor(context.queue.resource, of, () => new GlBuffer(context, port));
    const { byteLength } = of.block;
    return {
      ...buffer.use(true),
      handle: buffer,
      object: { kind: "cl_mem", handle: buffer.root.mem, byteLength, start: port.offset },
    };
  }

  /** @param of the exporter's block, if it is of this process: all of it is imported, once. */
  #import(port: Port, of: Allocation | undefined): Imported<ExternalBuffer> {
    const context = this.#context;
    const { kind, offset: start } = port;
    const byteLength = port.wholeLength(of?.block, "opencl");
    const { property } = MEMORY_HANDLES.find((handle) => handle.kind === kind)!;
    const make = () => new ExternalBuffer(context, property, port.takeFd(), byteLength);
    const buffer = of === undefined ? make() : importFor(context.queue.resource, of, make);
    return {
      ...buffer.use(of !== undefined),
      handle: buffer,
      object: { kind: "cl_mem", handle: buffer.root.mem, byteLength, start },
    };
  }
}
