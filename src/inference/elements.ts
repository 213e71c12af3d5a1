import { InteropError } from "../core/errors.ts";
import type { DType } from "../core/layout/dtype.ts";

/** What the elements of a model's value, or of a runtime's object, are in a tensor. */
export interface ElementKind {
  /** The type that has their bits. */
  readonly dtype: DType;
  /** What the runtime calls them, where no dtype is that: `"boolean"`. */
  readonly elements?: string;
}

/** What a runtime calls elements. */
export interface ElementNames {
  /** The API, as errors name it. */
  readonly api: string;
  /** The function that says what elements are. */
  readonly fn: string;
  /** The enumeration's name in C. */
  readonly type: string;
  /** The number of each dtype there. */
  readonly dtypes: Readonly<Record<DType, number>>;
  /** Elements that no dtype is, and the dtype that has their bits. */
  readonly others: Readonly<Record<string, { readonly type: number; readonly dtype: DType }>>;
  /** The number of texts. */
  readonly texts: number;
}

/** The elements that a runtime has in common with tensors. */
export class Elements {
  /** All dtypes. */
  readonly dtypes: readonly DType[];
  readonly #names: ElementNames;

  /** By their names. */
  constructor(names: ElementNames) {
    this.#names = names;
    this.dtypes = Object.keys(names.dtypes) as DType[];
  }

  /** The runtime's number. */
  typeOf(dtype: DType, elements?: string): number {
    return elements === undefined ? this.#names.dtypes[dtype] : this.#names.others[elements].type;
  }

  /** What elements of a number are in a tensor. @throws {InteropError} for those that no tensor has: texts, 4 bits. */
  kindOf(type: number, argument: string): ElementKind {
    const { api, fn, dtypes, others, texts, type: enumeration } = this.#names;
    const dtype = this.dtypes.find((dtype) => dtypes[dtype] === type);
    if (dtype !== undefined) return { dtype };
    const elements = Object.keys(others).find((name) => others[name].type === type);
    if (elements !== undefined) return { dtype: others[elements].dtype, elements };
    const what = type === texts ? "texts" : `elements of ${enumeration} ${type}`;
    throw new InteropError(`${argument} has ${what}, which no tensor has.`, { api, fn, hint: "Convert the model." });
  }
}
