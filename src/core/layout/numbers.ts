import { aKind, shown } from "../argument.ts";
import type { ArgumentError } from "../errors.ts";
import type { DType } from "./dtype.ts";

type Write = (view: DataView, offset: number, value: number | bigint) => void;

export class Numbers {
  readonly dtype: DType;
  readonly size: number;
  /** Writes one, little-endian: all devices that this runs on are. */
  readonly write: Write;
  readonly #whole: readonly [least: bigint, most: bigint] | undefined;
  /** The same range for numbers: comparing them with bigints takes longer than all the rest. */
  readonly #least: number;
  readonly #most: number;

  /** `whole` is the range of whole numbers; without it, any number that does not round to infinity will do. */
  constructor(dtype: DType, size: number, write: Write, whole?: readonly [least: bigint, most: bigint]) {
    this.dtype = dtype;
    this.size = size;
    this.write = write;
    this.#whole = whole;
    this.#least = Number(whole?.[0] ?? -Infinity);
    this.#most = Number(whole?.[1] ?? Infinity);
  }

  within(least: bigint, most: bigint): Numbers {
    return new Numbers(this.dtype, this.size, this.write, [least, most]);
  }

  #refusalOfFloat(value: number): string | undefined {
    if (Number.isFinite(rounded(this.size, value)) || !Number.isFinite(value)) return undefined;
    return `${value} is beyond the range of ${this.dtype}.`;
  }

  /** Why a value is not one of them, as the rest of a sentence that begins with its name; undefined if it is. */
  refusal(value: unknown): string | undefined {
    const whole = this.#whole;
    if (typeof value === "number") {
      if (whole === undefined) return this.#refusalOfFloat(value);
      if (Number.isSafeInteger(value) && value >= this.#least && value <= this.#most) return undefined;
      if (Number.isInteger(value) && value > this.#least && value < this.#most) {
        return `${value} is beyond the numbers that JavaScript holds exactly; pass a bigint.`;
      }
    } else if (typeof value !== "bigint" || whole === undefined) return `expected a number, got ${aKind(value)}.`;
    else if (value >= whole[0] && value <= whole[1]) return undefined;
    return `expected a whole number from ${whole[0]} to ${whole[1]}, got ${shown(value)}.`;
  }
}

function rounded(size: number, value: number): number {
  if (size === 8) return value;
  return size === 4 ? Math.fround(value) : Math.f16round(value);
}

function signed(dtype: DType, bits: bigint, write: Write): Numbers {
  return new Numbers(dtype, Number(bits) / 8, write, [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n]);
}

function unsigned(dtype: DType, bits: bigint, write: Write): Numbers {
  return new Numbers(dtype, Number(bits) / 8, write, [0n, 2n ** bits - 1n]);
}

/** Writes a number in two halves: making a bigint of it would take longer than the rest. */
function writeLong(view: DataView, offset: number, value: number | bigint): void {
  if (typeof value === "bigint") return view.setBigInt64(offset, value, true);
  view.setUint32(offset, value, true);
  view.setInt32(offset + 4, Math.floor(value / 2 ** 32), true);
}

export const NUMBERS: { readonly [D in DType]: Numbers } = {
  u8: unsigned("u8", 8n, (view, at, value) => view.setUint8(at, Number(value))),
  i8: signed("i8", 8n, (view, at, value) => view.setInt8(at, Number(value))),
  u16: unsigned("u16", 16n, (view, at, value) => view.setUint16(at, Number(value), true)),
  i16: signed("i16", 16n, (view, at, value) => view.setInt16(at, Number(value), true)),
  f16: new Numbers("f16", 2, (view, at, value) => view.setFloat16(at, Number(value), true)),
  u32: unsigned("u32", 32n, (view, at, value) => view.setUint32(at, Number(value), true)),
  i32: signed("i32", 32n, (view, at, value) => view.setInt32(at, Number(value), true)),
  f32: new Numbers("f32", 4, (view, at, value) => view.setFloat32(at, Number(value), true)),
  u64: unsigned("u64", 64n, writeLong),
  i64: signed("i64", 64n, writeLong),
  f64: new Numbers("f64", 8, (view, at, value) => view.setFloat64(at, Number(value), true)),
};

/** The bytes of values of a dtype. @throws what `wrong` makes of an invalid value. */
export function encoded(
  values: readonly unknown[],
  dtype: DType,
  wrong: (refusal: string) => ArgumentError,
): Uint8Array<ArrayBuffer> {
  const numbers = NUMBERS[dtype];
  const bytes = new Uint8Array(values.length * numbers.size);
  const view = new DataView(bytes.buffer);
  values.forEach((value, i) => {
    const refusal = numbers.refusal(value);
    if (refusal !== undefined) throw wrong(refusal);
    numbers.write(view, i * numbers.size, value as number | bigint);
  });
  return bytes;
}
