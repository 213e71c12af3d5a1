import { type Address, NULL } from "../../../ffi/address.ts";
import {
  CL_BUFFER_CREATE_TYPE_REGION,
  CL_FALSE,
  CL_MAP_READ,
  CL_MAP_WRITE,
  CL_MAP_WRITE_INVALIDATE_REGION,
  CL_MEM_READ_WRITE,
  CL_TRUE,
} from "../../../ffi/opencl/constants.ts";
import type { ClContext, ClMem } from "../../../ffi/opencl/handles.ts";
import { cl_buffer_region, writeClBufferRegion } from "../../../ffi/opencl/structs.ts";
import { type Layout, moved } from "../../core/layout/layout.ts";
import { ledger } from "../../core/life/ledger.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { BaseContext } from "../base_context.ts";
import { check, errcode, made } from "../errors.ts";
import { opencl } from "../library.ts";
import { CL_INVALID_VALUE } from "../../../ffi/opencl/errors.ts";
import type { Call } from "../../core/contract.ts";
import type { Line } from "../../core/device/line.ts";
import type { GiveBack } from "../../core/life/resource.ts";
import type { Access } from "../../core/memory/access.ts";
import { MARKER } from "../driver.ts";
import type { ClLane } from "../lane.ts";

/** A part of a buffer: a sub-buffer if its alignment allows one, else the root and an offset. */
export interface BufferPart {
  /** The handle for kernel arguments. */
  readonly handle: ClMem;
  /** Its offset in the root. */
  readonly origin: number;
  /** The layout, counted from the handle. */
  readonly layout: Layout;
}

/**
 * The part from byte `begin` of a root on: a sub-buffer if CL_DEVICE_MEM_BASE_ADDR_ALIGN allows one, which goes on the undo
 * list; else the root with a byte offset.
 */
export function partOf(
  { subBufferAlign }: Pick<BaseContext, "subBufferAlign">,
  root: ClMem,
  begin: number,
  at: Layout,
  undo: Undo,
): BufferPart {
  const offset = begin % subBufferAlign === 0 ? 0 : begin;
  if (begin === 0 || offset !== 0) {
    return { handle: root, origin: 0, layout: at.byteOffset === offset ? at : moved(at, offset) };
  }
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
  const mem = newBuffer(context.rawHandle, flags, length, address);
  undo.push(() => releaseBuffer(mem));
  return mem;
}

/** Released by the caller. */
export function newBuffer(
  context: ClContext,
  flags: bigint,
  length: number,
  address: Address,
): ClMem {
  const all = flags | CL_MEM_READ_WRITE;
  const mem = made(opencl().clCreateBuffer(context, all, BigInt(length), address, errcode), "clCreateBuffer");
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

/** The unmap writes gaps back, so a map has to fetch them; `exact` is true if the range has none. */
export function mapFlags(access: Access, exact: boolean): bigint {
  if (access === "read") return CL_MAP_READ;
  if (access === "read-write") return CL_MAP_READ | CL_MAP_WRITE;
  return exact ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_WRITE;
}

/** A range of memory mapped for the host. For mappers. */
export class MappedRange {
  /** The host address that the driver returned. */
  readonly address: Address;
  readonly #line: Line<ClLane>;
  readonly #unmap: () => Call<ClLane> | undefined;
  #isBack = false;

  /** `unmap` returns the call that ends it, once; undefined if another map shares the range. */
  constructor(line: Line<ClLane>, address: Address, unmap: () => Call<ClLane> | undefined) {
    this.address = address;
    this.#line = line;
    this.#unmap = unmap;
  }

  /** The commands that return it to the device. */
  get giveBack(): GiveBack {
    return { line: this.#line, once: true, step: () => this.#back() };
  }

  #back(): Call<ClLane> | undefined {
    if (this.#isBack) return undefined;
    this.#isBack = true;
    return this.#unmap();
  }

  /** Returns it to the device, unless that was done, and blocks until it is. */
  end(): void {
    const call = this.#back();
    if (call !== undefined) this.#line.submitRaw(call).waitSync();
  }
}

/** A call that maps memory. */
export interface MapCall extends Call<ClLane> {
  /** The host address, once the call was made. */
  address: Address;
  /** The call that unmaps it, once the call was made. */
  unmap?: Call<ClLane>;
}

/** Blocks. @throws {AccessError} if it would wait for an unsettled promise. @throws {NativeCallError} */
export function mapped(
  { queue: { line } }: Pick<BaseContext, "queue">,
  mem: ClMem,
  access: Access,
  offset: number,
  length: number,
  exact = false,
): MappedRange {
  const map = mapCall(mem, true, mapFlags(access, exact), offset, length);
  line.submitRaw(map);
  return new MappedRange(line, map.address, () => map.unmap);
}

export function mapCall(mem: ClMem, blocks: boolean, flags: bigint, offset: number, length: number): MapCall {
  const [begin, size] = [BigInt(offset), BigInt(length)];
  const map: MapCall = {
    fn: "clEnqueueMapBuffer",
    blocks,
    address: NULL,
    call({ queue, waitCount, waitList, slot }) {
      const blocking = blocks ? CL_TRUE : CL_FALSE;
      const { clEnqueueMapBuffer } = opencl();
      map.address = clEnqueueMapBuffer(queue, mem, blocking, flags, begin, size, waitCount, waitList, slot, errcode);
      if (errcode[0] === 0) map.unmap = unmapOf(mem, map.address);
      return errcode[0];
    },
  };
  return map;
}

/**
 * Publishes what the device wrote: by OpenCL's rule the host sees it once it is mapped. The unmap follows when the map is
 * done, because rusticl 22.3 refuses it earlier. Memory that `aliases` the host's and was never used has nothing to
 * publish.
 *
 * A map fails with what it stands behind (a promise that rejects). What the device had written by then comes back all the
 * same: both are submitted once more, when there is nothing left to wait for.
 */
export class Publication implements GiveBack {
  readonly line: Line<ClLane>;
  readonly #aliases: boolean;
  readonly #map: () => MapCall;
  #mapped: MapCall | undefined;
  #mark = 0;

  /** `aliases`: the device uses the host's bytes in place, so unused ones need no command. */
  constructor(line: Line<ClLane>, aliases: boolean, map: () => MapCall) {
    this.line = line;
    this.#aliases = aliases;
    this.#map = map;
  }

  step(step: number, used: boolean): Call<ClLane> | undefined {
    const isUnmap = step % 2 === 1;
    if (isUnmap) return this.#hasFailed() ? unmapOfFailed(this.#mapped?.unmap) : this.#mapped?.unmap;
    if (step === 0 ? !used && this.#aliases : step > 2 || !this.#hasFailed()) return undefined;
    this.#mark = this.line.submitted + 1;
    return this.#mapped = this.#map();
  }

  #hasFailed(): boolean {
    return this.line.hasFailed && this.line.failureAt(this.#mark) !== undefined;
  }
}

/** rusticl 22.3 does not count a failed map, so its unmap returns CL_INVALID_VALUE. */
function unmapOfFailed(unmap: Call<ClLane> | undefined): Call<ClLane> | undefined {
  if (unmap === undefined) return undefined;
  const call = (lane: ClLane) => {
    const code = unmap.call(lane);
    return code === CL_INVALID_VALUE ? MARKER.call(lane) : code;
  };
  return { fn: unmap.fn, call };
}

interface MappedAt {
  readonly mem: ClMem;
  /** True once another map of the same memory at the same address was unmapped. */
  overtaken: boolean;
}

const mappedAt = new Map<Address, MappedAt[]>();

/**
 * The call that unmaps the range just mapped at an address, once.
 *
 * Several maps of one `cl_mem` may begin at the same byte. To NVIDIA's driver (580.159) they are one: the first unmap ends
 * them all, and it refuses the next with CL_INVALID_VALUE. At most one of them writes, so nothing is lost: a marker
 * replaces the refused call.
 */
export function unmapOf(mem: ClMem, address: Address): Call<ClLane> {
  const own: MappedAt = { mem, overtaken: false };
  const there = mappedAt.get(address);
  if (there === undefined) mappedAt.set(address, [own]);
  else there.push(own);
  return {
    fn: "clEnqueueUnmapMemObject",
    call(lane) {
      const others = mappedAt.get(address)!.filter((one) => one !== own);
      if (others.length === 0) mappedAt.delete(address);
      else mappedAt.set(address, others);
      const { queue, waitCount, waitList, slot } = lane;
      const code = opencl().clEnqueueUnmapMemObject(queue, mem, address, waitCount, waitList, slot);
      if (code === CL_INVALID_VALUE && own.overtaken) return MARKER.call(lane);
      if (code === 0) { for (const other of others) other.overtaken ||= other.mem === mem; }
      return code;
    },
  };
}
