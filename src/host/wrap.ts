import type { Address } from "../../ffi/address.ts";
import { type Access, accessOf, writes } from "../core/memory/access.ts";
import { aKind, type Names, optionsIn } from "../core/argument.ts";
import { Allocation, type Block, type Fate } from "../core/memory/allocation.ts";
import type { Target } from "../core/graph/context.ts";
import { dtypeOf, sizeOf } from "../core/layout/dtype.ts";
import { bytesIn } from "../core/checks.ts";
import { ArgumentError, LayoutError } from "../core/errors.ts";
import { bufferLength, isArrayBuffer, isDetached, isResizable, transfer } from "../core/intrinsics.ts";
import { layout, type LayoutInit } from "../core/layout/layout.ts";
import { closedAt, findAllocation } from "../core/memory/peers.ts";
import { addressInPointer, addressOf } from "../core/native/pin.ts";
import { isOurs } from "../core/memory/view.ts";
import { MEMFD } from "./memfd.ts";
import { type HostTensor, ownedTensor } from "./tensor.ts";
import {
  assertOccupied,
  assertWritable,
  probeEnds,
  probeEveryPage,
  probeWritable,
} from "../core/native/foreign_addresses.ts";

/** Options of `host.wrap` for a pointer. */
export interface WrapOptions {
  /** How the memory may be used; read-write by default. Read-only memory needs `"read"`. */
  readonly access?: Access;
  /** The owner of the memory, kept alive as long as the tensor. */
  readonly keepAlive?: unknown;
}

const OPTIONS: Names<WrapOptions> = { access: true, keepAlive: true };

const FOREIGN = "host.foreign";

/** Kinds of blocks whose pages may be read-only. */
const OF_OTHERS = new Set([FOREIGN, MEMFD]);

/** Owners of memory that is kept for good because a view of it has escaped. */
const keptForGood: unknown[] = [];

const SHARED = [
  "a SharedArrayBuffer cannot be taken over, because other threads would keep it.",
  "Copy it into a tensor of host.allocate().",
] as const;

export function wrapBuffer(
  target: Target,
  memory: ArrayBuffer | ArrayBufferView,
  init: LayoutInit | undefined,
): HostTensor {
  const asked = init === undefined ? undefined : layout(init);
  const whole = isArrayBuffer(memory);
  const { buffer, byteOffset, byteLength } = whole
    ? { buffer: memory, byteOffset: 0, byteLength: bufferLength(memory) }
    : bytesIn(memory, refused)!;
  if (!isArrayBuffer(buffer)) throw refused(...SHARED);
  if (isDetached(buffer)) throw refused("the buffer is detached.", "It was transferred or taken over before.");
  if (isOurs(buffer)) {
    throw refused("the buffer is a view of a samepage tensor.", "Map or slice that tensor instead.");
  }
  if (isResizable(buffer)) {
    throw refused(
      "a resizable buffer cannot be taken over.",
      "Pass buffer.transferToFixedLength(), which copies it.",
    );
  }
  if (byteLength === 0) throw refused("the buffer is empty.");
  const address = addressOf(new Uint8Array(buffer), "host");
  if (findAllocation(address, bufferLength(buffer)) !== undefined) {
    throw refused("a tensor exists over the buffer's memory.", "Map or slice that tensor instead.");
  }
  const dtype = whole ? "u8" : dtypeOf(memory) ?? "u8";
  const at = asked ?? layout({ shape: [Math.floor(byteLength / sizeOf(dtype))], dtype });
  if (at.byteOffset + at.byteLength > byteLength) {
    throw new LayoutError(
      `shape: the layout needs ${at.byteOffset + at.byteLength} bytes, but the buffer has ${byteLength}.`,
      {
        api: "host",
        argument: "shape",
      },
    );
  }
  const made = layout({ ...at, byteOffset: at.byteOffset + byteOffset });
  const taken = transferred(buffer);
  const block: Block = {
    kind: "host.buffer",
    address,
    byteLength: bufferLength(taken),
    free: (fate) => {
      if (fate !== "unused") keptForGood.push(taken);
    },
  };
  return ownedTensor(target, new Allocation(block), address, made, "read-write", { taken });
}

/** The queries to the kernel about memory that samepage does not know. */
const PROBES = {
  "every page": probeEveryPage,
  "both ends": probeEnds,
  "no page": (address: Address, byteLength: number) => assertOccupied(address, byteLength),
};

export function wrapPointer(
  target: Target,
  address: Address,
  init: LayoutInit | undefined,
  options: WrapOptions,
  probed: keyof typeof PROBES = "every page",
): HostTensor {
  const { access: wanted, keepAlive } = optionsIn(options, OPTIONS);
  const access = accessOf(wanted, "read-write");
  if (init === undefined) throw refused("a pointer needs a layout.", "Pass { shape, dtype }.", "init");
  if (address <= 0n) throw refused("the pointer is null.");
  const made = layout(init);
  const start = made.byteOffset === 0 ? address : (address + BigInt(made.byteOffset)) as Address;
  if (Number(start) + made.byteLength >= 2 ** 64) throw refused("the range ends beyond the last address.");
  const known = findAllocation(start, made.byteLength);
  const closed = closedAt(start, made.byteLength, known);
  if (closed !== undefined) throw refused(closed.reason, closed.remedy);
  if (known === undefined) PROBES[probed](start, made.byteLength, writes(access));
  else if (probed !== "no page" && writes(access)) {
    const { kind } = known.block;
    if (OF_OTHERS.has(kind)) probeWritable(start, made.byteLength);
    else if (!kind.startsWith("host.")) assertWritable(start, made.byteLength); // a device's pages are not touched
  }
  const allocation = known ?? new Allocation(foreignBlock(start, made.byteLength, keepAlive));
  return ownedTensor(target, allocation, address, made, access, undefined, keepAlive);
}

function foreignBlock(address: Address, byteLength: number, keepAlive: unknown): Block {
  let kept = keepAlive;
  const free = (fate: Fate) => {
    if (fate !== "unused") keptForGood.push(kept);
    kept = undefined;
  };
  return { kind: FOREIGN, address, byteLength, free };
}

/** The address of a pointer object, 0 for null. @throws {ArgumentError} for anything else. */
export function addressIn(pointer: unknown): Address {
  if (Object.prototype.toString.call(pointer) === "[object SharedArrayBuffer]") throw refused(...SHARED);
  const address = addressInPointer(pointer, "host");
  if (address === undefined) {
    throw refused(
      `expected a buffer or a pointer, got ${aKind(pointer)}.`,
      "Put an array's numbers into a typed array first: new Float32Array([…]).",
    );
  }
  return address;
}

function transferred(buffer: ArrayBuffer): ArrayBuffer {
  try {
    return transfer(buffer);
  } catch (error) {
    throw refused(
      `the buffer cannot be taken over (${error instanceof Error ? error.message : error}).`,
      "Copy it into a tensor of host.allocate().",
    );
  }
}

function refused(what: string, hint?: string, argument: string = "memory"): ArgumentError {
  return new ArgumentError(`${argument}: ${what}`, {
    api: "host",
    fn: "wrap",
    argument,
    hint,
  });
}
