import type { Address } from "../../../ffi/address.ts";
import { CL_FALSE, CL_TRUE } from "../../../ffi/opencl/constants.ts";
import type { Call, Memory, Offer, Staged } from "../../core/contract.ts";
import { Port } from "../../core/device/port.ts";
import type { MemoryClass, Proofs } from "../../core/device/proofs.ts";
import { whyEnded } from "../../core/graph/mapper.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { mapBlock, PAGE } from "../../core/native/blocks.ts";
import type { TensorInit } from "../../core/tensors/tensor.ts";
import type { ByteRange } from "../../core/tensors/described.ts";
import type { BaseContext } from "../base_context.ts";
import type { ClLane } from "../lane.ts";
import type { QueuedContext } from "../pointers/context.ts";
import type { OpenCLPointerTensor } from "../pointers/tensor.ts";
import { type UsmBlock, type UsmKind, usmOf } from "./block.ts";

interface Unified<C extends BaseContext> {
  readonly context: QueuedContext & { readonly proofs: Proofs<C> };
  blockOf(allocation: Allocation): UsmBlock | undefined;
  classOf(kind: Exclude<UsmKind, "device">): MemoryClass<C>;
}

const FAR = "memory of the device, which the CPU cannot reach";

/** Host and shared memory by its address; device memory by a copy (clEnqueueMemcpyINTEL). */
export function usmPorts<T extends OpenCLPointerTensor, C extends BaseContext>(
  usm: Unified<C>,
  tensor: (init: TensorInit<Address>) => T,
): Memory<T, Address> {
  const { context } = usm;
  const refuseOther = ({ allocation }: ByteRange) =>
    usm.blockOf(allocation) === undefined ? { reason: `it is no memory of ${context.name}.` } : undefined;
  /** Only for memory that is not refused. */
  const classOf = ({ allocation }: ByteRange) => {
    const { usm: kind } = usm.blockOf(allocation)!;
    return usm.classOf(kind as Exclude<UsmKind, "device">);
  };
  const byAddress: Offer = {
    kind: "host-view",
    refuse: (range) =>
      refuseOther(range) ?? (usm.blockOf(range.allocation)!.usm === "device" ? { reason: `it is ${FAR}.` } : undefined),
    prepare: (range) => context.proofs.tryToProve(classOf(range)),
    judge: (range) => context.proofs.judge(classOf(range)),
  };
  const byCopy: Offer = {
    kind: "host-view",
    transfer: "copy",
    refuse: refuseOther,
    judge: () => ({ aliases: false, evidence: FAR }),
    stage: (tensor, byteLength) => staged(context, (tensor as OpenCLPointerTensor).address, byteLength),
  };
  return {
    exports: [byAddress, byCopy],
    imports: [],
    get line() {
      return context.queue.line;
    },
    refuse: () => whyEnded(context),
    tensor,
    export: ({ address }, kind, byteLength) => ({ port: new Port(kind, { value: address, byteLength }) }),
  };
}

function staged({ device }: BaseContext, address: Address, byteLength: number): Staged {
  const { clEnqueueMemcpyINTEL: enqueue } = usmOf(device);
  const length = BigInt(byteLength);
  const copy = (to: Address, from: Address, blocks: boolean): Call<ClLane> => ({
    fn: "clEnqueueMemcpyINTEL",
    blocks,
    call: ({ queue, waitCount, waitList, slot }) =>
      enqueue(queue, blocks ? CL_TRUE : CL_FALSE, to, from, length, waitCount, waitList, slot),
  });
  const block = mapBlock({ byteLength, align: PAGE, sharable: false, guard: false });
  return {
    block,
    there: () => copy(block.address, address, true),
    back: () => copy(address, block.address, false),
  };
}
