import { type Address, NULL } from "../../../../ffi/address.ts";
import {
  CU_MEM_ALLOC_GRANULARITY_MINIMUM,
  CU_MEM_ALLOCATION_TYPE_PINNED,
  CU_MEM_HANDLE_TYPE_NONE,
  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
  CU_MEM_LOCATION_TYPE_DEVICE,
  CU_MEM_LOCATION_TYPE_HOST_NUMA,
} from "../../../../ffi/cuda_driver/constants.ts";
import {
  CUmemAllocationProp,
  type CUmemLocation,
  readCUmemAllocationProp,
  writeCUmemAllocationProp,
} from "../../../../ffi/cuda_driver/structs.ts";
import { closedOnExec, closeFd, duplicateFd, whereOpen } from "../../../core/native/fd.ts";
import { type Undo, undoAll } from "../../../core/life/undo.ts";
import type { CudaPrimaryContext } from "../../base.ts";
import { checks } from "../../check.ts";
import { checkDriver, checkDriverRelease } from "../../errors.ts";
import { counted } from "../../../core/life/ledger.ts";
import { cudaDriver } from "../../library.ts";
import { owned } from "../../primary_context.ts";

const HANDLE = "cuda.CUmemGenericAllocationHandle";
const FD = "cuda.memory_fd";

const out = new BigUint64Array(1);
const outFd = new Int32Array(1);

export interface VirtualWish {
  readonly location: "device" | "host";
  readonly sharable: boolean;
}

/** Memory without an address yet: a CUmemGenericAllocationHandle and its place. */
export interface PhysicalMemory {
  readonly handle: bigint;
  readonly location: CUmemLocation;
  readonly byteLength: number;
  /** Makes a new fd, which the caller owns; undefined for memory without an fd. */
  readonly duplicateFd: (() => number) | undefined;
}

export function createPhysical(
  context: CudaPrimaryContext,
  atLeast: number,
  { location: asked, sharable }: VirtualWish,
  undo: Undo,
): PhysicalMemory {
  const location = asked === "device"
    ? { type: CU_MEM_LOCATION_TYPE_DEVICE, id: context.device.ordinal }
    : { type: CU_MEM_LOCATION_TYPE_HOST_NUMA, id: nodeOf(context) };
  const properties = propertiesOf(location, sharable);
  const byteLength = rounded(context, atLeast, properties);
  const driver = cudaDriver();
  context.within(() => checkDriver(driver.cuMemCreate(out, BigInt(byteLength), properties, 0n), "cuMemCreate"));
  const handle = released(context, out[0], undo);
  return { handle, location, byteLength, duplicateFd: sharable ? fdOf(context, handle, undo) : undefined };
}

/**
 * The memory of other code's fd (cuMemImportFromShareableHandle), which stays the caller's. The driver does not report its
 * length: `atLeast` bytes will be mapped, rounded up to the granularity.
 */
export function importPhysical(context: CudaPrimaryContext, fd: number, atLeast: number, undo: Undo): PhysicalMemory {
  const own = whereOpen(checks, "fd", fd, duplicateFd); // so that the driver never closes the caller's
  keepFd(own, undo);
  const handle = released(context, imported(context, own), undo);
  const properties = new DataView(new ArrayBuffer(CUmemAllocationProp.size));
  const fn = "cuMemGetAllocationPropertiesFromHandle";
  context.within(() => checkDriver(cudaDriver()[fn](properties, handle), fn));
  const { location_type: type, location_id: id } = readCUmemAllocationProp(properties, 0);
  const location = { type, id };
  const byteLength = rounded(context, atLeast, propertiesOf(location, true));
  return { handle, location, byteLength, duplicateFd: () => duplicateFd(own) };
}

function imported({ within }: CudaPrimaryContext, fd: number): bigint {
  const fn = "cuMemImportFromShareableHandle";
  const hint = "Is it an fd of cuda.virtual.exportFd(), or of another program's cuMemExportToShareableHandle?";
  const about = { argument: "fd", hint };
  const type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  within(() => checkDriver(cudaDriver()[fn](out, BigInt(fd) as Address, type), fn, about));
  return out[0];
}

/** The node of host memory nearest to a device; 0 if the system has no nodes. */
function nodeOf({ device: { attributes } }: CudaPrimaryContext): number {
  return Math.max(0, attributes.hostNumaId ?? 0);
}

function propertiesOf({ type, id }: CUmemLocation, sharable: boolean): DataView<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(CUmemAllocationProp.size));
  writeCUmemAllocationProp(view, 0, {
    type: CU_MEM_ALLOCATION_TYPE_PINNED,
    requestedHandleTypes: sharable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE,
    location_type: type,
    location_id: id,
    win32HandleMetaData: NULL,
    allocFlags_compressionType: 0,
    allocFlags_gpuDirectRDMACapable: 0,
    allocFlags_usage: 0,
  });
  return view;
}

/** A length, rounded up to the granularity of memory with these properties: 2 MiB on an H200. */
function rounded(context: CudaPrimaryContext, byteLength: number, properties: DataView<ArrayBuffer>): number {
  const fn = "cuMemGetAllocationGranularity";
  context.within(() => checkDriver(cudaDriver()[fn](out, properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM), fn));
  const granularity = Number(out[0]);
  return Math.ceil(byteLength / granularity) * granularity;
}

function released(context: CudaPrimaryContext, handle: bigint, undo: Undo): bigint {
  owned(context, HANDLE, undo, () => checkDriverRelease(cudaDriver().cuMemRelease(handle), "cuMemRelease"));
  return handle;
}

/** Exports the handle once, and duplicates that fd, because an export takes a millisecond. */
function fdOf(context: CudaPrimaryContext, handle: bigint, undo: Undo): () => number {
  const kept: Undo = [];
  undo.push(() => undoAll(kept, "closing an fd"));
  let fd: number | undefined;
  return () => {
    if (fd === undefined) keepFd(fd = exported(context, handle), kept);
    return duplicateFd(fd);
  };
}

function exported({ within }: CudaPrimaryContext, handle: bigint): number {
  const fn = "cuMemExportToShareableHandle";
  within(() => checkDriver(cudaDriver()[fn](outFd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0n), fn));
  return closedOnExec(outFd[0]);
}

function keepFd(fd: number, undo: Undo): void {
  undo.push(counted(FD, () => closeFd(fd)));
}
