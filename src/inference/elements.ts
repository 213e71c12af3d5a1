import { InteropError } from "../core/errors.ts";
import type { DType } from "../core/layout/dtype.ts";

/** The elements of a model's value or a runtime's object, as a tensor has them. */
export interface ElementKind {
  /** The dtype with the same bits. */
  readonly dtype: DType;
  /** The runtime's name for them, if no dtype means the same: `"boolean"`. */
  readonly elements?: string;
}

/** A runtime's names and numbers of element types. */
export interface ElementNames {
  /** The API, as errors name it. */
  readonly api: string;
  /** The function that reports a type. */
  readonly fn: string;
  /** The enumeration's name in C. */
  readonly type: string;
  /** The number of each dtype in it. */
  readonly dtypes: Readonly<Record<DType, number>>;
  /** Types that no dtype means, and the dtype with the same bits. */
  readonly others: Readonly<Record<string, { readonly type: number; readonly dtype: DType }>>;
  /** The number of the string type. */
  readonly texts: number;
}

/** The element types that a runtime has in common with tensors. */
export class Elements {
  /** All dtypes. */
  readonly dtypes: readonly DType[];
  readonly #names: ElementNames;

  /** From a table of names. */
  constructor(names: ElementNames) {
    this.#names = names;
    this.dtypes = Object.keys(names.dtypes) as DType[];
  }

  /** The runtime's number. */
  typeOf(dtype: DType, elements?: string): number {
    return elements === undefined ? this.#names.dtypes[dtype] : this.#names.others[elements].type;
  }

  /** The dtype of a type's elements. @throws {InteropError} for types that no tensor has: strings, 4-bit numbers. */
  kindOf(type: number, argument: string): ElementKind {
    const { api, fn, dtypes, others, texts, type: enumeration } = this.#names;
    const dtype = this.dtypes.find((dtype) => dtypes[dtype] === type);
    if (dtype !== undefined) return { dtype };
    const elements = Object.keys(others).find((name) => others[name].type === type);
    if (elements !== undefined) return { dtype: others[elements].dtype, elements };
    const what = type === texts ? "strings" : `elements of ${enumeration} ${type}`;
    throw new InteropError(`${argument} has ${what}, which no tensor has.`, { api, fn, hint: "Convert the model." });
  }
}
