import { type Address, NULL } from "../../ffi/address.ts";
import * as dl from "../../ffi/dlpack/constants.ts";
import {
  DLManagedTensor,
  DLManagedTensorVersioned,
  readDLManagedTensor,
  readDLManagedTensorVersioned,
} from "../../ffi/dlpack/structs.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import { contextsIn } from "../core/device/arrays.ts";
import type { Fence } from "../core/device/fence.ts";
import { AccessError, withRemedy } from "../core/errors.ts";
import type { Context } from "../core/graph/context.ts";
import { sizeOf } from "../core/layout/dtype.ts";
import type { LayoutInit } from "../core/layout/layout.ts";
import type { Access } from "../core/memory/access.ts";
import { callAt, isCallbackMemory } from "../core/native/callbacks.ts";
import { probeObject } from "../core/native/foreign_addresses.ts";
import { PAGE } from "../core/native/blocks.ts";
import { libc } from "../core/native/libc.ts";
import { givesBack } from "../core/tensors/adopt.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { accessTo, assertVersion, checks, devices, elementsOf, MAX_DIMENSIONS } from "./types.ts";

/** Options of {@link fromDLPack}. */
export interface FromDLPackOptions {
  /** The contexts that the tensor may belong to: `host` for kDLCPU, else an open context for the struct's device. */
  readonly contexts: readonly Context[];
  /** How the bytes may be used; by default what the struct's flags allow. */
  readonly access?: Access;
  /** The producer's work in flight: whatever uses the bytes waits for it. */
  readonly after?: Fence;
  /** The struct's major version: 1 is a `DLManagedTensorVersioned`, 0 a `DLManagedTensor`. */
  readonly version?: 0 | 1;
}

const OPTIONS: Names<FromDLPackOptions> = { contexts: true, access: true, after: true, version: true };

/** A copy of the bytes of other code's memory that were read last; `copy` has their addresses. */
const view = new DataView(new ArrayBuffer(Math.max(DLManagedTensorVersioned.size, 8 * MAX_DIMENSIONS)));
const bytes = new Uint8Array(view.buffer);
const copy = { start: 0, end: 0, isHeld: false };

/**
 * A tensor over a DLPack producer's memory, in place, in the API of the struct's device. The tensor's end calls the deleter
 * once, after all work. If this throws, nothing was taken: the struct is still yours.
 *
 * A complex type becomes a last dimension of 2, and a type with several lanes a last dimension of that length; bools are
 * bytes.
 *
 * @param address a `DLManagedTensorVersioned`, with a deleter that may be called on this thread
 * @throws {ArgumentError} for an address without such a struct, a struct that another tensor has, a later major version, and
 * a device without a context among `contexts`.
 * @throws {LayoutError} for a shape, a type or strides that samepage has no layout for.
 * @throws {AccessError} for write access to read-only memory.
 *
 * @example
 * ```ts
 * import { host } from "@samepage/interop";
 * import { fromDLPack, toDLPack } from "@samepage/interop/dlpack";
 *
 * using tensor = host.allocate({ shape: [2, 3], dtype: "f32" });
 * const loan = toDLPack(tensor, { access: "read" });
 * using same = fromDLPack(loan.handOver(), { contexts: [host] });
 * console.log(same.shape, same.access); // [ 2, 3 ] read
 * ```
 */
export function fromDLPack(address: bigint, options: FromDLPackOptions): Tensor {
  const at = checks.handleIn<Address>(address, "address");
  try {
    const { contexts, access, after, version = 1 } = optionsIn(options, OPTIONS);
    assertVersion(version);
    const all = contextsIn(checks, contexts);
    const tensor = take(at, { contexts: all, access, after, version });
    forgetRefusal(at);
    return tensor;
  } catch (error) {
    if (!isCallbackMemory(at) || isTaken(at)) throw error;
    refused.add(at);
    throw withRemedy(error, TAKE_BACK);
  }
}

/** Structs of our own loans that {@link fromDLPack} has refused, and that were not released since. */
const refused = new Set<Address>();

const TAKE_BACK = "The struct is still this program's: unless another consumer gets it, call loan.takeBack().";

/** Call it when a struct is taken or freed: another may soon lie at its address. */
export function forgetRefusal(struct: Address): void {
  if (refused.size > 0) refused.delete(struct);
}

/** Why a wait for the deleter might never end: this program still has the struct, or a tensor over it. */
export function heldHere(struct: Address, name: string): AccessError | undefined {
  const isOfTensor = isTaken(struct);
  if (!isOfTensor && !refused.has(struct)) return undefined;
  const [what, hint] = isOfTensor ? ["made a tensor of it", DISPOSE] : ["refused it", TAKE_BACK];
  const message = `this wait for ${name} might never end: fromDLPack() has ${what}.`;
  return new AccessError(message, { api: "dlpack", fn: "fromDLPack", hint });
}

export const DISPOSE = "Dispose that tensor: its end calls the deleter.";

/** Options of {@link take}, checked. */
export interface Taking {
  readonly contexts: readonly Context[];
  readonly access: Access | undefined;
  readonly after: Fence | undefined;
  readonly version: 0 | 1;
  /** The type of device, if the producer gave it apart from the struct; by default the struct's. */
  readonly type?: number | undefined;
  /** True if the producer has just made the struct and holds it: its pointers are then read without asking the kernel. */
  readonly isHeld?: boolean;
}

/** {@link fromDLPack} for arguments that were checked. */
export function take(at: Address, { contexts, access: asked, after, version, type, isHeld = false }: Taking): Tensor {
  if (isTaken(at)) {
    throw checks.wrong("address", "a tensor has this struct already.", "Ask its producer for another.");
  }
  copy.end = 0; // the memory may have changed
  copy.isHeld = isHeld;
  const given = version === 0 ? unversionedAt(at) : versionedAt(at);
  const access = accessTo(asked, (given.flags & dl.DLPACK_FLAG_BITMASK_READ_ONLY) !== 0n);
  const { data, byte_offset, deleter } = given;
  const init = layoutOf(given);
  if (data === NULL) throw checks.wrong("data", "the pointer is null.");
  const { arrays, memory } = devices.arraysIn(contexts, type ?? given.device_type, given.device_id, "device", data);
  const byteOffset = Number(byte_offset);
  if (!Number.isSafeInteger(byteOffset) || byteOffset > 0 && data + byte_offset >= 2n ** 64n) {
    throw checks.wrong("byte_offset", "the range ends beyond the last address.");
  }
  if (deleter !== NULL && deleter !== known && !isHeld) probeObject(deleter, 1, "dlpack", "deleter");
  const place = { handle: data, byteOffset, memory, isHeld };
  const tensor = arrays.attach(place, init, after === undefined ? { access } : { access, after });
  if (deleter === NULL) return tensor;
  givesBack(tensor, deletion(deleter, at));
  taken.add(at);
  return tensor;
}

/** Structs whose deleters will be called. NULL stays in the set, because V8 allocates a set anew once it is empty. */
const taken = new Set<Address>([NULL]);

/** True while a tensor of {@link fromDLPack} has the struct. */
export function isTaken(struct: Address): boolean {
  return taken.has(struct);
}

/** The deleter that was called last, which needs no probe: most producers have one deleter, and stay loaded. */
let known: Address | undefined;

/** Outside {@link take}: the closure must not hold the tensor that it ends with. */
function deletion(deleter: Address, struct: Address): () => void {
  return () => {
    taken.delete(struct); // first, because the producer may reuse the address at once
    callAt(deleter, struct);
    known = deleter;
  };
}

/**
 * Copies other code's bytes to {@link view}, and returns their offset there. The rest of their page is copied along, because
 * it often has the struct's lists too. @throws {ArgumentError} if the bytes cannot be read.
 */
function copied(address: Address, byteLength: number, argument: string): number {
  const at = Number(address); // exact below 2^53, beyond which nothing can be read
  if (at >= copy.start && at + byteLength <= copy.end) return at - copy.start;
  if (!copy.isHeld) probeObject(address, byteLength, "dlpack", argument);
  const length = Math.max(byteLength, Math.min(PAGE - at % PAGE, bytes.length));
  libc().memcpy(bytes, address, BigInt(length));
  [copy.start, copy.end] = [at, at + length];
  return 0;
}

/** @throws {ArgumentError} for another major version, whose fields may lie elsewhere. */
function versionedAt(address: Address): DLManagedTensorVersioned {
  const given = readDLManagedTensorVersioned(view, copied(address, DLManagedTensorVersioned.size, "address"));
  const { major, minor } = given;
  if (major === dl.DLPACK_MAJOR_VERSION) return given;
  const hint = "An older struct, a DLManagedTensor, needs { version: 0 }. Is it released, or not yet made?";
  throw checks.wrong("address", `expected DLPack ${dl.DLPACK_MAJOR_VERSION}, got version ${major}.${minor}.`, hint);
}

/** A struct without flags: it cannot say that the memory is read-only. */
function unversionedAt(address: Address): DLManagedTensor & Pick<DLManagedTensorVersioned, "flags"> {
  return { ...readDLManagedTensor(view, copied(address, DLManagedTensor.size, "address")), flags: 0n };
}

/** The fields of both structs that describe the elements. */
type Described = Pick<DLManagedTensor, "ndim" | "shape" | "strides" | "code" | "bits" | "lanes">;

/** @throws {LayoutError} if no layout of samepage fits. */
function layoutOf(given: Described): LayoutInit {
  const { ndim, lanes } = given;
  const [dtype, parts] = elementsOf(given);
  if (ndim < 0 || ndim > MAX_DIMENSIONS) {
    throw checks.unfit("ndim", `expected 0 to ${MAX_DIMENSIONS} dimensions, got ${ndim}.`);
  }
  if (lanes === 0) throw checks.unfit("lanes", "expected one at least.");
  const shape = numbersAt(given.shape, ndim, "shape");
  const steps = given.strides === NULL ? undefined : numbersAt(given.strides, ndim, "strides");
  const none = shape.indexOf(0);
  if (none >= 0) throw checks.unfit(`shape[${none}]`, "there are no elements, and samepage has no empty tensors.");
  const size = sizeOf(dtype);
  const element = parts * lanes; // elements of `dtype` in one of the struct's
  const strides = new Array<number>(ndim);
  for (let i = ndim - 1, dense = element * size; i >= 0; dense *= shape[i--]) {
    if (steps !== undefined && steps[i] <= 0 && shape[i] > 1) {
      const why = steps[i] < 0 ? "it is negative" : "all elements of the dimension are the same bytes (a broadcast)";
      const hint = "Copy the array first: numpy.ascontiguousarray(array), tensor.contiguous().";
      throw checks.unfit(`strides[${i}]`, `expected a step forwards, got ${steps[i]}: ${why}.`, hint);
    }
    strides[i] = steps === undefined || shape[i] === 1 ? dense : steps[i] * element * size;
  }
  if (element === 1) return { shape, dtype, strides };
  return { shape: [...shape, element], dtype, strides: [...strides, size] };
}

/** @throws {LayoutError} for a number that JavaScript does not hold exactly. */
function numbersAt(address: Address, count: number, argument: string): number[] {
  const numbers = new Array<number>(count);
  if (count === 0) return numbers;
  if (address === NULL) throw checks.wrong(argument, "the pointer is null.");
  const at = copied(address, 8 * count, argument);
  for (let i = 0; i < count; i++) {
    const number = numbers[i] = Number(view.getBigInt64(at + 8 * i, true));
    if (Number.isSafeInteger(number)) continue;
    throw checks.unfit(`${argument}[${i}]`, `expected a whole number below 2^53, got ${number}.`);
  }
  return numbers;
}
