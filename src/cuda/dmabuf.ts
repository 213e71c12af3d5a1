import { CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD } from "../../ffi/cuda_driver/constants.ts";
import { isMade } from "../core/argument.ts";
import type { Offer } from "../core/contract.ts";
import { PAGE } from "../core/native/blocks.ts";
import { closedOnExec, closeFd, statusOf } from "../core/native/fd.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { counted } from "../core/life/ledger.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { registerByHandle } from "../core/memory/peers.ts";
import { checks } from "./check.ts";
import type { CudaPrimaryContext } from "./base.ts";
import { checkDriver } from "./errors.ts";
import { cudaDriver } from "./library.ts";
import { cudaBlockOf, isPooled } from "./memory/block.ts";
import { assertAllowed, refusalOf } from "./memory/rules.ts";
import { CudaTensor } from "./tensor.ts";

const FN = "cuMemGetHandleForAddressRange";
const KIND = "cuda.dmabuf_fd";

const out = new Int32Array(1);

/** A dma-buf of a tensor's bytes. It owns its fd. */
export class CudaDmaBuf extends NativeObject {
  /** Its length in bytes. */
  readonly byteLength: number;
  /** Its end of life, which comes before the tensor's. */
  readonly resource: Resource;
  readonly #fd: number;

  /** Made by `cuda.exportDmaBuf()`. */
  constructor(context: CudaPrimaryContext, tensor: CudaTensor) {
    super();
    assertExportable(context, tensor);
    const { layout: { byteLength } } = tensor;
    const fd = dmaBufFd(context, tensor, byteLength);
    this.#fd = fd;
    this.byteLength = byteLength;
    const owners = [tensor.resource, context.resource];
    const undo: Undo = [counted(KIND, () => closeFd(fd))];
    allOrNothing("exporting a dma-buf", () => {
      const { allocation, start } = tensor.grant;
      registerByHandle("dma-buf", statusOf(fd).identity, allocation, start); // attaching it makes a peer of the tensor
    }, undo);
    this.resource = new Resource({ name: `dma-buf of ${tensor.name}`, owners, undo });
    finalizers.register(this, this.resource, this);
  }

  /** The fd, which this object closes. */
  get fd(): number {
    this.resource.assertLive();
    return this.#fd;
  }
}

export function dmaBufFd(context: CudaPrimaryContext, { address }: CudaTensor, byteLength: number): number {
  return context.within(() => {
    const fn = cudaDriver()[FN];
    checkDriver(fn(out, address, BigInt(byteLength), CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0n), FN);
    return closedOnExec(out[0]);
  });
}

export function dmaBufOffer({ device }: CudaPrimaryContext): Offer {
  return {
    kind: "dma-buf",
    refuse({ allocation, start, byteLength }) {
      const block = cudaBlockOf(allocation);
      if (block === undefined || isPooled(allocation) || block.ordinal !== device.ordinal) return NOT_OWN;
      const refusal = refusalOf(block.memory, "export-dma-buf", device);
      if (refusal !== undefined) return refusal;
      const first = (block.deviceAddress ?? 0n) + BigInt(start);
      return first % BigInt(PAGE) === 0n && byteLength % PAGE === 0 ? undefined : NOT_PAGES;
    },
  };
}

const NOT_OWN = {
  reason: "it is not an allocation of its own on this device.",
  remedy: "Allocate it by cuda.allocate() or cuda.virtual.allocate().",
};

const NOT_PAGES = {
  reason: `it is not whole pages, and a dma-buf has pages of ${PAGE} bytes.`,
  remedy: `Make its length a multiple of ${PAGE}, and its offset.`,
};

/** The rules of cuMemGetHandleForAddressRange: device memory in whole pages. */
function assertExportable(context: CudaPrimaryContext, tensor: CudaTensor): void {
  if (!isMade(tensor, CudaTensor)) throw checks.wrongKind("tensor", "a tensor of memory of the device", tensor);
  context.resource.assertLive();
  tensor.assertUsable(tensor.access);
  assertAllowed(tensor.memory, "export-dma-buf", context.device);
  if (tensor.hostHandle !== undefined || tensor.context !== context || isPooled(tensor.grant.allocation)) {
    const what = `${tensor.name} is not an allocation of its own on ${context.name}.`;
    throw checks.wrong("tensor", what, "Allocate it by cuda.allocate() or cuda.virtual.allocate().");
  }
  const { address, layout: { byteLength } } = tensor;
  if (address % BigInt(PAGE) === 0n && byteLength % PAGE === 0) return;
  throw checks.unfit(
    "tensor",
    `${byteLength} bytes at 0x${address.toString(16)} are not whole pages: a dma-buf has pages of ${PAGE} bytes.`,
    `Make its length a multiple of ${PAGE}, and its offset.`,
    FN,
  );
}
