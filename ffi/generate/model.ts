import type { StructLayout } from "../layout.ts";
import type { FunctionEntry } from "./library.ts";
import type { ForeignType } from "./types.ts";

/** A function, ready to be written. */
export interface ForeignFunction {
  /** What TypeScript calls it. */
  readonly name: string;
  /** Its list entry. */
  readonly entry: FunctionEntry;
  /** What the library exports it as: C's name of it, or the mangled one of C++. */
  readonly symbol: string;
  /** Its prototype, as a person would write it. */
  readonly prototype: string;
  /** Its parameters. */
  readonly parameters: readonly { readonly name: string; readonly foreign: ForeignType }[];
  /** What it returns. */
  readonly result: ForeignType;
}

/** A constant, ready to be written. */
export interface Constant {
  /** What TypeScript calls it. */
  readonly name: string;
  /** What C or C++ calls it. */
  readonly expression: string;
  /** Its type, from the list. */
  readonly type: string;
  /** How the header writes it. */
  readonly text: string;
  /** Its value: a bigint where the type has 64 bits. */
  readonly value: number | bigint;
}

/** A struct, ready to be written. */
export interface Struct {
  /** As C or C++ writes the type, e.g. `struct iovec`. */
  readonly type: string;
  /** What TypeScript calls it: its tag or typedef, e.g. `iovec`. */
  readonly name: string;
  /** Its layout. */
  readonly layout: StructLayout;
  /** Of each field: how `offsetof` names it, and its type. */
  readonly members: Readonly<Record<string, { readonly designator: string; readonly foreign: ForeignType }>>;
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
