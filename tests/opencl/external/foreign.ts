/**
 * Another API on the same device: its memory are memfds, which it exports as opaque fds, and it makes semaphores.
 *
 * @module
 */
import { NULL } from "../../../ffi/address.ts";
import type { Memory, MemoryTarget } from "../../../src/core/contract.ts";
import type { SampleClass } from "../../../src/core/device/proofs.ts";
import { Port } from "../../../src/core/device/port.ts";
import type { SemaphoreMaker } from "../../../src/core/device/line_sync.ts";
import type { Context, Target } from "../../../src/core/graph/context.ts";
import { layout, type LayoutInit } from "../../../src/core/layout/layout.ts";
import { Resource } from "../../../src/core/life/resource.ts";
import { Allocation } from "../../../src/core/memory/allocation.ts";
import { own } from "../../../src/core/memory/own.ts";
import { closeFd, duplicateFd } from "../../../src/core/native/fd.ts";
import { libc } from "../../../src/core/native/libc.ts";
import { mapPages, unmapPages } from "../../../src/core/native/blocks.ts";
import { bytesAt } from "../../../src/core/native/pin.ts";
import { Tensor } from "../../../src/core/tensors/tensor.ts";
import { someFd, UUID } from "./simulated.ts";

/** A block of its memory. */
interface ForeignBlock {
  readonly fd: number;
  /** What its own commands see. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A tensor of the API's. */
export class ForeignTensor extends Tensor<ForeignBlock> {
  /** Its bytes, as the API's own commands see them. */
  get bytes(): Uint8Array {
    const { start, end } = this.grant;
    return this.rawHandle.bytes.subarray(start, end);
  }
}

/** The context, and its only target. */
export class Foreign implements Context, MemoryTarget<ForeignTensor> {
  readonly api = "foreign";
  readonly kind = "foreign";
  readonly name = "foreign";
  readonly context: Context = this;
  readonly targets: readonly Target[] = [this];
  readonly resource: Resource = new Resource({ name: "foreign" });
  readonly id: { readonly uuid: string };
  readonly ports: Memory<ForeignTensor>;

  /** On the simulated device, or on another. */
  constructor(uuid: string = UUID) {
    this.id = { uuid };
    const sample: SampleClass<ForeignTensor> = {
      name: "foreign memory",
      make: (length, undo) => this.#sample(length, undo),
    };
    this.ports = {
      exports: [{ kind: "opaque-fd", device: { uuid }, sample: () => sample }],
      imports: [],
      copies: {
        write: ({ rawHandle: { bytes } }, from) => bytes.set(from),
        read: ({ rawHandle: { bytes } }, into) => into.set(bytes),
      },
      export({ rawHandle: { fd }, grant: { start: offset } }, kind, byteLength) {
        return { port: new Port(kind, { fd: duplicateFd(fd), offset, byteLength }) };
      },
    };
  }

  is(value: unknown): value is ForeignTensor {
    return value instanceof ForeignTensor;
  }

  allocate(init: LayoutInit): ForeignTensor {
    const at = layout(init);
    const byteLength = Math.ceil((at.byteOffset + at.byteLength) / 4096) * 4096;
    const fd = someFd();
    libc().ftruncate(fd, BigInt(byteLength));
    const address = mapPages(NULL, byteLength, fd);
    const bytes = bytesAt(address, byteLength, "foreign", []);
    const free = () => {
      unmapPages(address, byteLength);
      closeFd(fd);
    };
    const allocation = new Allocation({ kind: "foreign.block", byteLength, free });
    const [start, end] = [at.byteOffset, at.byteOffset + at.byteLength];
    const resource = own({ name: "foreign tensor", allocation, start, end, owners: [this.resource] });
    return new ForeignTensor({ target: this, handle: { fd, bytes }, layout: at, resource });
  }

  #sample(byteLength: number, undo: (() => void)[]): ForeignTensor {
    const tensor = this.allocate({ shape: [byteLength], dtype: "u8" });
    undo.push(() => tensor[Symbol.dispose]());
    return tensor;
  }

  [Symbol.dispose](): void {
    this.resource.dispose();
  }
}

/** Makes semaphores for others on the simulated device. */
export const maker: SemaphoreMaker = {
  name: "foreign",
  device: { uuid: UUID },
  kinds: ["binary-fd"],
  make(kind) {
    const fd = someFd();
    return { export: () => new Port(kind, { fd: duplicateFd(fd) }), release: () => closeFd(fd) };
  },
};
