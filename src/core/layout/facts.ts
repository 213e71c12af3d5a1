import type { Colour } from "./frame_info.ts";
import { sizeOf } from "./dtype.ts";
import type { Layout } from "./layout.ts";

/** FFmpeg's names of the matrices that {@link Colour} knows. */
const MATRICES: Readonly<Record<string, NonNullable<Colour["matrix"]>>> = {
  smpte170m: "bt601",
  bt470bg: "bt601",
  bt709: "bt709",
  bt2020nc: "bt2020",
};

/** FFmpeg's name of a matrix. */
export function matrixNameOf(colour: Colour = {}): string | undefined {
  return Object.keys(MATRICES).find((name) => MATRICES[name] === colour.matrix);
}

/** A colour by FFmpeg's name of its matrix; undefined if neither is known. */
export function colourOf(matrixName: string | undefined, range: Colour["range"]): Colour | undefined {
  const matrix = MATRICES[matrixName ?? ""];
  return matrix === undefined && range === undefined ? undefined : known({ matrix, range });
}

/** The facts that are known. */
export function known<T extends object>(facts: T): { readonly [K in keyof T]?: NonNullable<T[K]> } {
  return Object.freeze(Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== undefined))) as T;
}

/**
 * Bytes from a row to the next, as media libraries count them; of sound, all bytes of a plane. Undefined where there are
 * gaps within a row, which they do not know.
 */
export function rowStrideOf({ shape, strides, dtype, byteLength }: Layout): number | undefined {
  let dense = sizeOf(dtype);
  for (let at = shape.length - 1; at > 0; dense *= shape[at--]) if (strides[at] !== dense) return undefined;
  return shape.length > 1 ? strides[0] : byteLength;
}
