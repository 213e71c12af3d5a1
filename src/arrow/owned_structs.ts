import { type Address, NULL } from "../../ffi/address.ts";
import { ArrowArray, ArrowDeviceArray, ArrowSchema } from "../../ffi/arrow/structs.ts";
import { owned } from "../core/life/ledger.ts";
import type { Undo } from "../core/life/undo.ts";
import { callAt, CallbackWords } from "../core/native/callbacks.ts";
import { keep } from "./lent.ts";

const [SCHEMA, ARRAY] = [0, ArrowSchema.size / 8];
const WORDS = ARRAY + ArrowDeviceArray.size / 8;

/** The two structs of one array, in memory of ours: exported, or moved from a producer. */
export class OwnedStructs {
  readonly #words: CallbackWords;
  readonly schema: Address;
  /** An `ArrowDeviceArray` begins with its `ArrowArray`: it is the address of both. */
  readonly array: Address;

  /** Both begin as released. `undo` releases those that were set since, and frees the memory. */
  constructor(undo: Undo) {
    const words = this.#words = new CallbackWords(WORDS, undo);
    [this.schema, this.array] = [words.addressOf(SCHEMA), words.addressOf(ARRAY)];
    owned("arrow.structs", undo, () => {
      call(this.schema, words.all[SCHEMA + ArrowSchema.fields.release.offset / 8]);
      call(this.array, words.all[ARRAY + ArrowArray.fields.release.offset / 8]);
      keep.letGo(); // they may have been an export of ours
    });
  }

  set(struct: "schema" | "array", bytes: Uint8Array): void {
    const { all: { buffer, byteOffset } } = this.#words;
    new Uint8Array(buffer).set(bytes, byteOffset + 8 * (struct === "schema" ? SCHEMA : ARRAY));
  }
}

/** Calls a release function, if there is one: it is null in a struct that was released or moved. */
function call(struct: Address, release: bigint): void {
  if (release !== NULL) callAt(release as Address, struct);
}
