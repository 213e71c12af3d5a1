import { type Address, NULL } from "../../../ffi/address.ts";
import { CL_MEM_ALLOC_HOST_PTR, CL_MEM_USE_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import type { ClKernel, ClMem } from "../../../ffi/opencl/handles.ts";
import { addressOf } from "../../core/native/pin.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { OpenCLContext } from "../context.ts";
import { createBuffer } from "../tensor.ts";
import { value } from "./trial.ts";

/** A block to try things on: the CPU's look at it, and the device's. */
export interface Scratch {
  /** What the CPU sees. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Passes the block to a kernel, as the device sees it. */
  bind(kernel: ClKernel, index: number): void;
}

/** Makes a block of at least so many bytes; what has to be released goes on the undo list. */
export type MakeScratch = (context: OpenCLContext, byteLength: number, undo: Undo) => Scratch;

/** What a driver may look at when it decides whether to use host memory in place. */
export interface AlignmentClass {
  /** The largest power of two, up to 4096, that divides the address. */
  readonly address: number;
  /** 64 where the length is a multiple of 64 bytes, else 1. */
  readonly length: 64 | 1;
}

/** The class of an address and a length. */
export function classOf(address: bigint, byteLength: number): AlignmentClass {
  return { address: divisorOf(address), length: byteLength % 64 === 0 ? 64 : 1 };
}

/** The largest power of two, up to 4096, that divides a number. */
export function divisorOf(value: bigint): number {
  const low = Number(BigInt.asUintN(12, value));
  return low === 0 ? 4096 : low & -low;
}

/** The classes of host memory: 13 powers of two, each with two kinds of length. */
const CLASSES = 26;

let kinds = 1 + CLASSES;

/** The number of the kind that host memory is of; 0 is the driver's own memory. */
export function hostNumber(address: bigint, byteLength: number): number {
  if (address !== last.address) {
    last.address = address;
    last.number = 1 + 2 * Math.log2(divisorOf(address));
  }
  return last.number + Number(byteLength % 64 === 0);
}

/** The address that was asked about last: one map asks about the same several times. */
const last = { address: -1n, number: 0 };

/** A kind of memory that a driver may share with the CPU or not, and how a block of it is made to try that on. */
export class MemoryKind {
  /** In words: `"address % 4096 = 0, any length"`. */
  readonly name: string;
  /** Makes a block of it. */
  readonly scratch: MakeScratch;
  /** Tells it from every other kind. */
  readonly number: number;

  /** One of its own, unless a number says which it is. */
  constructor(name: string, scratch: MakeScratch, number: number = kinds++) {
    this.name = name;
    this.scratch = scratch;
    this.number = number;
  }
}

/** Host memory of the class of an address and a length, behind a buffer (CL_MEM_USE_HOST_PTR). */
export function hostMemory(address: bigint, byteLength: number): MemoryKind {
  const which = classOf(address, byteLength);
  const scratch: MakeScratch = (context, atLeast, undo) => {
    const length = atLeast + (which.length === 64 ? 0 : 1);
    const bytes = hostBytes(which.address, length, undo);
    return { bytes, bind: bound(createBuffer(context, CL_MEM_USE_HOST_PTR, length, addressOf(bytes, "opencl"), undo)) };
  };
  const name = `${multiple("address", which.address)}, ${multiple("length", which.length)}`;
  return new MemoryKind(name, scratch, hostNumber(address, byteLength));
}

/** Memory of the driver's own that it was asked to share with the host (CL_MEM_ALLOC_HOST_PTR). */
export const DRIVER_MEMORY: MemoryKind = new MemoryKind("memory of the driver's own", mapped(CL_MEM_ALLOC_HOST_PTR), 0);

/** Memory of the driver's own that it may keep from the host. */
export const DEVICE_MEMORY: MemoryKind = new MemoryKind("memory of the device's own", mapped(0n));

/** A buffer, mapped. It stays mapped while the device writes: else its address would be stale. */
function mapped(flags: bigint): MakeScratch {
  return (context, byteLength, undo) => {
    const mem = createBuffer(context, flags, byteLength, NULL, undo);
    const range = context.memory.map(mem, "read-write", 0, byteLength);
    undo.push(() => range.end());
    return { bytes: bytesAt(range.address, byteLength), bind: bound(mem) };
  };
}

/** Bytes of a JavaScript buffer that stay where they are: at a multiple of `align`, and of nothing more than that. */
export function hostBytes(align: number, byteLength: number, undo: Undo): Uint8Array<ArrayBuffer> {
  const room = new Uint8Array(byteLength + 2 * 4096);
  const base = addressOf(room, "opencl");
  // The first address that `align` divides and its double does not.
  const step = BigInt(2 * align);
  const begin = Number(((BigInt(align) - base % step) + step) % step);
  undo.push(() => void room.fill(0)); // holds the buffer until what was made over it is gone
  return room.subarray(begin, begin + byteLength);
}

/** Bytes at an address, for as long as a proof takes. */
export function bytesAt(address: Address, byteLength: number): Uint8Array<ArrayBuffer> {
  const pointer = Deno.UnsafePointer.create(address)!;
  return new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(pointer, byteLength) as ArrayBuffer);
}

/** How a buffer is passed. */
export function bound(mem: ClMem): Scratch["bind"] {
  return value(new BigUint64Array([mem]));
}

/** `address % 64 = 0`, or `any address`. */
export function multiple(what: string, of: number): string {
  return of === 1 ? `any ${what}` : `${what} % ${of} = 0`;
}
