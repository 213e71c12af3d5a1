import {
  cudaHostRegisterMapped,
  cudaHostRegisterPortable,
  cudaHostRegisterReadOnly,
} from "../../../ffi/cuda_runtime/constants.ts";
import type { Address } from "../../../ffi/address.ts";
import { type Access, writes } from "../../core/memory/access.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { PAGE } from "../../core/native/blocks.ts";
import { type Reason, throwAll } from "../../core/errors.ts";
import { fileBehind } from "../../core/native/mappings.ts";
import { owned } from "../../core/life/ledger.ts";
import { type Undo, undoAll, unwind } from "../../core/life/undo.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { check, checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";
import { cudaBlockOf } from "./block.ts";
import { aliasOf } from "./pinned_block.ts";
import { lockedAlias } from "./pointer.ts";
import { FOR_MAPS } from "./register_flags.ts";
import { refusalOf } from "./rules.ts";
import { checks } from "../check.ts";

const REGISTERED = {};

const BEHIND = {};

/** A registration, which all users in the process share. */
interface Registered {
  users: number;
  flags: number;
  /** The current device at registration. */
  ordinal: number;
  readonly undo: Undo;
}

/** Why an allocation cannot be registered, as far as is known before the call. */
export function refuseRegister(
  { device }: CudaPrimaryContext,
  allocation: Allocation,
): Reason | undefined {
  const refusal = refusalOf(cudaBlockOf(allocation)?.memory ?? "pageable", "register", device);
  if (refusal !== undefined) return refusal;
  const { block } = allocation;
  if (block.closed !== undefined) return block.closed;
  if (block.address === undefined) return { reason: "it has no address on the host." };
  if (block.address % BigInt(PAGE) !== 0n) {
    return {
      reason: `the block begins at 0x${block.address.toString(16)}, in the middle of a page: pages are locked whole.`,
      remedy: "Allocate it by host.allocate(), which begins at a page; or cuda.pinned.allocate().",
    };
  }
  const file = fileOf(allocation);
  if (file === undefined) return undefined;
  return {
    reason: `its bytes are the file ${file}, whose pages cannot be locked.`,
    remedy: "Map the file privately (MAP_PRIVATE), or copy it into host.allocate().",
  };
}

/** The file behind other code's memory, if any; looked up once. */
function fileOf(allocation: Allocation): string | undefined {
  const { kind, address, byteLength } = allocation.block;
  if (kind !== "host.foreign") return undefined;
  const look = () => ({ file: fileBehind(address as Address, byteLength) });
  return allocation.attachment<{ readonly file: string | undefined }>(BEHIND, look).file;
}

/** Why an allocation's registration forbids an access by kernels of a context, if it does. */
export function refuseRegistered(
  { device: { ordinal, name, attributes } }: CudaPrimaryContext,
  allocation: Allocation,
  access: Access,
): Reason | undefined {
  const registered = liveOf(allocation);
  if (registered === undefined) return undefined;
  if (writes(access) && (registered.flags & cudaHostRegisterReadOnly) !== 0) {
    const remedy = 'Map it for reading, { access: "read" }; or end that registration first.';
    return { reason: "it is registered as read-only (cudaHostRegisterReadOnly).", remedy };
  }
  // With unified addressing, all registered memory is mapped and portable.
  if (attributes.unifiedAddressing === 1 || attributes.canUseHostPointerForRegisteredMem === 1) return undefined;
  const here = registered.ordinal === ordinal;
  const needed = FOR_MAPS & ~(here ? cudaHostRegisterPortable : 0) & ~registered.flags;
  if (needed === 0) return undefined;
  const lacks = (needed & cudaHostRegisterMapped) !== 0 ? "cudaHostRegisterMapped" : "cudaHostRegisterPortable";
  return {
    reason: `it is registered so that kernels of ${name} do not reach it (without ${lacks}).`,
    remedy: "Register it by cuda.register(tensor, { mapped: true, portable: true }), or leave that to the map.",
  };
}

/**
 * Adds a user of an allocation's registration, until `undo` runs. The first user registers (cudaHostRegister), and the last
 * unregisters. The whole block is registered, because pages can be registered only once.
 * @param flags left out by maps, which take any registration
 * @throws {ArgumentError} if the block is registered with other flags.
 * @throws {NativeCallError} if the driver refuses: other code has registered the pages.
 */
export function register(context: CudaPrimaryContext, allocation: Allocation, undo: Undo, flags?: number): void {
  const registered = allocation.attachment<Registered>(
    REGISTERED,
    () => ({ users: 0, flags: 0, ordinal: 0, undo: [] }),
  );
  if (registered.users === 0) registerPages(context, allocation, registered, flags ?? FOR_MAPS);
  else if (flags !== undefined && registered.flags !== flags) {
    throw checks.wrong(
      "options",
      "the memory is registered already, with other flags.",
      "End that registration first, and the maps that use it.",
      "cudaHostRegister",
    );
  }
  registered.users++;
  undo.push(() => {
    registered.users--;
    if (registered.users === 0) undoAll(registered.undo, "unregistering host memory");
  });
}

export function isRegistered(allocation: Allocation): boolean {
  return liveOf(allocation) !== undefined;
}

function liveOf(allocation: Allocation): Registered | undefined {
  const registered = allocation.findAttachment<Registered>(REGISTERED);
  return registered === undefined || registered.users === 0 ? undefined : registered;
}

/**
 * The device address of memory that other code has made and locked: by cudaHostAlloc, such as Mats of a pinned allocator, or by
 * cudaHostRegister. Undefined for all other memory. Each call queries the driver, because that code may unlock the memory.
 */
export function lockedByOthers(context: CudaPrimaryContext, allocation: Allocation): Address | undefined {
  const { kind, address, byteLength } = allocation.block;
  const isOwn = kind.startsWith("host.") && kind !== "host.foreign";
  if (isOwn || address === undefined || context.device.attributes.unifiedAddressing !== 1) return undefined;
  if (isRegistered(allocation)) return undefined;
  return context.within(() => lockedAlias(address as Address, byteLength));
}

/** The device address for a host address of registered memory, or of CUDA's own. */
export function deviceAddressOf(context: CudaPrimaryContext, allocation: Allocation, host: Address): Address {
  const block = cudaBlockOf(allocation);
  if (block !== undefined) return block.deviceAddress + (host - block.hostAddress!) as Address;
  const flags = liveOf(allocation)?.flags ?? FOR_MAPS;
  const mapped = context.device.attributes.unifiedAddressing === 1 || (flags & cudaHostRegisterMapped) !== 0;
  if (!mapped) return host; // canUseHostPointerForRegisteredMem: else it was refused
  const begin = allocation.block.address as Address; // the handle itself may lie before it
  return aliasOf(context, begin) + (host - begin) as Address;
}

function registerPages(
  context: CudaPrimaryContext,
  { block }: Allocation,
  registered: Registered,
  flags: number,
): void {
  const address = block.address as Address;
  // Our own blocks have whole pages; other memory is registered with its exact length.
  const byteLength = block.kind === "host.block" ? Math.ceil(block.byteLength / PAGE) * PAGE : block.byteLength;
  const letGo = context.keepPrimary();
  registered.undo.push(letGo);
  try {
    const hint =
      "Other code may have registered these pages, or they are not ordinary memory: copy them, by stream.write().";
    context.within(() =>
      check(cudart().cudaHostRegister(address, BigInt(byteLength), flags), "cudaHostRegister", { hint })
    );
  } catch (error) {
    throwAll([error, ...unwind(registered.undo)], "registering host memory");
  }
  registered.flags = flags;
  registered.ordinal = context.device.ordinal;
  const release = () => checkRelease(cudart().cudaHostUnregister(address), "cudaHostUnregister");
  owned("cuda.registered", registered.undo, () => context.within(release));
}
