import { CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD } from "../../ffi/cuda_driver/constants.ts";
import { isMade } from "../core/argument.ts";
import { PAGE } from "../core/native/blocks.ts";
import { LayoutError } from "../core/errors.ts";
import { closedOnExec, closeFd } from "../core/native/fd.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { ledger } from "../core/life/ledger.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { checks } from "./check.ts";
import type { CudaContext } from "./context.ts";
import { checkDriver } from "./errors.ts";
import { cudaDriver } from "./library.ts";
import { isPooled } from "./memory/block.ts";
import { assertAllowed } from "./memory/rules.ts";
import { CudaTensor } from "./tensor.ts";

const FN = "cuMemGetHandleForAddressRange";
const KIND = "cuda.dmabuf_fd";

const out = new Int32Array(1);

/** A dma-buf of a tensor's bytes. It owns its fd. */
export class CudaDmaBuf extends NativeObject {
  /** Its length in bytes. */
  readonly byteLength: number;
  /** Its end of life: it ends before the tensor. */
  readonly resource: Resource;
  readonly #fd: number;

  /** Made by `cuda.exportDmaBuf()`. */
  constructor(context: CudaContext, tensor: CudaTensor) {
    super();
    assertExportable(context, tensor);
    const { address, layout: { byteLength } } = tensor;
    const fd = context.within(() => {
      const fn = cudaDriver()[FN];
      checkDriver(fn(out, address, BigInt(byteLength), CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0n), FN);
      return closedOnExec(out[0]);
    });
    ledger.add(KIND);
    this.#fd = fd;
    this.byteLength = byteLength;
    const undo = [() => {
      ledger.remove(KIND);
      closeFd(fd);
    }];
    const owners = [tensor.resource, context.resource];
    this.resource = new Resource({ name: `dma-buf of ${tensor.name}`, owners, undo });
    finalizers.register(this, this.resource, this);
  }

  /** The fd, which this object closes. */
  get fd(): number {
    this.resource.assertLive();
    return this.#fd;
  }
}

/** The rules of cuMemGetHandleForAddressRange: device memory in whole pages. */
function assertExportable(context: CudaContext, tensor: CudaTensor): void {
  if (!isMade(tensor, CudaTensor)) throw checks.wrongKind("tensor", "a tensor of memory of the device", tensor);
  context.resource.assertLive();
  tensor.assertUsable(tensor.access);
  assertAllowed(tensor.memory, "export-dma-buf", context.device);
  if (tensor.hostHandle !== undefined || tensor.context !== context || isPooled(tensor.grant.allocation)) {
    const what = `${tensor.name} is no memory of ${context.name} that has been allocated for itself.`;
    throw checks.wrong("tensor", what, "Allocate it by cuda.allocate() or cuda.virtual.allocate().");
  }
  const { address, layout: { byteLength } } = tensor;
  if (address % BigInt(PAGE) === 0n && byteLength % PAGE === 0) return;
  throw new LayoutError(
    `tensor: ${byteLength} bytes at 0x${
      address.toString(16)
    } are not whole pages: a dma-buf has pages of ${PAGE} bytes.`,
    { api: "cuda", fn: FN, argument: "tensor", hint: `Make its length a multiple of ${PAGE}, and its offset.` },
  );
}
