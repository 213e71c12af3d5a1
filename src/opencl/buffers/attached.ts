import {
  CL_MEM_ALLOC_HOST_PTR,
  CL_MEM_ASSOCIATED_MEMOBJECT,
  CL_MEM_CONTEXT,
  CL_MEM_FLAGS,
  CL_MEM_HOST_PTR,
  CL_MEM_OBJECT_BUFFER,
  CL_MEM_OFFSET,
  CL_MEM_SIZE,
  CL_MEM_TYPE,
  CL_MEM_USE_HOST_PTR,
} from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import type { Access } from "../../core/memory/access.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import type { MemoryClass } from "../../core/device/proofs.ts";
import type { ByteRange } from "../../core/tensors/described.ts";
import type { ArgumentError } from "../../core/errors.ts";
import { layout, type LayoutInit } from "../../core/layout/layout.ts";
import { adopt, adoptHandle } from "../../core/memory/own.ts";
import { findPlace, join, leave, type Place as MemoryPlace } from "../../core/memory/peers.ts";
import { allOrNothing, type Undo } from "../../core/life/undo.ts";
import { DEVICE_MEMORY } from "../alias/memory.ts";
import type { Share } from "./host_buffers.ts";
import { limitsIn } from "./limits.ts";
import { checks, refused } from "../check.ts";
import type { BaseContext } from "../base_context.ts";
import { adoptDriverBuffer, driverBlock, type DriverBuffer, driverBuffer } from "./driver_buffers.ts";
import { infoU32, infoU64, type Query } from "../info.ts";
import { opencl } from "../library.ts";
import { ownTensor, type OwnTensorInit } from "./own_tensor.ts";
import { retainBuffer } from "./native.ts";
import type { OpenCLTensorInit } from "./tensor.ts";

interface Reported {
  readonly mem: ClMem;
  readonly byteLength: number;
  readonly flags: bigint;
  readonly parent: ClMem | undefined;
  readonly offset: number;
  readonly hostAddress: bigint | undefined;
}

interface Place extends Pick<OwnTensorInit, "allocation" | "start" | "root"> {
  readonly share?: Share;
}

export function attachedBuffer(
  context: BaseContext,
  given: bigint,
  init: LayoutInit,
  access: Access = "read-write",
): OpenCLTensorInit {
  const mem = checks.handleIn<ClMem>(given, "handle");
  const at = layout(init);
  context.resource.assertLive();
  const reported = reportOf(mem, context);
  checks.assertWithin(at, reported.byteLength, "init");
  const origin = reported.offset;
  const limits = limitsIn(reported.flags);
  return allOrNothing("attaching a buffer", (undo) => {
    const { allocation, start, root, share } = placeOf(
      reported.parent === undefined ? reported : reportOf(reported.parent, context),
      context,
      undo,
    );
    if (reported.parent !== undefined) retainBuffer(mem, undo);
    const tensor = ownTensor(context, {
      allocation,
      start: start + origin,
      handle: mem,
      root,
      origin,
      layout: at,
      access,
      limits,
      undo,
    });
    if (share !== undefined) share.holder = tensor.resource;
    return tensor;
  });
}

export function adoptedBuffer(context: BaseContext, allocation: Allocation, mem: ClMem): DriverBuffer {
  const reported = reportOf(mem, context);
  const root = reported.parent === undefined ? reported : reportOf(reported.parent, context);
  const place = findPlace("cl_mem", root.mem);
  if (place?.allocation === allocation) return rootIn(place, root, context);
  throw unfit("its memory is that of another buffer, or the host's.", "Map that instead.");
}

/** Describes a buffer. @throws {ArgumentError} for an image or pipe, and for a buffer of another context. */
function reportOf(mem: ClMem, context: BaseContext): Reported {
  const fn = "clGetMemObjectInfo";
  const query: Query = (name, size, value, written) => opencl().clGetMemObjectInfo(mem, name, size, value, written);
  if (infoU32(fn, query, CL_MEM_TYPE) !== CL_MEM_OBJECT_BUFFER) {
    throw unfit("expected a buffer, got another memory object.", "An image is not linear memory: it needs a format.");
  }
  if (infoU64(fn, query, CL_MEM_CONTEXT) !== context.rawHandle) {
    throw unfit("the buffer is of another context.", "Attach its own: BaseContext.attach(handle).");
  }
  const flags = infoU64(fn, query, CL_MEM_FLAGS);
  const parent = infoU64(fn, query, CL_MEM_ASSOCIATED_MEMOBJECT);
  const inHost = (flags & CL_MEM_USE_HOST_PTR) !== 0n && parent === 0n;
  return {
    mem,
    flags,
    byteLength: Number(infoU64(fn, query, CL_MEM_SIZE)),
    parent: parent === 0n ? undefined : parent as ClMem,
    offset: parent === 0n ? 0 : Number(infoU64(fn, query, CL_MEM_OFFSET)),
    hostAddress: inHost ? infoU64(fn, query, CL_MEM_HOST_PTR) : undefined,
  };
}

function placeOf(root: Reported, context: BaseContext, undo: Undo): Place {
  return root.hostAddress === undefined ? inDriver(root, context, undo) : inHost(root, root.hostAddress, context, undo);
}

/** Driver memory is known by its `cl_mem`. */
function inDriver(reported: Reported, context: BaseContext, undo: Undo): Place {
  const { mem, byteLength } = reported;
  const place = adoptHandle("cl_mem", mem, () => {
    const release: Undo = [];
    retainBuffer(mem, release);
    return driverBlock(byteLength, release);
  });
  const { allocation, start, lasts } = place;
  allocation.joinUntil(undo);
  if (!lasts) retainBuffer(mem, undo);
  return { allocation, start, root: rootIn(place, reported, context) };
}

/**
 * The buffer at a place. One that the context has imported may end before the memory does, so the allocation does not
 * keep it.
 */
function rootIn(
  { allocation, start, lasts }: MemoryPlace,
  { mem, flags }: Reported,
  { memory }: BaseContext,
): DriverBuffer {
  const known = { mem, start, limits: limitsIn(flags), memoryClass: classOf(flags) };
  return lasts ? adoptDriverBuffer(memory.space, known, allocation) : driverBuffer(known);
}

/** The class of memory that the host may not reach; undefined for other memory of the driver. */
function classOf(flags: bigint): MemoryClass<BaseContext> | undefined {
  return (flags & CL_MEM_ALLOC_HOST_PTR) === 0n ? DEVICE_MEMORY : undefined;
}

/** Known by their address, shared virtual memory too (CL_MEM_USES_SVM_POINTER). */
function inHost({ mem, byteLength, flags }: Reported, address: bigint, context: BaseContext, undo: Undo): Place {
  const block = { kind: "opencl.host_ptr", address, byteLength, free() {} };
  const allocation = adopt(address, byteLength, () => block);
  const start = Number(address - allocation.block.address!);
  if (start < 0 || start + byteLength > allocation.block.byteLength) {
    throw unfit("its host memory overlaps that of a tensor in part.", "Dispose that tensor first.");
  }
  join(allocation);
  undo.push(() => leave(allocation));
  const range: ByteRange = { allocation, start, address, byteLength };
  const share = context.memory.hostBuffers.attach(range, mem, limitsIn(flags), undo);
  return { allocation, start, root: share.buffer, share };
}

export function unfit(what: string, hint: string): ArgumentError {
  return refused("clRetainMemObject", "handle", what, hint);
}
