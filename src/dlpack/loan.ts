import { type Address, NULL } from "../../ffi/address.ts";
import * as dl from "../../ffi/dlpack/constants.ts";
import {
  DLManagedTensor,
  DLManagedTensorVersioned,
  writeDLManagedTensor,
  writeDLManagedTensorVersioned,
} from "../../ffi/dlpack/structs.ts";
import { literal, type Names, optionsIn } from "../core/argument.ts";
import type { ArrayStream } from "../core/contract.ts";
import type { DevicePlace } from "../core/device/arrays.ts";
import { Fence } from "../core/device/fence.ts";
import { Signal } from "../core/device/native_flag.ts";
import { eachConflict } from "../core/device/work.ts";
import { sizeOf } from "../core/layout/dtype.ts";
import { AccessError } from "../core/errors.ts";
import { registerLater, unregister } from "../core/life/finalizers.ts";
import { Resource } from "../core/life/resource.ts";
import { undone } from "../core/life/undo.ts";
import { type Access, accessOf, writes } from "../core/memory/access.ts";
import { Printed, withFacts } from "../core/printed.ts";
import type { Route } from "../core/graph/route.ts";
import { Tensor } from "../core/tensors/tensor.ts";
import { DISPOSE, forgetRefusal, heldHere, isTaken } from "./taken.ts";
import { assertVersion, checks, DATA_TYPES, devices } from "./types.ts";

/** Options of {@link toDLPack}. */
export interface ToDLPackOptions {
  /** How the consumer may use the bytes: `"read"` or `"read-write"`; the tensor's own access by default. */
  readonly access?: Access;
  /**
   * The stream that the consumer works on, as DLPack numbers CUDA's: a `cudaStream_t`, 1 for the legacy default stream, 2 for
   * that of each thread. The device orders the consumer's work and ours; the stream has to live until the next use of the
   * tensor after the release. -1 orders nothing. By default the host waits for our work, and the consumer has to finish its
   * own before it releases the struct.
   */
  readonly stream?: bigint | number;
  /** The struct's major version: 1 is a `DLManagedTensorVersioned`, 0 a `DLManagedTensor`, which cannot be read-only. */
  readonly version?: 0 | 1;
}

const OPTIONS: Names<ToDLPackOptions> = { access: true, stream: true, version: true };

/** The struct of each version: its size, and the function that writes it. */
const STRUCTS = [
  { byteLength: DLManagedTensor.size, write: writeDLManagedTensor },
  { byteLength: DLManagedTensorVersioned.size, write: writeDLManagedTensorVersioned },
] as const;

/** How our work and the consumer's are ordered: on the device, by this thread, or not at all. */
type Order = ArrayStream | "host" | "none";

interface Lending {
  readonly tensor: Tensor;
  readonly place: DevicePlace;
  readonly access: Access;
  readonly version: 0 | 1;
  readonly order: Order;
  readonly consumer: Consumer;
}

/** Called before this thread blocks until the release: returns the error if the release would never come. */
type Deadlock = Signal["deadlock"];

/**
 * A tensor's bytes as a DLPack struct, lent until a consumer calls the struct's deleter.
 *
 * The loan is yours until {@link handOver}; from then on, only the consumer's one call of the deleter ends it. Dispose the
 * loan if no consumer took the struct.
 */
export class DLPackLoan extends Printed implements Disposable {
  /** The struct's major version: 0 for a `DLManagedTensor`. */
  readonly version: 0 | 1;
  /** How the consumer may use the bytes. */
  readonly access: Access;
  /** Where the bytes lie: the type of device and its number, as `__dlpack_device__()` returns them. */
  readonly device: { readonly type: number; readonly id: number };
  /** The loan's end of life, which returns the bytes. */
  readonly resource: Resource;
  readonly #signal: Signal;
  readonly #remedy: string;
  /** Referenced until the loan is handed over: a collected tensor would end the loan. */
  #tensor: Tensor | undefined;

  /** Made by {@link toDLPack}. */
  constructor(lending: Lending) {
    super();
    const { tensor: { name: of, grant }, place: { type, ordinal }, access, version } = lending;
    this.version = version;
    this.access = access;
    this.device = { type, id: ordinal };
    const name = `DLPack loan of ${of}`;
    this.#signal = signalOf(lending, name);
    this.#remedy = lending.consumer.remedy ?? RELEASE;
    this.resource = loanOf(lending, name, this.#signal);
    try {
      grant.revokeConflicting(access);
    } catch (error) {
      throw undone(error, [() => this.resource.dispose()], `lending ${of}`);
    }
    registerLater(this, this.resource);
    this.#tensor = lending.tensor;
  }

  /** The address of the struct. Hand it over by {@link handOver}. @throws {DisposedError} once it was handed over. */
  get address(): Address {
    this.resource.assertLive();
    return this.#signal.data;
  }

  /** True once the consumer has released the bytes, or the loan was disposed before it was handed over. */
  get isReleased(): boolean {
    return this.#signal.isSet() || this.resource.state === "freed";
  }

  /**
   * The address of the struct, which is the consumer's from now on: the consumer has to call the deleter once, on any thread.
   * The tensor's end, and each use that conflicts with the loan, wait for that call.
   *
   * @throws {DisposedError} if the loan was handed over or disposed before.
   */
  handOver(): Address {
    this.resource.assertLive();
    this.#release();
    this.resource.returnAfter(this.#signal.fence());
    this.resource.ending = "handed over";
    this.resource.remedy = this.#remedy;
    for (const grant of this.resource.grants) grant.isForeign = true;
    return this.#signal.data;
  }

  /**
   * Takes the struct back from a consumer that refused it and will never call the deleter: the bytes are the tensor's again.
   * Does nothing if the struct was released.
   *
   * @throws {AccessError} if {@link fromDLPack} has made a tensor of the struct.
   *
   * @example
   * ```ts
   * import { host } from "@samepage/interop";
   * import { fromDLPack, toDLPack } from "@samepage/interop/dlpack";
   *
   * using tensor = host.allocate({ shape: [2, 3], dtype: "f32" });
   * const loan = toDLPack(tensor);
   * const address = loan.handOver();
   * try {
   *   fromDLPack(address, { contexts: [] }); // throws: no context for the struct's device
   * } catch {
   *   loan.takeBack();
   * }
   * console.log(loan.isReleased); // true
   * ```
   */
  takeBack(): void {
    if (this.resource.isLive) return this[Symbol.dispose]();
    if (this.isReleased) return;
    if (!isTaken(this.#signal.data)) return release(this.#signal);
    const fields = { api: "dlpack", fn: "takeBack", hint: DISPOSE };
    throw new AccessError(`${this.resource.name} cannot be taken back: fromDLPack() has made a tensor of it.`, fields);
  }

  /** {@link handOver} to a consumer that took the struct and then failed: blocking on the loan throws. For mappers. */
  handOverFailed(failure: () => AccessError): void {
    this.#signal.deadlock = failure;
    this.handOver();
  }

  /** What was lent, and the loan's state. */
  toString(): string {
    return withFacts(this.resource.name, [this.isReleased ? "released" : this.resource.end]);
  }

  /** Returns the bytes. Does nothing after {@link handOver}: the consumer's call of the deleter ends the loan. */
  [Symbol.dispose](): void {
    if (!this.resource.isLive) return;
    this.#release();
    this.resource.dispose();
  }

  #release(): void {
    unregister(this.resource);
    this.#tensor = undefined;
  }
}

const RELEASE = "Have the consumer of its DLPack struct release it, or call loan.takeBack() if that refused it.";

/** Apart from the constructor: V8 keeps the objects of a constructor that makes closures for long. */
function loanOf({ tensor, access, order }: Lending, name: string, signal: Signal): Resource {
  const { grant, resource: { work } } = tensor;
  const lent = grant.lend(access, grant.start, grant.end, name);
  const free = () => {
    forgetRefusal(signal.data);
    signal[Symbol.dispose]();
  };
  const inOrder = () => {
    if (!signal.isSet()) release(signal); // no consumer has the struct
    // The consumer's work may still run. A context that ends frees memory only after all work of its device.
    else if (typeof order === "object" && order.line.resource.isLive) work.add(order.lazyFence());
  };
  return new Resource({ name, grants: [lent], owners: [tensor.resource], undo: [free, inOrder] });
}

/** Has the effect of the deleter. */
function release({ memory }: Signal): void {
  memory.bytes.fill(0, 0, 8);
}

/** The signal whose memory holds the struct; the deleter sets it. */
function signalOf({ tensor, place, access, version, consumer: { deadlock } }: Lending, name: string): Signal {
  const { layout: { shape, strides, dtype }, route } = tensor;
  const { byteLength, write } = STRUCTS[version];
  const length = byteLength + 16 * shape.length;
  const stuck: Deadlock = () => heldHere(signal.data, name) ?? deadlock?.();
  const signal = new Signal(name, "sigemptyset", 1, length, stuck);
  const { data, callback, memory: { view } } = signal;
  const { code, bits } = DATA_TYPES[dtype];
  write(view, 0, {
    major: dl.DLPACK_MAJOR_VERSION,
    minor: dl.DLPACK_MINOR_VERSION,
    manager_ctx: NULL,
    deleter: callback,
    flags: flagsOf(access, route),
    data: place.handle as Address,
    device_type: place.type,
    device_id: place.ordinal,
    ndim: shape.length,
    code,
    bits,
    lanes: 1,
    shape: data + BigInt(byteLength) as Address,
    strides: data + BigInt(byteLength + 8 * shape.length) as Address,
    byte_offset: BigInt(place.byteOffset),
  });
  const size = sizeOf(dtype);
  for (let i = 0; i < shape.length; i++) {
    view.setBigInt64(byteLength + 8 * i, BigInt(shape[i]), true);
    view.setBigInt64(byteLength + 8 * (shape.length + i), BigInt(strides[i] / size), true);
  }
  return signal;
}

function flagsOf(access: Access, { steps }: Route): bigint {
  const readOnly = writes(access) ? 0n : dl.DLPACK_FLAG_BITMASK_READ_ONLY;
  return steps.some(({ transfer }) => transfer === "copy") ? readOnly | dl.DLPACK_FLAG_BITMASK_IS_COPIED : readOnly;
}

/** Types of devices that a consumer does not know, each with the type that it takes such memory as. */
export type SeenAs = { readonly [type: number]: number };

/** Where a tensor lies, in DLPack's terms. @throws {ArgumentError} for memory that DLPack has no name for. */
export function placeOf(tensor: Tensor, seenAs: SeenAs = {}): DevicePlace {
  if (!(Tensor.owns(tensor) && tensor instanceof Tensor)) throw checks.wrongKind("tensor", "a tensor", tensor);
  const place = devices.placeOf(tensor);
  if (place !== undefined) {
    const type = seenAs[place.type] ?? place.type;
    return type === place.type ? place : { ...place, type, ordinal: type === dl.kDLCPU ? 0 : place.ordinal };
  }
  const what = `DLPack has no device for the memory of ${tensor.name}.`;
  throw checks.wrong("tensor", what, "Map it to the host: graph.map(tensor, host).");
}

/** DLPack's numbers for CUDA's streams. ROCm's default stream is 0, which means several things in CUDA. */
function orderOf({ target: { context } }: Tensor, given: ToDLPackOptions["stream"]): Order {
  if (given === undefined) return "host";
  const number = typeof given === "number" && Number.isSafeInteger(given) ? BigInt(given) : given;
  if (typeof number !== "bigint") throw checks.wrong("stream", `expected a whole number, got ${literal(given)}.`);
  if (number === -1n) return "none";
  const stream = context.arrays?.stream;
  if (stream === undefined) throw checks.wrong("stream", `${context.name} has no streams.`, "Leave it out.");
  if (number > 0n) return stream(number);
  const hint = "CUDA's default stream is 1, and that of each thread 2; -1 orders nothing.";
  throw checks.wrong("stream", `expected a stream, got ${number}.`, hint);
}

/**
 * Lends a tensor to a consumer of DLPack (NumPy, PyTorch, CuPy, JAX, TVM), in place.
 *
 * @throws {ArgumentError} for memory that DLPack has no device for, and for wrong options.
 * @throws {AccessError} if the bytes are lent, or the tensor does not allow the access.
 *
 * @example
 * ```ts
 * import { host } from "@samepage/interop";
 * import { fromDLPack, toDLPack } from "@samepage/interop/dlpack";
 *
 * using tensor = host.allocate({ shape: [2, 3], dtype: "f32" });
 * using loan = toDLPack(tensor, { access: "read" });
 * console.log(loan.address > 0n, loan.isReleased); // true false
 * ```
 */
export function toDLPack(tensor: Tensor, options: ToDLPackOptions = {}): DLPackLoan {
  const { version = 1, access, stream } = optionsIn(options, OPTIONS);
  assertVersion(version);
  return lend(tensor, placeOf(tensor), version, access, stream);
}

/** What is known of a consumer. */
export interface Consumer {
  readonly deadlock?: Deadlock;
  /** What a program can do to make it release. */
  readonly remedy?: string;
  /** True if it treats structs of version 0, which have no flag for that, as read-only. */
  readonly readsOnly?: boolean;
}

/** {@link toDLPack} for a place and a version that were checked, and a consumer of which more is known. */
export function lend(
  tensor: Tensor,
  place: DevicePlace,
  version: 0 | 1,
  asked: Access | undefined,
  stream: ToDLPackOptions["stream"],
  consumer: Consumer = {},
): DLPackLoan {
  const access = accessOf(asked, tensor.access);
  if (access === "write") throw checks.wrong("access", 'DLPack has no memory for "write" alone.');
  if (version === 0 && !consumer.readsOnly && !writes(access)) {
    const hint = "Lend it by version 1, or for writing.";
    throw checks.wrong("version", "a DLManagedTensor cannot say that it may only be read.", hint);
  }
  tensor.assertUsable(access);
  const order = orderOf(tensor, stream);
  const { grant } = tensor;
  for (const { resource } of grant.returningIn(grant.start, grant.end)) resource!.settleIfOver(); // else readers pile up
  const uses = [{ tensor, access, argument: "tensor" }];
  if (order === "host") eachConflict(uses, (line, mark) => line.block(mark));
  else if (order !== "none") {
    const fences: Fence[] = [];
    eachConflict(uses, (line, mark) => {
      if (line !== order.line) fences.push(new Fence(line, mark)); // its own commands run in order
    });
    if (fences.length > 0) order.waitFor(fences);
  }
  return new DLPackLoan({ tensor, place, access, version, order, consumer });
}
