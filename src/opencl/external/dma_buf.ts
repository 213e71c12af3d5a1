import { NULL } from "../../../ffi/address.ts";
import { CL_MEM_READ_WRITE } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import type { Exported, Offer } from "../../core/contract.ts";
import { Port } from "../../core/device/port.ts";
import { UNPROVEN } from "../../core/device/proofs.ts";
import { messageOf, type Reason } from "../../core/errors.ts";
import { thenUndo } from "../../core/life/undo.ts";
import { PAGE } from "../../core/native/blocks.ts";
import { duplicateFd, isDmaBuf, statusOf } from "../../core/native/fd.ts";
import type { ByteRange } from "../../core/tensors/described.ts";
import type { BaseContext } from "../base_context.ts";
import type { ShowingContext } from "../buffers/host_view.ts";
import { own } from "../buffers/native.ts";
import type { BufferTensor, RootBuffer } from "../buffers/tensor.ts";
import { errcode, made } from "../errors.ts";
import { infoU64 } from "../info.ts";
import { opencl } from "../library.ts";
import { lackingForMemory, MEMORY_HANDLES } from "./handles.ts";

/** Intel's GPU driver reports the dma-buf of a buffer's memory by it. No public header has it. */
const CL_MEM_ALLOCATION_HANDLE_INTEL = 0x10050;

/** The driver rounds memory up to this. In longer memory a buffer is one of several, and no query says where it lies. */
const GRANULE = 64 * 1024;

const [, DMA_BUF] = MEMORY_HANDLES;

/** The dma-buf of a buffer, or why it has none. */
type Handle = number | Reason;

/**
 * Asked once: the driver may make a new fd at each query, or keep one, and releases what it keeps with the buffer. So this
 * fd is never closed here, and never handed on.
 */
const handles = new WeakMap<RootBuffer, Handle>();

/** The context's own buffers as dma-bufs. cl_khr_external_memory imports alone: it is Intel's query that exports. */
export function dmaBufOffer(context: ShowingContext): Offer {
  let found: { readonly reason?: Reason | undefined } | undefined;
  const find = (range: ByteRange) => range.address === undefined ? context.memory.find(range)?.root : undefined;
  return {
    kind: "dma-buf",
    closed: () => (found ??= { reason: closed(context) }).reason,
    prepare(range) {
      const root = find(range);
      if (root === undefined || handles.has(root)) return;
      handles.set(root, handleOf(root.mem, range.allocation.block.byteLength));
    },
    refuse(range) {
      const root = find(range);
      if (root === undefined) return HOST_MEMORY;
      const handle = handles.get(root);
      return typeof handle === "object" ? handle : undefined;
    },
    judge: () => UNPROVEN,
  };
}

const HOST_MEMORY: Reason = {
  reason: "the buffer is over host memory, which is not a dma-buf of the device's.",
  remedy: "Map the tensor that it was mapped from, or allocate the buffer here: cl.allocate().",
};

/** A new fd of the buffer's memory. {@link Offer.prepare} has asked for it. */
export function asDmaBuf({ root, rootOffset: offset }: BufferTensor, byteLength: number): Exported {
  return { port: new Port("dma-buf", { fd: duplicateFd(handles.get(root) as number), offset, byteLength }) };
}

function closed(context: BaseContext): Reason | undefined {
  const problem = lackingForMemory(context, DMA_BUF);
  if (problem !== undefined) return { reason: problem };
  try {
    const tried = thenUndo("looking for handles of buffers", (undo) => {
      const fn = "clCreateBuffer";
      const mem = opencl()[fn](context.rawHandle, CL_MEM_READ_WRITE, BigInt(PAGE), NULL, errcode);
      return handleOf(own(made(mem, fn), undo), undefined);
    });
    return typeof tried === "number" ? undefined : tried;
  } catch (error) {
    return { reason: messageOf(error) };
  }
}

function handleOf(mem: ClMem, byteLength: number | undefined): Handle {
  const fn = "clGetMemObjectInfo";
  let fd: number;
  try {
    fd = Number(infoU64(fn, (...query) => opencl()[fn](mem, ...query), CL_MEM_ALLOCATION_HANDLE_INTEL));
  } catch (error) {
    return { reason: `the driver reports no handle of a buffer's memory: ${messageOf(error)}` };
  }
  if (!isDmaBuf(fd)) return { reason: "the handle that the driver reports of a buffer's memory is not a dma-buf." };
  const there = byteLength === undefined ? undefined : statusOf(fd).byteLength;
  if (there === undefined || (byteLength! <= there && there < byteLength! + GRANULE)) return fd;
  return {
    reason: `the buffer has ${byteLength} bytes, and lies somewhere in memory of ${there}.`,
    remedy: "Allocate a larger buffer: the driver puts small ones into a pool.",
  };
}
