import type { Address } from "../../../ffi/address.ts";
import type { Undo } from "../life/undo.ts";
import { permitted } from "./library.ts";

/** Memory that a native call may be reading, kept from collection until the call returns. */
let held: ArrayBufferView | undefined;

/** The address of the first byte of one of our own views. It is valid for as long as the view is reachable. */
export function addressOf(bytes: ArrayBufferView, api: string): Address {
  // A small typed array lies in V8's heap, where it may move, until its buffer is requested.
  const { buffer, byteOffset } = bytes;
  return permitted("to look at a buffer", api, () => {
    const base = Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer as ArrayBuffer));
    return BigInt(base) + BigInt(byteOffset) as Address;
  });
}

/** A view of a struct at an address. Valid as long as the memory is. */
export function viewAt(address: Address, byteLength: number, api: string): DataView<ArrayBuffer> {
  return permitted("to look at memory", api, () => {
    const pointer = Deno.UnsafePointer.create(address)!;
    return new DataView(Deno.UnsafePointerView.getArrayBuffer(pointer, byteLength) as ArrayBuffer);
  });
}

/** The bytes at an address, detached when `undo` runs. */
export function bytesAt(address: Address, byteLength: number, api: string, undo: Undo): Uint8Array<ArrayBuffer> {
  const { buffer } = viewAt(address, byteLength, api);
  undo.push(() => void buffer.transfer(0));
  return new Uint8Array(buffer);
}

/** The address in a pointer object, 0 for null; undefined for anything else. */
export function addressInPointer(value: unknown, api: string): Address | undefined {
  if (typeof value !== "object") return undefined;
  try {
    const pointer = value as Deno.PointerValue;
    return BigInt(permitted("to look at a pointer", api, () => Deno.UnsafePointer.value(pointer))) as Address;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Calls `use` with the address of `bytes`. They stay alive and in place until it returns. */
export function pinned<R>(bytes: ArrayBufferView, api: string, use: (address: Address) => R): R {
  const outer = held;
  held = bytes;
  try {
    return use(addressOf(bytes, api));
  } finally {
    held = outer;
  }
}

/** A struct at one address for good: for calls that are made again and again, and look at it while they last. */
export class FixedStruct {
  readonly view: DataView<ArrayBuffer>;
  readonly #bytes: Uint8Array;
  #address: Address | undefined;

  constructor(byteLength: number) {
    this.view = new DataView(new ArrayBuffer(byteLength));
    this.#bytes = new Uint8Array(this.view.buffer);
  }

  get address(): Address {
    return this.#address ??= addressOf(this.view, "core");
  }

  cleared(): this {
    this.#bytes.fill(0);
    return this;
  }
}
