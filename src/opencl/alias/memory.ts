import { NULL } from "../../../ffi/address.ts";
import { CL_MEM_ALLOC_HOST_PTR, CL_MEM_USE_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import { shown } from "../../core/argument.ts";
import { MemoryClass, verdictOf } from "../../core/device/proofs.ts";
import type { Undo } from "../../core/life/undo.ts";
import { addressOf, bytesAt } from "../../core/native/pin.ts";
import { checks } from "../check.ts";
import type { BaseContext } from "../base_context.ts";
import { createBuffer, mapped } from "../buffers/native.ts";
import { type Bind, bound } from "./kernels.ts";
import { Trial } from "./trial.ts";

export interface Block {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly bind: Bind;
}

export type MakeBlock = (context: BaseContext, byteLength: number, undo: Undo) => Block;

/** Bytes that the device reads, and as many that it writes. */
const HALF = 4096;

/** Both parameters are the same block: its first half is read, its second half written. */
const BYTES = `
#define FROM global volatile uchar*
#define TO global volatile uchar*
#define PIXEL uchar
#define AT x
#define READ(from, at) from[at]
#define WRITE(to, at, pixel) to[${HALF} + at] = pixel
`;

export function blockClass(name: string, make: MakeBlock): MemoryClass<BaseContext> {
  return new MemoryClass(name, (context, undo) => {
    const { bytes, bind } = make(context, 2 * HALF, undo);
    const specimen = {
      definitions: BYTES,
      from: { bind, rows: [bytes.subarray(0, HALF)] },
      to: { bind, rows: [bytes.subarray(HALF, 2 * HALF)] },
      extent: [HALF],
      pixel: 1,
      random: (byteLength: number) => crypto.getRandomValues(new Uint8Array(byteLength)),
    };
    return verdictOf(new Trial(context, specimen, undo).run(), name);
  });
}

/** The driver's own memory that it was asked to share with the host (CL_MEM_ALLOC_HOST_PTR). */
const DRIVER_MEMORY = blockClass("memory of the driver's own", ofDriver(CL_MEM_ALLOC_HOST_PTR));

export const DEVICE_MEMORY: MemoryClass<BaseContext> = blockClass("memory of the device's own", ofDriver(0n));

/** Host memory behind a buffer (CL_MEM_USE_HOST_PTR): for each power of two up to 4096, of any length, and of 64 bytes. */
const HOST_MEMORY = Array.from({ length: 26 }, (_, i) => hostMemory(2 ** (i >> 1), i % 2 === 0 ? 1 : 64));

/** The address that was asked about last, and its class: one map asks about the same several times. */
const last = { address: -1n, index: 0 };

/**
 * The class of host memory behind a buffer, by the largest power of two that divides its address, and by whether 64
 * divides its length; that of the driver's own memory where there is no address.
 * @throws {ArgumentError} for anything else.
 */
export function classAt(address: bigint | undefined, byteLength: number): MemoryClass<BaseContext> {
  if (address === undefined) return DRIVER_MEMORY;
  if (typeof address !== "bigint") throw checks.wrongKind("address", "a bigint", address);
  if (!Number.isSafeInteger(byteLength)) {
    throw checks.wrong("byteLength", `expected a whole number, got ${shown(byteLength)}.`);
  }
  if (address !== last.address) {
    last.address = address;
    last.index = 2 * Math.log2(divisorOf(address));
  }
  return HOST_MEMORY[last.index + Number(byteLength % 64 === 0)];
}

/** The largest power of two, up to 4096, that divides a number. */
export function divisorOf(value: bigint): number {
  const low = Number(BigInt.asUintN(12, value));
  return low === 0 ? 4096 : low & -low;
}

export function multiple(what: string, of: number): string {
  return of === 1 ? `any ${what}` : `${what} % ${of} = 0`;
}

function hostMemory(address: number, length: 1 | 64): MemoryClass<BaseContext> {
  const name = `${multiple("address", address)}, ${multiple("length", length)}`;
  return blockClass(name, (context, atLeast, undo) => {
    const byteLength = atLeast + (length === 64 ? 0 : 1);
    const bytes = hostBytes(address, byteLength, undo);
    const mem = createBuffer(context, CL_MEM_USE_HOST_PTR, byteLength, addressOf(bytes, "opencl"), undo);
    return { bytes, bind: bound(mem) };
  });
}

/** A buffer, mapped. It stays mapped while the device writes: else its address would be stale. */
function ofDriver(flags: bigint): MakeBlock {
  return (context, byteLength, undo) => {
    const mem = createBuffer(context, flags, byteLength, NULL, undo);
    const range = mapped(context, mem, "read-write", 0, byteLength);
    undo.push(() => range.end());
    return { bytes: bytesAt(range.address, byteLength, "opencl", undo), bind: bound(mem) };
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
