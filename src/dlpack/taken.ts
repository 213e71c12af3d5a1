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
import { accessTo, assertVersion, checks, devices, elementsOf, MOST_DIMENSIONS } from "./types.ts";

/** Options of {@link fromDLPack}. */
export interface FromDLPackOptions {
  /** Where the tensor may belong: `host` for kDLCPU, an open context for its device. */
  readonly contexts: readonly Context[];
  /** How the bytes may be used; by default as the struct's flags say. */
  readonly access?: Access;
  /** The producer's work in flight: whatever uses the bytes waits for it. */
  readonly after?: Fence;
  /** The struct's major version: 1 is a `DLManagedTensorVersioned`, 0 a `DLManagedTensor`. */
  readonly version?: 0 | 1;
}

const OPTIONS: Names<FromDLPackOptions> = { contexts: true, access: true, after: true, version: true };

/** The bytes of other code's memory that were read last, and where they lie. */
const view = new DataView(new ArrayBuffer(Math.max(DLManagedTensorVersioned.size, 8 * MOST_DIMENSIONS)));
const bytes = new Uint8Array(view.buffer);
const copy = { start: 0, end: 0, isHeld: false };

/**
 * A tensor over memory of a producer of DLPack, in place, in the API that the struct's device names. Its deleter is called
 * once, at the tensor's end, after all work. If this throws, nothing was taken: the struct is still yours.
 *
 * The elements of complex types are those of a last dimension of 2, as those of a type with several lanes are of one more;
 * bools are bytes.
 *
 * @param address a `DLManagedTensorVersioned`, with a deleter that may be called on this thread
 * @throws {ArgumentError} for anything but such a struct, one that a tensor has already, a later major version, and a
 * device that no context is for.
 * @throws {LayoutError} for a shape, a type or strides that samepage has no layout for.
 * @throws {AccessError} for writing what may only be read.
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

/** Structs of loans that {@link fromDLPack} has refused, and whose deleters have not been called since. */
const refused = new Set<Address>();

const TAKE_BACK = "The struct is still this program's: unless another consumer gets it, call loan.takeBack().";

/** A loan's struct was made at this address, or freed. */
export function forgetRefusal(struct: Address): void {
  if (refused.size > 0) refused.delete(struct);
}

/** Why a wait for the deleter might never end: this program has the struct, or a tensor of its. */
export function heldHere(struct: Address, name: string): AccessError | undefined {
  const isOfTensor = isTaken(struct);
  if (!isOfTensor && !refused.has(struct)) return undefined;
  const [what, hint] = isOfTensor ? ["made a tensor of it", DISPOSE] : ["refused it", TAKE_BACK];
  const message = `this wait for ${name} might never end: fromDLPack() has ${what}.`;
  return new AccessError(message, { api: "dlpack", fn: "fromDLPack", hint });
}

export const DISPOSE = "Dispose that tensor: its end calls the deleter.";

/** What is known of a struct that is taken: options that were checked. */
export interface Taking {
  readonly contexts: readonly Context[];
  readonly access: Access | undefined;
  readonly after: Fence | undefined;
  readonly version: 0 | 1;
  /** The type of device, where the producer names it elsewhere; by default the struct's. */
  readonly type?: number | undefined;
  /** True if the producer itself has just made it, and holds it: its pointers are read without asking the kernel. */
  readonly isHeld?: boolean;
}

/** The same for arguments that were checked. */
export function take(at: Address, { contexts, access: asked, after, version, type, isHeld = false }: Taking): Tensor {
  if (isTaken(at)) {
    throw checks.wrong("address", "a tensor has this struct already.", "Ask its producer for another.");
  }
  copy.end = 0; // it may have changed
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

/** Structs whose deleters will be called, each once. NULL stays in it, because V8 makes a set anew once it is empty. */
const taken = new Set<Address>([NULL]);

/** True while a tensor here has the struct. */
export function isTaken(struct: Address): boolean {
  return taken.has(struct);
}

/** The deleter that was called last: a producer has one for all, and no library of theirs is unloaded. */
let known: Address | undefined;

/** Apart from what attaches the tensor, which the function must not reach. */
function deletion(deleter: Address, struct: Address): () => void {
  return () => {
    taken.delete(struct); // another may lie there at once
    callAt(deleter, struct);
    known = deleter;
  };
}

/**
 * Where a copy of other code's bytes lies in {@link view}. The rest of their page is copied along: a struct and its lists
 * often lie in one. @throws {ArgumentError} if they cannot be read.
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

/** @throws {ArgumentError} for a major version that is not DLPack's here: its fields may lie elsewhere. */
function versionedAt(address: Address): DLManagedTensorVersioned {
  const given = readDLManagedTensorVersioned(view, copied(address, DLManagedTensorVersioned.size, "address"));
  const { major, minor } = given;
  if (major === dl.DLPACK_MAJOR_VERSION) return given;
  const hint = "An older struct, a DLManagedTensor, needs { version: 0 }. Is it released, or not yet made?";
  throw checks.wrong("address", `expected DLPack ${dl.DLPACK_MAJOR_VERSION}, got version ${major}.${minor}.`, hint);
}

/** A struct that cannot say that the memory is read-only. */
function unversionedAt(address: Address): DLManagedTensor & Pick<DLManagedTensorVersioned, "flags"> {
  return { ...readDLManagedTensor(view, copied(address, DLManagedTensor.size, "address")), flags: 0n };
}

/** What fields of both structs say of the elements. */
type Described = Pick<DLManagedTensor, "ndim" | "shape" | "strides" | "code" | "bits" | "lanes">;

/** @throws {LayoutError} for anything but a layout. */
function layoutOf(given: Described): LayoutInit {
  const { ndim, lanes } = given;
  const [dtype, parts] = elementsOf(given);
  if (ndim < 0 || ndim > MOST_DIMENSIONS) {
    throw checks.unfit("ndim", `expected 0 to ${MOST_DIMENSIONS} dimensions, got ${ndim}.`);
  }
  if (lanes === 0) throw checks.unfit("lanes", "expected one at least.");
  const shape = numbersAt(given.shape, ndim, "shape");
  const steps = given.strides === NULL ? undefined : numbersAt(given.strides, ndim, "strides");
  const size = sizeOf(dtype);
  const element = parts * lanes; // elements of `dtype` in one of the struct's
  const strides = new Array<number>(ndim);
  for (let i = ndim - 1, dense = element * size; i >= 0; dense *= shape[i--]) {
    if (shape[i] === 0) throw checks.unfit(`shape[${i}]`, "there are no elements, and samepage has no empty tensors.");
    if (steps !== undefined && steps[i] < 0 && shape[i] > 1) {
      const hint = "Copy it where it is made, or flip it there.";
      throw checks.unfit(`strides[${i}]`, `${steps[i]} is negative: samepage has no such layouts.`, hint);
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
