import { type Address, NULL } from "../../ffi/address.ts";
import { kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged } from "../../ffi/dlpack/constants.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import type { Arrays, ArrayStream } from "../core/contract.ts";
import { contextsIn, type DevicePlace } from "../core/device/arrays.ts";
import { AccessError, InteropError } from "../core/errors.ts";
import type { Context } from "../core/graph/context.ts";
import { type Access, accessOf, writes } from "../core/memory/access.ts";
import { allOrNothing, undoAll, undone } from "../core/life/undo.ts";
import { takeCallbackMemory } from "../core/native/callbacks.ts";
import { probeObject } from "../core/native/foreign_addresses.ts";
import { cString } from "../core/native/text.ts";
import { givesBack } from "../core/tensors/adopt.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { type DLPackLoan, lend, placeOf, type SeenAs } from "../dlpack/loan.ts";
import { take, type Taking } from "../dlpack/taken.ts";
import { devices } from "../dlpack/types.ts";
import { bufferOf } from "./buffer.ts";
import {
  assertDone,
  called,
  calledOn,
  cpython,
  helped,
  helping,
  holding,
  isKept,
  newReference,
  shared,
  withReference,
} from "./interpreter.ts";
import { API, checks } from "./library.ts";
import { numberIn, PythonObject, referencesTo, taken } from "./object.ts";

/** A Python library that has arrays. */
export type ArrayLibrary = "numpy" | "torch" | "cupy" | "jax";

/** How a library takes a tensor. */
interface Consumer {
  /** The module that has from_dlpack. */
  readonly module: string;
  /** True if its versions before struct version 1 made read-only arrays. */
  readonly readsOnly: boolean;
  /** Kinds of CUDA memory that it does not know, and the kinds that it takes them as. */
  readonly seenAs?: SeenAs;
  /** What it requested last, by the type of device. */
  readonly asked: Map<number, Asked>;
  readonly givers: Giver[];
}

const consumer = (module: string, seenAs?: SeenAs): Consumer => {
  return { module, readsOnly: module === "numpy", ...(seenAs && { seenAs }), asked: new Map(), givers: [] };
};

const CONSUMERS: Readonly<Record<ArrayLibrary, Consumer>> = {
  numpy: consumer("numpy"),
  torch: consumer("torch", { [kDLCUDAHost]: kDLCPU, [kDLCUDAManaged]: kDLCUDA }),
  cupy: consumer("cupy", { [kDLCUDAHost]: kDLCUDA }),
  jax: consumer("jax.dlpack", { [kDLCUDAHost]: kDLCUDA, [kDLCUDAManaged]: kDLCUDA }),
};

/** Options of {@link Python.toArray}. */
export interface ToArrayOptions {
  /** How Python may use the bytes: `"read"` or `"read-write"`; the tensor's own access by default. */
  readonly access?: Access;
}

/** Options of {@link Python.fromArray}. */
export interface FromArrayOptions {
  /** The contexts that the tensor may belong to: `host` for CPU memory, an open CUDA context for a GPU's. */
  readonly contexts: readonly Context[];
  /** How the bytes may be used; by default what Python allows. */
  readonly access?: Access;
}

const TO_ARRAY: Names<ToArrayOptions> = { access: true };

const FROM_ARRAY: Names<FromArrayOptions> = { contexts: true, access: true };

/** The names of capsules, by the struct's version: before it was consumed, and after. */
const NAMES = [["dltensor", "used_dltensor"], ["dltensor_versioned", "used_dltensor_versioned"]] as const;

/** A C string that is never freed, because a capsule keeps no copy of its name. */
function textAddress(text: string): Address {
  const { bytes, address } = takeCallbackMemory(text.length + 1);
  bytes.set(cString(text));
  return address;
}

let names: readonly (readonly Address[])[] | undefined;

function namesOf(version: 0 | 1): readonly Address[] {
  names ??= NAMES.map((pair) => pair.map(textAddress));
  return names[version];
}

function isFresh(capsule: Address, version: 0 | 1): boolean {
  return cpython().PyCapsule_IsValid(capsule, namesOf(version)[0]) !== 0;
}

function rename(capsule: Address, name: Address): void {
  assertDone(cpython().PyCapsule_SetName(capsule, name), "PyCapsule_SetName");
}

/** A Python function that passes a tensor to a library, and the device, version and stream that it is for. Never freed. */
interface Giver {
  readonly about: readonly Asked[number][];
  readonly give: Address;
}

/** The giver for a device, a version and a stream. They are few, so each is made once. */
function giverOf(library: ArrayLibrary, type: number, ordinal: number, [version, stream]: Asked): Address {
  const { module, givers } = CONSUMERS[library];
  for (const { about: [a, b, c, d], give } of givers) {
    if (a === type && b === ordinal && c === version && d === stream) return give;
  }
  const about = [type, ordinal, version, stream];
  const give = called(helping("giver"), referencesTo([module, ...about], () => "stream"), `import ${library}`);
  givers.push({ about, give });
  return give;
}

/** While this thread waits, only another thread of Python's can release anything. */
function deadlock(): AccessError | undefined {
  const threads = holding(() => taken(called(helping("threads"), [], "threads"))) as number;
  if (threads > 1 && !isKept) return undefined;
  return new AccessError(
    "this wait could never end: Python has an array over the bytes, and no other thread runs it.",
    {
      ...{ api: API, fn: "toArray" },
      hint: `${REMEDY} Or await instead.`,
    },
  );
}

const REMEDY = "Dispose what toArray() returned, and delete what Python keeps of it.";

/** For a library that took the bytes and then raised an exception: it may never release them. */
function lostBy(library: ArrayLibrary): AccessError {
  return new AccessError(
    `this wait might never end: ${library}.from_dlpack took the bytes, failed, and has them still.`,
    {
      ...{ api: API, fn: "toArray" },
      hint:
        "Python may release them once it collects garbage: gc.collect(). Await instead, or leave the tensor to its end.",
    },
  );
}

/** How a consumer wants a tensor: the struct's version, and the stream that it works on. */
type Asked = readonly [version: 0 | 1, stream: number | bigint | null | typeof ANY];

/** Any stream will do, because the host has waited. */
const ANY = "any";

export function arrayOf(tensor: Tensor, library: ArrayLibrary, options: ToArrayOptions): PythonObject {
  checks.nameIn(library, CONSUMERS, "library");
  const { access } = optionsIn(options, TO_ARRAY);
  const { asked, seenAs } = CONSUMERS[library];
  const place = placeOf(tensor, seenAs);
  const first = asked.get(place.type) ?? [1, STREAMED.has(place.type) ? 1 : null];
  let wanted = first;
  for (let tries = 0; tries < 3; tries++) {
    const array = lent(tensor, place, library, access, wanted);
    if (array !== undefined) {
      if (wanted !== first) asked.set(place.type, wanted);
      return array;
    }
    const [version, stream] = lastAsked();
    wanted = [version, tries > 0 ? ANY : stream]; // JAX has several streams, and requests the next one each time
  }
  throw new InteropError(`${library} took no tensor: it asked for another each time.`, { api: API, fn: "from_dlpack" });
}

/** Devices whose work is ordered by streams. */
const STREAMED: ReadonlySet<number> = new Set([kDLCUDA, kDLCUDAManaged]);

/** What the last consumer requested. */
function lastAsked(): Asked {
  return holding(() => taken(shared(helping("asked")))) as unknown as Asked;
}

/** The array; undefined if the consumer requested another version or stream. */
function lent(
  tensor: Tensor,
  place: DevicePlace,
  library: ArrayLibrary,
  access: Access | undefined,
  asked: Asked,
): PythonObject | undefined {
  const [version, stream] = asked;
  const { readsOnly } = CONSUMERS[library];
  if (version === 0 && !readsOnly && !writes(accessOf(access, tensor.access))) {
    const hint = `Install a newer ${library}, or lend it a copy that it may write.`;
    throw checks.wrong("access", `this version of ${library} takes no memory that it may only read.`, hint);
  }
  const order = stream === null || stream === ANY ? undefined : stream;
  const loan = lend(tensor, place, version, access, order, { deadlock, readsOnly, remedy: REMEDY });
  try {
    return holding(() => given(loan, giverOf(library, place.type, place.ordinal, asked), library));
  } finally {
    loan[Symbol.dispose]();
  }
}

/** The GIL is held. */
function given(loan: DLPackLoan, give: Address, library: ArrayLibrary): PythonObject | undefined {
  const { version } = loan;
  const [fresh, used] = namesOf(version);
  const capsule = newReference(cpython().PyCapsule_New(loan.address, fresh, NULL), "PyCapsule_New");
  let array: Address | undefined;
  let isTaken = false;
  try {
    array = calledOn(give, capsule, `${library}.from_dlpack`);
  } finally {
    isTaken = !isFresh(capsule, version);
    if (!isTaken) rename(capsule, used); // a consumer that kept the capsule cannot take the struct any more
    else if (array === undefined) loan.handOverFailed(() => lostBy(library));
    else loan.handOver();
    cpython().Py_DecRef(capsule);
  }
  if (isTaken) return new PythonObject(array);
  cpython().Py_DecRef(array);
  if (array === helping("asked")) return undefined;
  throw new InteropError(`${library} took no tensor.`, { api: API, fn: "from_dlpack" });
}

/** The tensor over an array's memory. */
export function tensorOf(array: PythonObject | bigint, options: FromArrayOptions): Tensor {
  const { contexts: given, access: asked } = optionsIn(options, FROM_ARRAY);
  const contexts = contextsIn(checks, given);
  const object = objectIn(array);
  const access = asked === undefined ? undefined : accessOf(asked, asked);
  return holding(() => {
    const { stream, type, within } = workOn(object, contexts);
    const lend = () => helped(stream === undefined ? "take" : "take_ordered", object, "__dlpack__");
    return withReference(within === undefined ? lend() : within(lend), (capsule) => {
      if (capsule === helping("none")) return overBuffer(object, contexts, access);
      const after = stream?.pending(); // most are over, and the end of the tensor would wait for the fence
      const version = isFresh(capsule, 1) ? 1 : 0;
      return overCapsule(capsule, { contexts, access, after, type, version, isHeld: true });
    });
  });
}

/** CUDA's legacy default stream: its producers make it wait for their work (`take_ordered`). */
const CUDA_DEFAULT = 1n;

/** What is known of an array before it is lent. */
interface Known {
  /** The stream that the producer makes wait for its work, if the device has streams. */
  readonly stream?: ArrayStream | undefined;
  /** The type of its device, if the struct may name another: PyTorch's page-locked tensors are the CPU's there. */
  readonly type?: number;
  /** Makes its device current: PyTorch lends only tensors of the current device. */
  readonly within?: Arrays["within"];
}

const NOTHING: Known = {};

function hasStreams({ arrays }: Context): boolean {
  return arrays?.stream !== undefined;
}

/** @throws {ArgumentError} if no context is for its device. */
function workOn(object: Address, contexts: readonly Context[]): Known {
  if (!contexts.some(hasStreams)) return NOTHING;
  const device = withReference(helped("device", object, "__dlpack_device__"), numberIn);
  const [type, id] = [Math.floor(device / 2 ** 32), device % 2 ** 32];
  if (type === kDLCUDAHost) return { type };
  if (!STREAMED.has(type)) return NOTHING;
  const { arrays: { stream, within } } = devices.arraysIn(contexts, type, id, "array", NULL);
  return { stream: stream?.(CUDA_DEFAULT), within };
}

/** Takes the struct out of a capsule. If that fails, the capsule's end releases the struct. */
function overCapsule(capsule: Address, taking: Taking): Tensor {
  const [fresh, used] = namesOf(taking.version);
  const address = newReference(cpython().PyCapsule_GetPointer(capsule, fresh), "PyCapsule_GetPointer");
  rename(capsule, used);
  try {
    return take(address, taking);
  } catch (error) {
    throw undone(error, [() => rename(capsule, fresh)], "taking an array");
  }
}

function overBuffer(object: Address, contexts: readonly Context[], asked: Access | undefined): Tensor {
  const host = contexts.find(({ api }) => api === "host")?.arrays;
  if (host === undefined) throw checks.wrong("contexts", "the memory is the host's, which is not among them.");
  return allOrNothing("taking a buffer", (undo) => {
    const { address, layout, access } = bufferOf(object, asked, undo);
    const tensor = host.attach({ handle: address, byteOffset: 0, memory: "host", isHeld: true }, layout, { access });
    givesBack(tensor, () => undoAll(undo, "releasing a buffer"));
    return tensor;
  });
}

/** A borrowed reference. */
function objectIn(array: PythonObject | bigint): Address {
  if (typeof array === "bigint") {
    const address = checks.handleIn<Address>(array, "array");
    probeObject(address, OBJECT_BYTES, API, "array");
    return address;
  }
  checks.assertInstance(array, PythonObject, "array");
  return array.address;
}

/** The header of each Python object: its reference count and its class. */
const OBJECT_BYTES = 16;
