import type { Address } from "../../../ffi/address.ts";
import { CL_BUFFER_CREATE_TYPE_REGION, CL_MEM_READ_WRITE } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { cl_buffer_region, writeClBufferRegion } from "../../../ffi/opencl/structs.ts";
import { type Layout, moved } from "../../core/layout/layout.ts";
import { ledger } from "../../core/life/ledger.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { BaseContext } from "../base_context.ts";
import { check, errcode, made } from "../errors.ts";
import { opencl } from "../library.ts";

/** A part of a buffer: a sub-buffer if its alignment allows one, else the root and an offset. */
export interface BufferPart {
  /** The handle for kernel arguments. */
  readonly handle: ClMem;
  /** Its offset in the root. */
  readonly origin: number;
  /** The layout, counted from the handle. */
  readonly layout: Layout;
}

/** The part from byte `begin` of a root on: a sub-buffer if CL_DEVICE_MEM_BASE_ADDR_ALIGN allows one, which goes on the undo list. */
export function partOf(
  { subBufferAlign }: Pick<BaseContext, "subBufferAlign">,
  root: ClMem,
  begin: number,
  at: Layout,
  undo: Undo,
): BufferPart {
  const offset = begin % subBufferAlign === 0 ? 0 : begin;
  if (begin === 0 || offset !== 0) return { handle: root, origin: 0, layout: moved(at, offset) };
  const region = new DataView(new ArrayBuffer(cl_buffer_region.size));
  writeClBufferRegion(region, 0, { origin: BigInt(begin), size: BigInt(at.byteLength) });
  const handle = own(
    made(opencl().clCreateSubBuffer(root, 0n, CL_BUFFER_CREATE_TYPE_REGION, region, errcode), "clCreateSubBuffer"),
    undo,
  );
  return { handle, origin: begin, layout: moved(at, 0) };
}

/** The release goes on the undo list. Kernels can read and write the buffer; the grants limit access. */
export function createBuffer(
  context: Pick<BaseContext, "rawHandle">,
  flags: bigint,
  length: number,
  address: Address,
  undo: Undo,
): ClMem {
  const mem = newBuffer(context, flags, length, address);
  undo.push(() => releaseBuffer(mem));
  return mem;
}

/** Released by the caller. */
export function newBuffer(
  context: Pick<BaseContext, "rawHandle">,
  flags: bigint,
  length: number,
  address: Address,
): ClMem {
  const all = flags | CL_MEM_READ_WRITE;
  const mem = made(opencl().clCreateBuffer(context.rawHandle, all, BigInt(length), address, errcode), "clCreateBuffer");
  ledger.add("opencl.cl_mem");
  return mem;
}

/** Retains a buffer that other code made; the release goes on the undo list. */
export function retainBuffer(mem: ClMem, undo: Undo): ClMem {
  check(opencl().clRetainMemObject(mem), "clRetainMemObject");
  return own(mem, undo);
}

export function own(mem: ClMem, undo: Undo): ClMem {
  ledger.add("opencl.cl_mem");
  undo.push(() => releaseBuffer(mem));
  return mem;
}

export function releaseBuffer(mem: ClMem): void {
  ledger.remove("opencl.cl_mem");
  check(opencl().clReleaseMemObject(mem), "clReleaseMemObject");
}
