import type { StructLayout } from "../layout.ts";
import type { FunctionEntry } from "./library.ts";
import type { ForeignType } from "./types.ts";

/** A function, ready to be written. */
export interface ForeignFunction {
  /** What TypeScript calls it. */
  readonly name: string;
  /** Its list entry. */
  readonly entry: FunctionEntry;
  /** Its C prototype, as a person would write it. */
  readonly prototype: string;
  /** Its parameters. */
  readonly parameters: readonly { readonly name: string; readonly foreign: ForeignType }[];
  /** What it returns. */
  readonly result: ForeignType;
}

/** A constant, ready to be written. */
export interface Constant {
  /** Its name. */
  readonly name: string;
  /** Its C type, from the list. */
  readonly type: string;
  /** How the header writes it. */
  readonly text: string;
  /** Its value: a bigint where the C type has 64 bits. */
  readonly value: number | bigint;
}

/** A struct, ready to be written. */
export interface Struct {
  /** As C writes the type, e.g. `struct iovec`. */
  readonly type: string;
  /** Its tag or typedef, e.g. `iovec`. */
  readonly name: string;
  /** Its layout. */
  readonly layout: StructLayout;
  /** The type of each field. */
  readonly foreign: Readonly<Record<string, ForeignType>>;
}

/** All that is written of a library. */
export interface Model {
  /** Its functions. */
  readonly functions: readonly ForeignFunction[];
  /** C's names of the handles that its functions and structs use. */
  readonly handles: readonly string[];
  /** Its constants, in the groups of the list. */
  readonly constants: readonly (readonly Constant[])[];
  /** Its error codes. */
  readonly errors: readonly Constant[];
  /** Its structs. */
  readonly structs: readonly Struct[];
}
