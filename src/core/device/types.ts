import type { DType } from "../layout/dtype.ts";
import { NUMBERS, type Numbers } from "../layout/numbers.ts";

export interface Scalar {
  readonly numbers: Numbers;
  readonly dtypes: readonly DType[];
  /** True for a boolean type: it takes `true` and `false` too. */
  readonly isBoolean?: true;
}

export interface Element extends Scalar {
  /** The numbers of a vector; 1 for a number. */
  readonly lanes: number;
  readonly size: number;
  readonly align: number;
}

export interface TypeTableInit {
  readonly scalars: { readonly [name: string]: Scalar };
  readonly spellings?: { readonly [spelling: string]: string };
  /** Matches the name of a vector; captures the name of its number, and their count. */
  readonly vector: RegExp;
  /** True if a vector of three takes the room of four; else it is packed, and aligned like its number. */
  readonly padsThree: boolean;
  readonly mostAlign: number;
}

export class TypeTable {
  readonly #init: TypeTableInit;

  constructor(init: TypeTableInit) {
    this.#init = init;
  }

  /** Undefined if the type is neither a number nor a vector. */
  element(type: string): Element | undefined {
    const { vector, padsThree, mostAlign } = this.#init;
    const single = this.#scalar(type);
    if (single !== undefined) return { ...single, lanes: 1, size: single.numbers.size, align: single.numbers.size };
    const [, base, count] = vector.exec(type) ?? [];
    const scalar = base === undefined ? undefined : this.#scalar(base);
    if (scalar === undefined) return undefined;
    const lanes = Number(count);
    const one = scalar.numbers.size;
    const size = one * (lanes === 3 && padsThree ? 4 : lanes);
    return { ...scalar, lanes, size, align: lanes === 3 && !padsThree ? one : Math.min(size, mostAlign) };
  }

  #scalar(type: string): Scalar | undefined {
    const { scalars, spellings = {} } = this.#init;
    const name = Object.hasOwn(spellings, type) ? spellings[type] : type;
    return Object.hasOwn(scalars, name) ? scalars[name] : undefined;
  }
}

export function scalar(...dtypes: readonly [DType, ...DType[]]): Scalar {
  return { numbers: NUMBERS[dtypes[0]], dtypes };
}
