import { type Address, NULL } from "../../ffi/address.ts";
import type { AVFrame } from "../../ffi/avutil57/structs.ts";
import type { StructLayout } from "../../ffi/layout.ts";
import { libc } from "../core/native/libc.ts";
import { viewAt } from "../core/native/pin.ts";
import { allOrNothing } from "../core/life/undo.ts";
import { avutil, made } from "./library.ts";

/** The fields of an AVFrame, each read and written where it lies, and the memory in which its arrays are. */
export interface Fields extends AVFrame {
  readonly address: Address;
  readonly view: DataView<ArrayBuffer>;
}

class InMemory {
  readonly address: Address;
  readonly view: DataView<ArrayBuffer>;

  constructor(address: Address, view: DataView<ArrayBuffer>) {
    this.address = address;
    this.view = view;
  }
}

/** How the four types of its fields are read and written. */
const ACCESSORS: Readonly<Record<string, (at: number) => PropertyDescriptor & ThisType<InMemory>>> = {
  i32: (at) => ({
    get() {
      return this.view.getInt32(at, true);
    },
    set(value: number) {
      this.view.setInt32(at, value, true);
    },
  }),
  u32: (at) => ({
    get() {
      return this.view.getUint32(at, true);
    },
    set(value: number) {
      this.view.setUint32(at, value, true);
    },
  }),
  i64: (at) => ({
    get() {
      return this.view.getBigInt64(at, true);
    },
    set(value: bigint) {
      this.view.setBigInt64(at, value, true);
    },
  }),
  u64: (at) => ({
    get() {
      return this.view.getBigUint64(at, true);
    },
    set(value: bigint) {
      this.view.setBigUint64(at, value, true);
    },
  }),
};

/** The bytes of the widest field. */
const WORD = 8;

/** Reads the fields of AVFrames where this libavutil has them. */
class Reader {
  /** Up to the end of the last field: a minor version may have appended others since. */
  readonly byteLength: number;
  readonly #Fields: new (address: Address, view: DataView<ArrayBuffer>) => Fields;
  readonly #copy: Fields;
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor({ fields }: StructLayout) {
    class Laid extends InMemory {}
    for (const [name, { offset, type }] of Object.entries(fields)) {
      Object.defineProperty(Laid.prototype, name, ACCESSORS[type](offset));
    }
    this.#Fields = Laid as unknown as new (address: Address, view: DataView<ArrayBuffer>) => Fields;
    this.byteLength = Math.max(...Object.values(fields).map(({ offset }) => offset + WORD));
    this.#bytes = new Uint8Array(this.byteLength);
    this.#copy = new this.#Fields(NULL, new DataView(this.#bytes.buffer));
  }

  at(address: Address): Fields {
    return new this.#Fields(address, viewAt(address, this.byteLength, "ffmpeg"));
  }

  /** What stands there now. It is valid until the next call. */
  copyOf(address: Address): Fields {
    libc().memcpy(this.#bytes, address, BigInt(this.byteLength));
    return this.#copy;
  }
}

let reader: Reader | undefined;

/** How this libavutil's AVFrames are read. */
export function avFrames(): Reader {
  return reader ??= new Reader(avutil().structs.AVFrame);
}

/** Reads an AVFrame, which is valid for as long as its owner says. */
export function fieldsAt(address: Address): Fields {
  return avFrames().at(address);
}

const MOST_SPARE = 32;

/** AVFrames without memory that a context keeps: to make one, and a view of it, takes longer than a reference to memory. */
export class SpareFrames {
  readonly #frames: Fields[] = [];
  /** How many it keeps: none once its context has ended, which another context's frame over the same bytes may outlive. */
  #most = MOST_SPARE;

  /** One that refers to nothing. */
  take(): Fields {
    const frame = this.#frames.pop();
    if (frame !== undefined) return frame;
    const address = made(avutil().fns.av_frame_alloc(), "av_frame_alloc");
    return allOrNothing("making an AVFrame", () => fieldsAt(address), [() => freed(address)]);
  }

  /** Ends its references, and keeps it or frees it. */
  give(frame: Fields): void {
    if (this.#frames.length >= this.#most) return freed(frame.address);
    avutil().fns.av_frame_unref(frame.address);
    this.#frames.push(frame);
  }

  free(): void {
    this.#most = 0;
    for (const { address } of this.#frames.splice(0)) freed(address);
  }
}

/** Frees an AVFrame, and with it the references that it has. */
export function freed(address: Address): void {
  avutil().fns.av_frame_free(new BigUint64Array([address]));
}
