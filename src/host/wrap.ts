import type { Address } from "../../ffi/address.ts";
import { type Access, accessOf, writes } from "../core/memory/access.ts";
import { type Names, optionsIn } from "../core/argument.ts";
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
import { ownedTensor } from "./owned.ts";
import { probePages, probeWritable } from "../core/native/probe.ts";
import type { HostTensor } from "./tensor.ts";

/** Options of `host.wrap` for a pointer. */
export interface WrapOptions {
  /** What the memory may be used for; read-write by default, which memory that may only be read is refused. */
  readonly access?: Access;
  /** Lives as long as the tensor does: whatever owns the memory. */
  readonly keepAlive?: unknown;
}

const OPTIONS: Names<WrapOptions> = { access: true, keepAlive: true };

/** The kind of a block that somebody else owns. */
const FOREIGN = "host.foreign";

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
  const asked = init === undefined ? undefined : layout(init); // first: it may run the caller's own code
  const whole = isArrayBuffer(memory);
  const { buffer, byteOffset, byteLength } = whole
    ? { buffer: memory, byteOffset: 0, byteLength: bufferLength(memory) }
    : bytesIn(memory, refused)!;
  if (!isArrayBuffer(buffer)) throw refused(...SHARED);
  if (isDetached(buffer)) throw refused("the buffer is detached.", "It was transferred, or taken over before.");
  if (isOurs(buffer)) {
    throw refused("the buffer is a view of a samepage tensor.", "Map or slice that tensor instead.");
  }
  if (isResizable(buffer)) {
    throw refused("a resizable buffer can only be copied.", "Pass buffer.transferToFixedLength(), which copies it.");
  }
  if (byteLength === 0) throw refused("the buffer is empty.");
  const address = addressOf(new Uint8Array(buffer), "host");
  if (findAllocation(address, bufferLength(buffer)) !== undefined) {
    throw refused("samepage has a tensor over the buffer's memory.", "Map or slice that tensor instead.");
  }
  const dtype = whole ? "u8" : dtypeOf(memory) ?? "u8";
  const at = asked ?? layout({ shape: [Math.floor(byteLength / sizeOf(dtype))], dtype });
  if (at.byteOffset + at.byteLength > byteLength) {
    throw new LayoutError(
      `shape: the layout needs ${at.byteOffset + at.byteLength} bytes, the buffer has ${byteLength}.`,
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

/** Wraps memory that somebody else owns. */
export function wrapPointer(
  target: Target,
  address: Address,
  init: LayoutInit | undefined,
  options: WrapOptions,
): HostTensor {
  const { access: wanted, keepAlive } = optionsIn(options, OPTIONS);
  const access = accessOf(wanted, "read-write");
  if (init === undefined) throw refused("a pointer needs a layout.", "Pass { shape, dtype }.", "init");
  if (address <= 0n) throw refused("the pointer is null.");
  const made = layout(init);
  const start = (address + BigInt(made.byteOffset)) as Address;
  if (start + BigInt(made.byteLength) > 2n ** 64n) throw refused("the range reaches past the last address.");
  const closed = closedAt(start, made.byteLength);
  if (closed !== undefined) throw refused(closed.reason, closed.remedy);
  const known = findAllocation(start, made.byteLength);
  if (known === undefined) probePages(start, made.byteLength);
  if (writes(access) && (known === undefined || known.block.kind === FOREIGN)) probeWritable(start, made.byteLength);
  const allocation = known ?? new Allocation(foreignBlock(start, made.byteLength, keepAlive));
  return ownedTensor(target, allocation, address, made, access, {}, keepAlive);
}

function foreignBlock(address: Address, byteLength: number, keepAlive: unknown): Block {
  let kept = keepAlive;
  const free = (fate: Fate) => {
    if (fate !== "unused") keptForGood.push(kept);
    kept = undefined;
  };
  return { kind: FOREIGN, address, byteLength, free };
}

/** The address in a pointer object, 0 for null. @throws {ArgumentError} for anything else. */
export function addressIn(pointer: unknown): Address {
  if (Object.prototype.toString.call(pointer) === "[object SharedArrayBuffer]") throw refused(...SHARED);
  const address = addressInPointer(pointer, "host");
  if (address === undefined) {
    throw refused(
      `${typeof pointer} is neither a buffer nor a pointer.`,
      "Numbers of an array go into a typed array first: new Float32Array([…]).",
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
