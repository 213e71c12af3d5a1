import { type Address, NULL } from "../../ffi/address.ts";
import * as dl from "../../ffi/dlpack/constants.ts";
import {
  DLManagedTensor,
  DLManagedTensorVersioned,
  readDLManagedTensor,
  readDLManagedTensorVersioned,
} from "../../ffi/dlpack/structs.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import type { Fence } from "../core/device/fence.ts";
import { AccessError } from "../core/errors.ts";
import type { Context } from "../core/graph/context.ts";
import { sizeOf } from "../core/layout/dtype.ts";
import type { LayoutInit } from "../core/layout/layout.ts";
import { type Access, accessOf, writes } from "../core/memory/access.ts";
import { callAt } from "../core/native/callbacks.ts";
import { probeObject } from "../core/native/foreign_addresses.ts";
import { PAGE } from "../core/native/blocks.ts";
import { libc } from "../core/native/libc.ts";
import { givesBack } from "../core/tensors/adopt.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { assertVersion, checks, devices, elementsOf, MOST_DIMENSIONS } from "./types.ts";

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

/** What was read of others' memory last. */
const view = new DataView(new ArrayBuffer(Math.max(DLManagedTensorVersioned.size, 8 * MOST_DIMENSIONS)));
const bytes = new Uint8Array(view.buffer);

/**
 * A tensor over memory of a producer of DLPack, in place, in the API that the struct's device names. Its deleter is called
 * once, at the tensor's end, after all work. If this throws, nothing was taken: the struct is still yours.
 *
 * The elements of complex types are those of a last dimension of 2, as those of a type with several lanes are of one more;
 * bools are bytes.
 *
 * @param address a `DLManagedTensorVersioned`, with a deleter that may be called on this thread
 * @throws {ArgumentError} for what is no such struct, one that a tensor has already, a later major version, and a device
 * that no context is for.
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
  return take(address, options);
}

/** The same; `said` is the type of device by another word of the producer's. */
export function take(address: bigint, options: FromDLPackOptions, said?: number): Tensor {
  const { contexts, access: asked, after, version = 1 } = optionsIn(options, OPTIONS);
  assertVersion(version);
  if (!Array.isArray(contexts)) throw checks.wrongKind("contexts", "an array of contexts", contexts);
  const at = checks.handleIn<Address>(address, "address");
  if (taken.has(at)) {
    throw checks.wrong("address", "a tensor has this struct already.", "Ask its producer for another.");
  }
  readable = -1;
  const given = version === 0 ? unversionedAt(at) : versionedAt(at);
  const isReadOnly = (given.flags & dl.DLPACK_FLAG_BITMASK_READ_ONLY) !== 0n;
  const access = accessOf(asked, isReadOnly ? "read" : "read-write");
  if (isReadOnly && writes(access)) throw readOnly();
  const { data, byte_offset, deleter } = given;
  const init = layoutOf(given);
  if (data === NULL) throw checks.wrong("data", "the pointer is null.");
  const { arrays, memory } = devices.arraysIn(contexts, said ?? given.device_type, given.device_id, "device", data);
  if (byte_offset > Number.MAX_SAFE_INTEGER || data + byte_offset >= 2n ** 64n) {
    throw checks.wrong("byte_offset", "the range ends beyond the last address.");
  }
  if (deleter !== NULL && !deleters.has(deleter)) probeObject(deleter, 1, "dlpack", "deleter");
  const place = { handle: data, byteOffset: Number(byte_offset), memory };
  const tensor = arrays.attach(place, init, { access, ...(after === undefined ? {} : { after }) });
  if (deleter === NULL) return tensor;
  givesBack(tensor, deletion(deleter, at));
  taken.add(at);
  return tensor;
}

/** Structs whose deleters will be called, each once. */
const taken = new Set<Address>();

/** Those that were called: each producer has one, and no library of theirs is unloaded. */
const deleters = new Set<Address>();

/** Apart from what attaches the tensor, which the function must not reach. */
function deletion(deleter: Address, struct: Address): () => void {
  return () => {
    taken.delete(struct); // another may lie there at once
    callAt(deleter, struct);
    deleters.add(deleter);
  };
}

function readOnly(): AccessError {
  return new AccessError("access: the producer lets the memory be read only.", {
    ...{ api: "dlpack", argument: "access" },
    hint: 'Leave it out, or pass "read".',
  });
}

/** A page that was seen to be readable in this call: a struct and its lists often lie in one. */
let readable = -1;

/** Copies what lies at an address to {@link view}. @throws {ArgumentError} if that cannot be read. */
function copy(address: Address, byteLength: number, argument: string): void {
  const at = Number(address); // exact below 2^53, beyond which no page is found again
  const page = Math.floor(at / PAGE);
  if (page !== readable || at % PAGE + byteLength > PAGE || !Number.isSafeInteger(at)) {
    probeObject(address, byteLength, "dlpack", argument);
    readable = page;
  }
  libc().memcpy(bytes, address, BigInt(byteLength));
}

/** @throws {ArgumentError} for a major version that is not DLPack's here: its fields may lie elsewhere. */
function versionedAt(address: Address): DLManagedTensorVersioned {
  copy(address, DLManagedTensorVersioned.size, "address");
  const given = readDLManagedTensorVersioned(view, 0);
  const { major, minor } = given;
  if (major === dl.DLPACK_MAJOR_VERSION) return given;
  const hint = "An older struct, a DLManagedTensor, needs { version: 0 }. Is it released, or not yet made?";
  throw checks.wrong("address", `expected DLPack ${dl.DLPACK_MAJOR_VERSION}, got version ${major}.${minor}.`, hint);
}

/** A struct that cannot say that the memory is read-only. */
function unversionedAt(address: Address): DLManagedTensor & Pick<DLManagedTensorVersioned, "flags"> {
  copy(address, DLManagedTensor.size, "address");
  return { ...readDLManagedTensor(view, 0), flags: 0n };
}

/** What fields of both structs say of the elements. */
type Described = Pick<DLManagedTensor, "ndim" | "shape" | "strides" | "code" | "bits" | "lanes">;

/** @throws {LayoutError} for what is no layout. */
function layoutOf({ ndim, shape: shapeAt, strides: stridesAt, lanes, ...type }: Described): LayoutInit {
  const [dtype, parts] = elementsOf(type);
  if (ndim < 0 || ndim > MOST_DIMENSIONS) {
    throw checks.unfit("ndim", `expected 0 to ${MOST_DIMENSIONS} dimensions, got ${ndim}.`);
  }
  if (lanes === 0) throw checks.unfit("lanes", "expected one at least.");
  const shape = numbersAt(shapeAt, ndim, "shape");
  const given = stridesAt === NULL ? undefined : numbersAt(stridesAt, ndim, "strides");
  const size = sizeOf(dtype);
  const element = parts * lanes; // of so many of ours
  const strides = new Array<number>(ndim);
  for (let i = ndim - 1, dense = element * size; i >= 0; dense *= shape[i--]) {
    if (shape[i] === 0) throw checks.unfit(`shape[${i}]`, "there are no elements, and samepage has no empty tensors.");
    if (given !== undefined && given[i] < 0 && shape[i] > 1) {
      const hint = "Copy it where it is made, or flip it there.";
      throw checks.unfit(`strides[${i}]`, `${given[i]} is negative: samepage has no such layouts.`, hint);
    }
    strides[i] = given === undefined || shape[i] === 1 ? dense : given[i] * element * size;
  }
  if (element === 1) return { shape, dtype, strides };
  return { shape: [...shape, element], dtype, strides: [...strides, size] };
}

/** @throws {LayoutError} for a number that JavaScript does not hold exactly. */
function numbersAt(address: Address, count: number, argument: string): number[] {
  const numbers = new Array<number>(count);
  if (count === 0) return numbers;
  if (address === NULL) throw checks.wrong(argument, "the pointer is null.");
  copy(address, 8 * count, argument);
  for (let i = 0; i < count; i++) {
    const number = numbers[i] = Number(view.getBigInt64(8 * i, true));
    if (Number.isSafeInteger(number)) continue;
    throw checks.unfit(`${argument}[${i}]`, `expected a whole number below 2^53, got ${number}.`);
  }
  return numbers;
}
