import type { Address } from "../../ffi/address.ts";
import { Spares } from "../core/life/spares.ts";
import { allOrNothing } from "../core/life/undo.ts";
import type { InMemory, StructType } from "../core/native/struct_type.ts";
import { avutil, made, struct } from "./library.ts";
import type { Structs } from "./versions.ts";

/** The fields of an AVFrame. */
export type Fields = InMemory<Structs["AVFrame"]>;

let frames: StructType<Structs["AVFrame"]> | undefined;

/** How this libavutil's AVFrames are read. */
export function avFrames(): StructType<Structs["AVFrame"]> {
  return frames ??= struct.type("AVFrame");
}

/** Reads an AVFrame, which its owner keeps valid. */
export function fieldsAt(address: Address): Fields {
  return avFrames().at(address);
}

/**
 * AVFrames without memory that a context keeps: to make one, and a view of it, takes longer than a reference to memory.
 * Another context's frame over the same bytes may outlive the context.
 */
export class SpareFrames extends Spares<Fields> {
  constructor() {
    super(make, ({ address }) => avutil().fns.av_frame_unref(address), ({ address }) => freed(address));
  }
}

function make(): Fields {
  const address = made(avutil().fns.av_frame_alloc(), "av_frame_alloc");
  return allOrNothing("making an AVFrame", () => fieldsAt(address), [() => freed(address)]);
}

/** Frees an AVFrame, and with it the references that it has. */
export function freed(address: Address): void {
  avutil().fns.av_frame_free(new BigUint64Array([address]));
}
