import {
  cudaHostRegisterIoMemory,
  cudaHostRegisterMapped,
  cudaHostRegisterPortable,
  cudaHostRegisterReadOnly,
} from "../../../ffi/cuda_runtime/constants.ts";
import type { Address } from "../../../ffi/address.ts";
import type { Allocation } from "../../core/allocation.ts";
import { PAGE } from "../../core/blocks.ts";
import { ArgumentError, type Refusal, throwAll } from "../../core/errors.ts";
import { fileBehind } from "../../core/mappings.ts";
import { ledger } from "../../core/ledger.ts";
import { type Undo, unwind } from "../../core/undo.ts";
import type { CudaContext } from "../context.ts";
import { check, checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";
import { cudaBlockOf } from "./block.ts";
import { aliasOf } from "./pinned_block.ts";
import { refusalOf } from "./rules.ts";

/** How memory of the host is registered; each is a flag of cudaHostRegister. */
export interface RegisterOptions {
  /** Kernels only read it (cudaHostRegisterReadOnly). False by default. */
  readonly readOnly?: boolean;
  /** It is memory of another device of the machine (cudaHostRegisterIoMemory). False by default. */
  readonly ioMemory?: boolean;
}

/** Key of what an allocation knows of its registration: there is one, whatever the context. */
const REGISTERED = {};

/** The pages of an allocation while they are registered: once a process, whoever uses them. */
interface Registered {
  users: number;
  flags: number;
  readonly undo: Undo;
}

/** Why an allocation cannot be registered, as far as that is known before the call. */
export function refuseRegister({ device }: CudaContext, allocation: Allocation): Omit<Refusal, "edge"> | undefined {
  const refusal = refusalOf(cudaBlockOf(allocation)?.memory ?? "pageable", "register", device);
  if (refusal !== undefined) return refusal;
  const { block } = allocation;
  if (block.closed !== undefined) return block.closed;
  if (block.address === undefined) return { reason: "it has no address on the host." };
  if (block.address % BigInt(PAGE) === 0n) return undefined;
  return {
    reason: `the block begins at 0x${block.address.toString(16)}, in the middle of a page: pages are locked whole.`,
    remedy: "Allocate it by host.allocate(), which begins at a page; or cuda.pinned.allocate().",
  };
}

/**
 * One more user of an allocation's registration, which the first makes (cudaHostRegister) and the last ends; that goes on
 * the undo list. All of the block is registered, since pages can be registered only once.
 *
 * @throws {ArgumentError} where it is registered with other flags.
 * @throws {NativeCallError} where the driver refuses: the pages are somebody else's, or of a file.
 */
export function register(
  context: CudaContext,
  allocation: Allocation,
  undo: Undo,
  options: RegisterOptions = {},
): void {
  const registered = allocation.attachment<Registered>(REGISTERED, () => ({ users: 0, flags: 0, undo: [] }));
  const flags = flagsOf(options);
  if (registered.users === 0) registerPages(context, allocation, registered, flags);
  else if (registered.flags !== flags) {
    throw new ArgumentError("options: the memory is registered already, with other flags.", {
      api: "cuda",
      fn: "cudaHostRegister",
      argument: "options",
      hint: "End that registration first, and the maps that use it.",
    });
  }
  registered.users++;
  undo.push(() => {
    registered.users--;
    if (registered.users === 0) throwAll(unwind(registered.undo), "unregistering host memory");
  });
}

/** Is an allocation registered now? */
export function isRegistered(allocation: Allocation): boolean {
  return (allocation.findAttachment<Registered>(REGISTERED)?.users ?? 0) > 0;
}

/** What kernels of a context call an address of registered memory, or of memory that CUDA has made. */
export function deviceAddressOf(context: CudaContext, allocation: Allocation, host: Address): Address {
  const block = cudaBlockOf(allocation);
  if (block?.hostAddress === undefined) return aliasOf(context, host);
  return block.deviceAddress + (host - block.hostAddress) as Address;
}

function flagsOf({ readOnly = false, ioMemory = false }: RegisterOptions): number {
  return cudaHostRegisterPortable | cudaHostRegisterMapped | (readOnly ? cudaHostRegisterReadOnly : 0) |
    (ioMemory ? cudaHostRegisterIoMemory : 0);
}

function registerPages(context: CudaContext, { block }: Allocation, registered: Registered, flags: number): void {
  const address = block.address as Address;
  if (block.kind === "host.foreign") assertInMemory(address, block.byteLength);
  // What is allocated by us has whole pages to itself; of others, only what was said to be theirs.
  const byteLength = block.kind === "host.block" ? Math.ceil(block.byteLength / PAGE) * PAGE : block.byteLength;
  const letGo = context.keepPrimary();
  registered.undo.push(letGo);
  try {
    const hint = "Pages that somebody else has registered cannot be, nor what is no plain memory: copy them.";
    context.within(() =>
      check(cudart().cudaHostRegister(address, BigInt(byteLength), flags), "cudaHostRegister", { hint })
    );
  } catch (error) {
    throwAll([error, ...unwind(registered.undo)], "registering host memory");
  }
  registered.flags = flags;
  ledger.add("cuda.registered");
  registered.undo.push(() => {
    ledger.remove("cuda.registered");
    context.within(() => checkRelease(cudart().cudaHostUnregister(address), "cudaHostUnregister"));
  });
}

/** Throws for memory of somebody else's that is a file on a disk. */
function assertInMemory(address: Address, byteLength: number): void {
  const file = fileBehind(address, byteLength);
  if (file === undefined) return;
  throw new ArgumentError(`tensor: its bytes are the file ${file}: its pages cannot be locked.`, {
    api: "cuda",
    fn: "cudaHostRegister",
    argument: "tensor",
    hint: "Map the file privately (MAP_PRIVATE), or copy it into host.allocate().",
  });
}
