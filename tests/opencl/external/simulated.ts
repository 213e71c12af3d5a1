/**
 * PoCL as a driver with external memory and semaphores: what crosses by an fd is a memfd, which it maps; a semaphore is a
 * user event that is set once the signal is over. It is strict where a GPU's driver is silent: {@linkcode misuses}. It has
 * to be imported before OpenCL is opened.
 *
 * @module
 */
import { NULL } from "../../../ffi/address.ts";
import type { Address } from "../../../ffi/address.ts";
import * as cl from "../../../ffi/opencl/constants.ts";
import { CL_INVALID_OPERATION, CL_INVALID_VALUE, CL_OUT_OF_RESOURCES } from "../../../ffi/opencl/errors.ts";
import type { OpenCL } from "../../../ffi/opencl/functions.ts";
import { type ClImageDesc, readClImageDesc } from "../../../ffi/opencl/structs.ts";
import {
  CL_SEMAPHORE_CONTEXT_KHR,
  CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR,
  CL_SEMAPHORE_PAYLOAD_KHR,
  CL_SEMAPHORE_TYPE_KHR,
} from "../../../ffi/opencl_semaphore/constants.ts";
import { closeFd, duplicateFd, statusOf } from "../../../src/core/native/fd.ts";
import { LOST } from "../../../src/opencl/errors.ts";
import { tapped } from "../../faults/tap.ts";
import { setTap } from "../../../src/core/native/library.ts";
import { mapPages, unmapPages } from "../../../src/core/native/blocks.ts";
import { addressOf } from "../../../src/core/native/pin.ts";
import { copyOf } from "../../../src/core/native/foreign_addresses.ts";
import { libc } from "../../../src/core/native/libc.ts";
import { textOf } from "../../../src/core/native/mappings.ts";
import { cString } from "../../../src/core/native/text.ts";
import { sleepSync } from "../../../src/core/pace.ts";

/** The UUID of the device. */
export const UUID = "00112233445566778899aabbccddeeff";

/** The calls of the extensions, in order. */
export const told: string[] = [];

/** What a GPU's driver would have answered with wrong bytes, or a hang. */
export const misuses: string[] = [];

/** Blocking calls of the host's. */
export const blocking: string[] = [];

/** The queues that were flushed. */
export const flushed: bigint[] = [];

/** What images were to be made as. */
export const images: ClImageDesc[] = [];

/** The fds of semaphores as they were imported. */
export const semaphoreFds: number[] = [];

/** What the driver is to do. */
export const driver: {
  /** The next call of this name fails. */
  fails: string | undefined;
  /** Contexts that are opened from now on export their marks, as no driver seen so far does. */
  exportsSyncFiles: boolean;
  /** They export semaphores. */
  exportsSemaphores: boolean;
  /** It imports dma-bufs, and its own buffers are some, which Intel's query reports. Set before OpenCL is opened. */
  dmaBufs: boolean;
  /** Its context is lost: it says so of every event and marker, and of a wait and a flush. */
  isLost: boolean;
  /** It takes a marker even then. */
  takesMarkers: boolean;
  /** Its buffers lie in memory that is longer by so many bytes. */
  pool: number;
  /** What it says of every semaphore, in words of 64 bits, in place of what is true. */
  readonly says: Map<number, readonly bigint[]>;
} = {
  fails: undefined,
  exportsSyncFiles: false,
  exportsSemaphores: false,
  dmaBufs: false,
  isLost: false,
  takesMarkers: false,
  pool: 0,
  says: new Map(),
};

const EXTENSIONS = [
  "cl_khr_device_uuid",
  "cl_khr_external_memory",
  "cl_khr_external_memory_opaque_fd",
  "cl_khr_semaphore",
  "cl_khr_external_semaphore",
  "cl_khr_external_semaphore_opaque_fd",
  "cl_khr_external_semaphore_sync_fd",
].map((name) => ` ${name}`).join("");

/** What it returns of the extensions, in words of 32 bits. */
const ANSWERS: ReadonlyMap<number, readonly number[]> = new Map([
  [cl.CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR, [cl.CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR]],
  [
    cl.CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR,
    [cl.CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, cl.CL_SEMAPHORE_HANDLE_SYNC_FD_KHR],
  ],
  [cl.CL_DEVICE_SEMAPHORE_TYPES_KHR, [cl.CL_SEMAPHORE_TYPE_BINARY_KHR]],
  [cl.CL_DEVICE_UUID_KHR, [...new Uint32Array(Uint8Array.fromHex(UUID).buffer)]],
]);

/** An imported buffer, or an image. */
interface Held {
  readonly fd: number;
  readonly address: Address;
  readonly byteLength: number;
  references: number;
  isAcquired: boolean;
}

/** What is behind the fds of one semaphore: signals that were submitted, and waits that are held up. */
interface Payload {
  readonly signals: bigint[];
  readonly waits: bigint[];
}

/** A semaphore of one context. */
interface Semaphore {
  readonly context: bigint;
  readonly fd: number;
  readonly payload: Payload;
  references: number;
}

const buffers = new Map<bigint, Held>();
/** Its own buffers, while they are dma-bufs. */
const own = new Map<bigint, Pick<Held, "fd" | "address" | "byteLength">>();
const payloads = new Map<string, Payload>();
const semaphores = new Map<bigint, Semaphore>();
let nextSemaphore = 0x5e0000n;

/** The buffers and semaphores that were made and not released. */
export function alive(): number {
  return buffers.size + own.size + semaphores.size;
}

/** Fakes of other libraries' functions, which another module adds. */
export const others = new Map<string, (functions: Record<string, unknown>) => Fakes>();

/** The driver's functions in the place of the libraries' own. */
function tap(api: string, functions: Record<string, unknown>): Record<string, unknown> {
  if (api === "opencl") return { ...functions, ...loader(functions as unknown as OpenCL) };
  if (api === "opencl_external") return external();
  if (api === "opencl_semaphore") return semaphore();
  return { ...functions, ...others.get(api)?.(functions) };
}

setTap((api, functions) => tapped(api, tap(api, functions))); // they fail where the conformance suite says so

let real: OpenCL;

/** A code if this call is to fail. */
function failed(name: string): boolean {
  if (driver.fails !== name) return false;
  driver.fails = undefined;
  return true;
}

function tell(name: string, run: () => number): number {
  told.push(name);
  return failed(name) ? CL_OUT_OF_RESOURCES : run();
}

function put(errcode: BufferSource, code: number): bigint {
  (errcode as Int32Array)[0] = code;
  return 0n;
}

// deno-lint-ignore no-explicit-any -- native functions of any signature
type Fakes = Record<string, (...args: any[]) => unknown>;

/** The events that were released for the last time since the context was lost. */
const gone = new Set<bigint>();

function assertThere(event: bigint, fn: string): void {
  if (driver.isLost && gone.has(event)) misuses.push(`${fn} of an event that was released`);
}

function referencesOfEvent(functions: OpenCL, event: never): number {
  const count = new Uint32Array(1);
  functions.clGetEventInfo(event, cl.CL_EVENT_REFERENCE_COUNT, 4n, addressOf(count, "opencl"), NULL);
  return count[0];
}

function loader(functions: OpenCL): Fakes {
  real = functions;
  const pumped = (name: keyof OpenCL) => (...args: never[]) => {
    pump();
    return (functions[name] as (...args: never[]) => number)(...args);
  };
  const transfer =
    (name: "clEnqueueReadBuffer" | "clEnqueueWriteBuffer") => (queue: bigint, mem: bigint, ...args: never[]) => {
      if (buffers.get(mem)?.isAcquired === false) misuses.push(`${name} of a buffer that was not acquired`);
      return pumped(name)(queue as never, mem as never, ...args);
    };
  return {
    clGetDeviceInfo(device: never, name: number, size: bigint, value: Uint8Array | null, written: never) {
      const exported = [
        ...driver.exportsSemaphores ? [cl.CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR] : [],
        ...driver.exportsSyncFiles ? [cl.CL_SEMAPHORE_HANDLE_SYNC_FD_KHR] : [],
      ];
      const imported = driver.dmaBufs && name === cl.CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR;
      const answer = name === cl.CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR
        ? exported
        : imported
        ? [cl.CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR]
        : ANSWERS.get(name);
      if (answer !== undefined) return fill(new Uint8Array(Uint32Array.from(answer).buffer), size, value, written);
      if (name !== cl.CL_DEVICE_EXTENSIONS) {
        return functions.clGetDeviceInfo(device, name, size, value as never, written);
      }
      const length = new BigUint64Array(1);
      functions.clGetDeviceInfo(device, name, 0n, null, length);
      const own = new Uint8Array(Number(length[0]));
      functions.clGetDeviceInfo(device, name, length[0], own, null);
      const text = new TextDecoder().decode(own).replace(/\0/g, "");
      return fill(new TextEncoder().encode(`${text}${EXTENSIONS}\0`), size, value, written);
    },
    clCreateBufferWithProperties(
      context: never,
      properties: BigUint64Array,
      flags: bigint,
      size: bigint,
      _host: never,
      errcode: never,
    ) {
      told.push("clCreateBufferWithProperties");
      if (failed("clCreateBufferWithProperties")) return put(errcode, 999); // a code of another API, as NVIDIA's
      const kind = driver.dmaBufs
        ? cl.CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR
        : cl.CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR;
      if (properties[0] !== BigInt(kind)) return put(errcode, CL_INVALID_VALUE);
      const [fd, byteLength] = [Number(properties[1]), Number(size)];
      if (statusOf(fd).byteLength < size) return put(errcode, CL_INVALID_VALUE);
      const address = mapPages(NULL, byteLength, fd);
      const mem = functions.clCreateBuffer(context, flags | cl.CL_MEM_USE_HOST_PTR, size, address, errcode);
      buffers.set(mem, { fd, address, byteLength, references: 1, isAcquired: false });
      return mem;
    },
    clCreateBuffer(context: never, flags: bigint, size: bigint, pointer: Address, errcode: never) {
      const isOwn = driver.dmaBufs && (flags & (cl.CL_MEM_USE_HOST_PTR | cl.CL_MEM_COPY_HOST_PTR)) === 0n;
      if (!isOwn) return functions.clCreateBuffer(context, flags, size, pointer, errcode);
      const byteLength = Math.ceil(Number(size) / 4096) * 4096 + driver.pool;
      const fd = someFd();
      libc().ftruncate(fd, BigInt(byteLength));
      const address = mapPages(NULL, byteLength, fd);
      const over = (flags & ~cl.CL_MEM_ALLOC_HOST_PTR) | cl.CL_MEM_USE_HOST_PTR;
      const mem = functions.clCreateBuffer(context, over, size, address, errcode);
      own.set(mem, { fd, address, byteLength });
      return mem;
    },
    clGetMemObjectInfo(mem: never, name: number, size: bigint, value: Uint8Array | null, written: never) {
      const held = name === ALLOCATION_HANDLE ? own.get(mem) : undefined;
      if (held === undefined) return functions.clGetMemObjectInfo(mem, name, size, value as never, written);
      return tell("clGetMemObjectInfo", () => {
        const words = BigUint64Array.of(BigInt(held.fd)); // the driver's own fd, which it alone closes
        return fill(new Uint8Array(words.buffer), size, new Uint8Array(value!.buffer), written);
      });
    },
    clCreateImageWithProperties(
      context: never,
      properties: BigUint64Array,
      flags: bigint,
      format: never,
      desc: DataView<ArrayBuffer>,
      _host: never,
      errcode: never,
    ) {
      told.push("clCreateImageWithProperties");
      images.push(readClImageDesc(desc, 0));
      if (failed("clCreateImageWithProperties")) return put(errcode, 999);
      if (properties[0] !== BigInt(cl.CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR)) return put(errcode, CL_INVALID_VALUE);
      const fd = Number(properties[1]);
      const byteLength = Number(statusOf(fd).byteLength);
      const address = mapPages(NULL, byteLength, fd); // the driver's own order is rows without gaps
      const mem = functions.clCreateImage!(context, flags | cl.CL_MEM_USE_HOST_PTR, format, desc, address, errcode);
      buffers.set(mem, { fd, address, byteLength, references: 1, isAcquired: false });
      return mem;
    },
    clReleaseMemObject(mem: never) {
      const isLast = own.has(mem) && referencesOf(functions, mem) === 1;
      const code = functions.clReleaseMemObject(mem);
      if (isLast) {
        const { fd, address, byteLength } = own.get(mem)!;
        own.delete(mem);
        unmapPages(address, byteLength);
        closeFd(fd);
      }
      const held = buffers.get(mem);
      if (held === undefined || --held.references > 0) return code;
      if (held.isAcquired) misuses.push("a buffer was released while it was acquired");
      buffers.delete(mem);
      unmapPages(held.address, held.byteLength);
      closeFd(held.fd);
      return code;
    },
    clFlush(queue: never) {
      if (driver.isLost) return LOST;
      flushed.push(queue);
      return functions.clFlush(queue);
    },
    clEnqueueMarkerWithWaitList(...args: never[]) {
      if (driver.isLost && !driver.takesMarkers) return LOST;
      gone.clear(); // the new event may have the address of one of them
      return (functions.clEnqueueMarkerWithWaitList as (...args: never[]) => number)(...args);
    },
    clRetainEvent(event: never) {
      assertThere(event, "clRetainEvent");
      return functions.clRetainEvent(event);
    },
    clReleaseEvent(event: never) {
      assertThere(event, "clReleaseEvent");
      if (driver.isLost && referencesOfEvent(functions, event) === 1) gone.add(event);
      return functions.clReleaseEvent(event);
    },
    clGetEventInfo(...args: never[]) {
      assertThere(args[0], "clGetEventInfo");
      if (driver.isLost) return LOST;
      progress();
      return (functions.clGetEventInfo as (...args: never[]) => number)(...args);
    },
    clWaitForEvents: (...args: never[]) => {
      if (driver.isLost) {
        const [count, list] = args as readonly unknown[] as readonly [number, Address];
        const events = new BigUint64Array(copyOf(list, 8 * count).buffer);
        for (const event of events) assertThere(event, "clWaitForEvents");
        return LOST;
      }
      blocking.push("clWaitForEvents");
      return pumped("clWaitForEvents")(...args);
    },
    clFinish: (...args: never[]) => {
      blocking.push("clFinish");
      return pumped("clFinish")(...args);
    },
    clWaitForEventsAsync: pumped("clWaitForEventsAsync"),
    clEnqueueReadBuffer: transfer("clEnqueueReadBuffer"),
    clEnqueueWriteBuffer: transfer("clEnqueueWriteBuffer"),
  };
}

/** Intel's CL_MEM_ALLOCATION_HANDLE_INTEL. */
const ALLOCATION_HANDLE = 0x10050;

function referencesOf(functions: OpenCL, mem: never): number {
  const count = new Uint32Array(2);
  functions.clGetMemObjectInfo(mem, cl.CL_MEM_REFERENCE_COUNT, 4n, count as never, null);
  return count[0];
}

function fill(bytes: Uint8Array, size: bigint, value: Uint8Array | null, written: BigUint64Array | null): number {
  if (written !== null) written[0] = BigInt(bytes.length);
  if (value === null) return 0;
  if (BigInt(bytes.length) > size) return CL_INVALID_VALUE;
  new Uint8Array(value.buffer, value.byteOffset).set(bytes);
  return 0;
}

function external(): Fakes {
  const handing =
    (name: string, acquires: boolean) =>
    (queue: never, _count: number, mems: BigUint64Array, waitCount: never, waits: never, slot: never) =>
      tell(name, () => {
        const held = buffers.get(mems[0])!;
        if (held.isAcquired === acquires) {
          misuses.push(`${name} of a buffer that ${acquires ? "was acquired" : "was not"}`);
          return CL_INVALID_OPERATION;
        }
        held.isAcquired = acquires;
        return real.clEnqueueMarkerWithWaitList(queue, waitCount, waits, slot);
      });
  const [acquire, release] = ["clEnqueueAcquireExternalMemObjectsKHR", "clEnqueueReleaseExternalMemObjectsKHR"];
  return { [acquire]: handing(acquire, true), [release]: handing(release, false) };
}

function semaphore(): Fakes {
  return {
    clCreateSemaphoreWithPropertiesKHR(context: bigint, properties: BigUint64Array, errcode: never) {
      told.push("clCreateSemaphoreWithPropertiesKHR");
      if (failed("clCreateSemaphoreWithPropertiesKHR")) return put(errcode, 999);
      const [, , property, value] = properties;
      const isImport = property !== CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR && property !== 0n;
      const fd = isImport ? Number(value) : libc().eventfd(0, 0);
      if (isImport) semaphoreFds.push(fd);
      const payload = payloadOf(fd);
      semaphores.set(++nextSemaphore, { context, fd, payload, references: 1 });
      put(errcode, 0);
      return nextSemaphore;
    },
    clReleaseSemaphoreKHR: (handle: bigint) => {
      const semaphore = semaphores.get(handle)!;
      if (--semaphore.references === 0) {
        closeFd(semaphore.fd);
        semaphores.delete(handle);
      }
      return tell("clReleaseSemaphoreKHR", () => 0);
    },
    clEnqueueWaitSemaphoresKHR: (
      queue: never,
      n: number,
      handles: BigUint64Array,
      _values: never,
      count: number,
      waits: bigint,
      slot: never,
    ) =>
      tell("clEnqueueWaitSemaphoresKHR", () => {
        const context = new BigUint64Array(1);
        real.clGetCommandQueueInfo(queue, cl.CL_QUEUE_CONTEXT, 8n, context, null);
        const events = Array.from(handles.subarray(0, n), (handle) => {
          const event = real.clCreateUserEvent(context[0] as never, new Int32Array(1));
          semaphores.get(handle)!.payload.waits.push(event);
          return event;
        });
        const list = BigUint64Array.of(...events, ...eventsAt(waits, count));
        return real.clEnqueueMarkerWithWaitList(queue, list.length, addressOf(list, "opencl"), slot) +
          Number(list[0] - events[0]);
      }),
    clEnqueueSignalSemaphoresKHR: (
      queue: never,
      n: number,
      handles: BigUint64Array,
      _values: never,
      count: never,
      waits: never,
      slot: bigint,
    ) =>
      tell("clEnqueueSignalSemaphoresKHR", () => {
        const out = new BigUint64Array(1);
        const code = real.clEnqueueMarkerWithWaitList(queue, count, waits, addressOf(out, "opencl"));
        if (slot !== 0n) {
          new BigUint64Array(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(slot)!, 8))[0] = out[0];
        }
        if (slot !== 0n) real.clRetainEvent(out[0] as never);
        for (const [i, handle] of handles.subarray(0, n).entries()) {
          if (i > 0) real.clRetainEvent(out[0] as never);
          semaphores.get(handle)!.payload.signals.push(out[0]);
        }
        return code;
      }),
    clGetSemaphoreHandleForTypeKHR: (handle: bigint, _device: never, _type: never, _size: never, out: Int32Array) =>
      tell("clGetSemaphoreHandleForTypeKHR", () => {
        out[0] = duplicateFd(semaphores.get(handle)!.fd);
        return 0;
      }),
    clGetSemaphoreInfoKHR: (handle: bigint, name: number, size: bigint, value: Uint8Array | null, written: never) =>
      tell("clGetSemaphoreInfoKHR", () => {
        const words = semaphores.has(handle)
          ? driver.says.get(name) ?? infoOf(semaphores.get(handle)!, name)
          : undefined;
        if (words === undefined) return CL_INVALID_VALUE;
        return fill(new Uint8Array(BigUint64Array.from(words).buffer), size, value, written);
      }),
    clRetainSemaphoreKHR: (handle: bigint) =>
      tell("clRetainSemaphoreKHR", () => {
        semaphores.get(handle)!.references++;
        return 0;
      }),
  };
}

/** A wait list. */
function eventsAt(address: bigint, count: number): Iterable<bigint> {
  if (count === 0) return [];
  return new BigUint64Array(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(address)!, 8 * count));
}

/** The payload is 0, as NVIDIA's is. */
function infoOf({ context }: Semaphore, name: number): readonly bigint[] | undefined {
  if (name === CL_SEMAPHORE_CONTEXT_KHR) return [context];
  if (name === Number(CL_SEMAPHORE_TYPE_KHR)) return [BigInt(cl.CL_SEMAPHORE_TYPE_BINARY_KHR)];
  return name === CL_SEMAPHORE_PAYLOAD_KHR ? [0n] : undefined;
}

/** What is behind an fd of a semaphore: an eventfd, which its number in the kernel identifies; or another file, its inode. */
function payloadOf(fd: number): Payload {
  const [, id] = /^eventfd-id:\s*(\d+)$/m.exec(textOf(`/proc/self/fdinfo/${fd}`)) ?? [];
  const identity = id === undefined ? `inode ${statusOf(fd).identity}` : `eventfd ${id}`;
  const payload = payloads.get(identity) ?? { signals: [], waits: [] };
  payloads.set(identity, payload);
  return payload;
}

/** Forgets signals without a wait: the kernel gives the number of an eventfd that was closed to another. */
export function forgetPayloads(): void {
  payloads.clear();
}

/** An fd of a driver's. */
export function someFd(): number {
  return libc().memfd_create(cString("of a driver"), 0);
}

/** Lets the waits go on whose signals are over. */
function progress(): void {
  for (const { signals, waits } of payloads.values()) {
    while (signals.length > 0 && waits.length > 0 && statusOfEvent(signals[0]) <= 0) {
      const [signal, wait] = [signals.shift()!, waits.shift()!];
      real.clSetUserEventStatus(wait as never, 0);
      for (const event of [signal, wait]) real.clReleaseEvent(event as never);
    }
  }
}

function statusOfEvent(event: bigint): number {
  const status = new Int32Array(2);
  real.clGetEventInfo(event as never, cl.CL_EVENT_COMMAND_EXECUTION_STATUS, 4n, addressOf(status, "opencl"), NULL);
  return status[0];
}

/** Goes on until nothing waits: PoCL would block for ever behind an unset event. */
function pump(): void {
  const isHeld = () => [...payloads.values()].some(({ signals, waits }) => signals.length > 0 && waits.length > 0);
  for (progress(); isHeld(); progress()) sleepSync(1);
}
