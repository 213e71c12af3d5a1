import type { Address } from "../../ffi/address.ts";
import type { Access } from "../core/access.ts";
import { Allocation, type Block, type Fate } from "../core/allocation.ts";
import type { Target } from "../core/context.ts";
import { dtypeOf } from "../core/dtype.ts";
import { ArgumentError, LayoutError } from "../core/errors.ts";
import { layout, type LayoutInit } from "../core/layout.ts";
import { permitted } from "../core/library.ts";
import { addressOf } from "../core/pin.ts";
import { isOurs } from "../core/view.ts";
import { findAllocation, ownedTensor } from "./owned.ts";
import { probePages } from "./probe.ts";
import type { HostTensor } from "./tensor.ts";

/** Options of `host.wrap` for a pointer. */
export interface WrapOptions {
  /** What the memory may be used for; read-write by default. */
  readonly access?: Access;
  /** Lives as long as the tensor does: whatever owns the memory. */
  readonly keepAlive?: unknown;
}

/** What owns memory that can never be given back, because a view of it has escaped. */
const keptForGood: unknown[] = [];

const SHARED = [
  "a SharedArrayBuffer cannot be taken over: other threads would keep it.",
  "Copy it into host.allocate().",
] as const;

/** Takes a JavaScript buffer over. */
export function wrapBuffer(
  target: Target,
  memory: ArrayBuffer | ArrayBufferView,
  init: LayoutInit | undefined,
): HostTensor {
  const buffer = memory instanceof ArrayBuffer ? memory : memory.buffer;
  if (!(buffer instanceof ArrayBuffer)) {
    throw refused(...SHARED);
  }
  if (buffer.detached) throw refused("the buffer is detached.", "It was transferred, or taken over before.");
  if (isOurs(buffer)) {
    throw refused("the buffer is a view of a samepage tensor.", "Map or slice that tensor instead.");
  }
  if (buffer.resizable) {
    throw refused("a resizable buffer can only be copied.", "Pass buffer.transferToFixedLength(), which copies it.");
  }
  const byteOffset = memory instanceof ArrayBuffer ? 0 : memory.byteOffset;
  const byteLength = memory.byteLength;
  if (byteLength === 0) throw refused("the buffer is empty.");
  const address = addressOf(new Uint8Array(buffer), "host");
  if (findAllocation(address, buffer.byteLength) !== undefined) {
    throw refused("samepage has a tensor over the buffer's memory.", "Map or slice that tensor instead.");
  }
  const dtype = memory instanceof ArrayBuffer ? "u8" : dtypeOf(memory) ?? "u8";
  const count = dtype === "u8" ? byteLength : (memory as Uint16Array).length;
  const asked = layout(init ?? { shape: [count], dtype });
  if (asked.byteOffset + asked.byteLength > byteLength) {
    throw new LayoutError(
      `shape: the layout needs ${asked.byteOffset + asked.byteLength} bytes, the buffer has ${byteLength}.`,
      {
        api: "host",
        argument: "shape",
      },
    );
  }
  const made = layout({ ...asked, byteOffset: asked.byteOffset + byteOffset });
  const taken = transferred(buffer);
  const block: Block = {
    kind: "host.buffer",
    address,
    byteLength: taken.byteLength,
    free: (fate) => {
      if (fate !== "unused") keptForGood.push(taken);
    },
  };
  return ownedTensor(target, new Allocation(block), address, made, "read-write", { taken });
}

/** Wraps memory that somebody else owns. */
export function wrapPointer(
  target: Target,
  address: Address,
  init: LayoutInit | undefined,
  options: WrapOptions,
): HostTensor {
  if (init === undefined) throw refused("a pointer needs a layout.", "Pass { shape, dtype }.", "init");
  if (address <= 0n) throw refused("the pointer is null.");
  const made = layout(init);
  const start = (address + BigInt(made.byteOffset)) as Address;
  if (start + BigInt(made.byteLength) > 2n ** 64n) throw refused("the range reaches past the last address.");
  const known = findAllocation(start, made.byteLength);
  if (known === undefined) probePages(start, made.byteLength);
  const access = options.access ?? "read-write";
  const allocation = known ?? new Allocation(foreignBlock(start, made.byteLength, options.keepAlive));
  return ownedTensor(target, allocation, address, made, access, {}, options.keepAlive);
}

function foreignBlock(address: Address, byteLength: number, keepAlive: unknown): Block {
  let kept = keepAlive;
  const free = (fate: Fate) => {
    if (fate !== "unused") keptForGood.push(kept);
    kept = undefined;
  };
  return { kind: "host.foreign", address, byteLength, free };
}

/** The address in a pointer object. @throws {ArgumentError} for anything else. */
export function addressIn(pointer: Deno.PointerValue): Address {
  if (Object.prototype.toString.call(pointer) === "[object SharedArrayBuffer]") throw refused(...SHARED);
  try {
    const value = () => Deno.UnsafePointer.value(pointer);
    if (typeof pointer === "object") return BigInt(permitted("to look at a pointer", "host", value)) as Address;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw refused(`${typeof pointer} is neither a buffer nor a pointer.`);
}

function transferred(buffer: ArrayBuffer): ArrayBuffer {
  try {
    return buffer.transfer();
  } catch (error) {
    throw refused(
      `the buffer cannot be taken over (${error instanceof Error ? error.message : error}).`,
      "Copy it into host.allocate().",
    );
  }
}

function refused(what: string, hint?: string, argument: string = "memory"): ArgumentError {
  return new ArgumentError(`${argument}: ${what}`, {
    api: "host",
    fn: "wrap",
    argument,
    ...(hint === undefined ? {} : { hint }),
  });
}
