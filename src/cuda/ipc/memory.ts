import type { Address } from "../../../ffi/address.ts";
import { cudaIpcMemLazyEnablePeerAccess } from "../../../ffi/cuda_runtime/constants.ts";
import { type Allocation, closedToHost } from "../../core/memory/allocation.ts";
import { isMade, object } from "../../core/argument.ts";
import { type Layout, layout, type LayoutInit, moved } from "../../core/layout/layout.ts";
import { adopt } from "../../core/memory/own.ts";
import { allOrNothing } from "../../core/life/undo.ts";
import { checks } from "../check.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { check, checkDriver } from "../errors.ts";
import { cudaDriver, cudart } from "../library.ts";
import { closeImported } from "../memory/allocate.ts";
import { type CudaBlock, cudaBlockOf, isPooled } from "../memory/block.ts";
import { tensorOver } from "../memory/memory.ts";
import { assertAllowed } from "../memory/rules.ts";
import { CudaTensor } from "../tensor.ts";
import { assertFits, copied, HANDLE_BYTES, handleOf, packMemory, THIS_ISOLATE, unpackMemory } from "./envelope.ts";

/** Memory exported to other processes. */
export interface CudaMemoryExport {
  /** The bytes for `cuda.openMemory` in another process. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** CUDA's own handle of the whole allocation (a `cudaIpcMemHandle_t`, 64 bytes), for other programs. */
  readonly handle: Uint8Array<ArrayBuffer>;
  /** The offset of the tensor's first element in that allocation, in bytes. */
  readonly byteOffset: number;
  /** The length of that allocation in bytes. */
  readonly byteLength: number;
}

/** Another program's handle of memory, and a layout. */
export interface CudaMemoryHandle {
  /** A `cudaIpcMemHandle_t`: 64 bytes. */
  readonly handle: ArrayBufferView;
  /** The layout of the elements, from the allocation's first byte. */
  readonly layout: LayoutInit;
}

const base = new BigUint64Array(1);
const size = new BigUint64Array(1);

export function exportMemory(context: CudaPrimaryContext, tensor: CudaTensor): CudaMemoryExport {
  if (!isMade(tensor, CudaTensor)) throw checks.wrongKind("tensor", "a tensor of cuda.allocate()", tensor);
  context.resource.assertLive();
  assertExportable(context, tensor);
  const { address, length } = context.within(() => rangeOf(tensor.address));
  const handle = new Uint8Array(HANDLE_BYTES);
  context.within(() => check(cudart().cudaIpcGetMemHandle(handle, address), "cudaIpcGetMemHandle"));
  const byteOffset = Number(tensor.address - address);
  const bytes = packMemory({
    isolate: THIS_ISOLATE,
    device: context.device.id.uuid!,
    allocation: length,
    layout: moved(tensor.layout, byteOffset),
    handle,
  });
  return Object.freeze({ bytes, handle, byteOffset, byteLength: length });
}

export function openMemory(context: CudaPrimaryContext, given: ArrayBufferView | CudaMemoryHandle): CudaTensor {
  const { handle, at, length } = ArrayBuffer.isView(given) ? sealedMemory(context, given) : plainMemory(given);
  context.resource.assertLive();
  const address = opened(context, handle);
  const close = closeImported(context, address);
  return allOrNothing("opening memory of another process", () => {
    const known = context.within(() => rangeOf(address));
    for (const place of [at, { byteOffset: 0, byteLength: length ?? 0 }]) {
      checks.assertWithin(place, known.length, "layout", "cudaIpcOpenMemHandle");
    }
    return tensorOver(context, allocationOf(context, address, known.length, close), at);
  }, [() => close("unused")]);
}

interface Wanted {
  readonly handle: Uint8Array<ArrayBuffer>;
  readonly at: Layout;
  /** The length of the allocation, if the exporter gave it. */
  readonly length?: number;
}

function sealedMemory(context: CudaPrimaryContext, given: ArrayBufferView): Wanted {
  const envelope = unpackMemory(copied(given, "bytes"));
  assertFits(envelope, context.id);
  return { handle: envelope.handle, at: envelope.layout, length: envelope.allocation };
}

function plainMemory(given: CudaMemoryHandle): Wanted {
  const { handle, layout: init } = object(given, "given");
  return { handle: handleOf(handle), at: layout(init) };
}

function opened({ within }: CudaPrimaryContext, handle: Uint8Array<ArrayBuffer>): Address {
  const hint =
    "Is the memory still there, and its process? A handle is of no use once it is freed, nor in the process " +
    "that made it.";
  within(() => {
    const fn = "cudaIpcOpenMemHandle";
    check(cudart()[fn](base, handle, cudaIpcMemLazyEnablePeerAccess), fn, { argument: "handle", hint });
  });
  return base[0] as Address;
}

function rangeOf(address: Address): { readonly address: Address; readonly length: number } {
  checkDriver(cudaDriver().cuMemGetAddressRange_v2(base, size, address), "cuMemGetAddressRange");
  return { address: base[0] as Address, length: Number(size[0]) };
}

/**
 * The allocation of an opened handle. CUDA opens a handle at the same address each time, so all its tensors are peers.
 * @throws {ArgumentError} if another kind of tensor is at the address: other code has freed that tensor's memory.
 */
function allocationOf(
  context: CudaPrimaryContext,
  address: Address,
  byteLength: number,
  free: CudaBlock["free"],
): Allocation {
  const block: CudaBlock = {
    kind: "cuda.imported",
    memory: "imported",
    address,
    deviceAddress: address,
    hostAddress: undefined,
    byteLength,
    ordinal: context.device.ordinal,
    flags: ["cudaIpcMemLazyEnablePeerAccess"],
    closed: closedToHost(context.name),
    free,
  };
  const allocation = adopt(address, byteLength, () => block);
  if (allocation.block === block) return allocation;
  if (allocation.block.kind !== block.kind) {
    throw checks.wrong(
      "handle",
      `CUDA opened it at 0x${address.toString(16)}, and a tensor is there, of memory that others have freed.`,
      "Dispose that tensor first.",
    );
  }
  free("unused"); // CUDA counts the opens: the memory stays open for the peers
  return allocation;
}

/** Only an allocation of cudaMalloc has such a handle. */
function assertExportable({ device }: CudaPrimaryContext, tensor: CudaTensor): void {
  tensor.assertUsable(tensor.access);
  assertAllowed(tensor.memory, "export-ipc", device);
  const { allocation } = tensor.grant;
  if (isPooled(allocation)) {
    const hint = "Allocate it by cuda.allocate(): CUDA IPC exports only memory of cudaMalloc.";
    throw checks.wrong("tensor", `${tensor.name} is of a memory pool.`, hint);
  }
  if (cudaBlockOf(allocation)?.ordinal === device.ordinal) return;
  throw checks.wrong("tensor", `${tensor.name} is of another device.`, "Export it by its own context.");
}
