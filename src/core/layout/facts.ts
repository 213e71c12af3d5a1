import type { Colour, MediaFacts, PixelsInfo } from "./frame_info.ts";
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
function matrixNameOf(colour: Colour = {}): string | undefined {
  return nameIn(MATRICES, colour.matrix);
}

/** A colour by FFmpeg's name of its matrix; undefined if neither is known. */
export function colourOf(matrixName: string | undefined, range: Colour["range"]): Colour | undefined {
  const matrix = MATRICES[matrixName ?? ""];
  return matrix === undefined && range === undefined ? undefined : known({ matrix, range });
}

/**
 * FFmpeg's names of what H.273 has numbers for, by these: containers, codecs and devices all have the same. Where chroma
 * lies, FFmpeg counts from 1 on, and H.273 from 0. A number without a name is reserved, or says that it is unknown.
 */
const CODED: Readonly<Record<"matrix" | "primaries" | "transfer" | "chromaLocation", readonly string[]>> = {
  matrix: [
    ...[
      "gbr",
      "bt709",
      "",
      "",
      "fcc",
      "bt470bg",
      "smpte170m",
      "smpte240m",
      "ycgco",
      "bt2020nc",
      "bt2020c",
      "smpte2085",
    ],
    ...["chroma-derived-nc", "chroma-derived-c", "ictcp", "ipt-c2", "ycgco-re", "ycgco-ro"],
  ],
  primaries: [
    ...["", "bt709", "", "", "bt470m", "bt470bg", "smpte170m", "smpte240m", "film", "bt2020"],
    ...["smpte428", "smpte431", "smpte432", ...Array<string>(9).fill(""), "ebu3213"],
  ],
  transfer: [
    ...[
      "",
      "bt709",
      "",
      "",
      "bt470m",
      "bt470bg",
      "smpte170m",
      "smpte240m",
      "linear",
      "log100",
      "log316",
      "iec61966-2-4",
    ],
    ...["bt1361e", "iec61966-2-1", "bt2020-10", "bt2020-12", "smpte2084", "smpte428", "arib-std-b67"],
  ],
  chromaLocation: ["", "left", "center", "topleft", "top", "bottomleft", "bottom"],
};

/** A fact that has a number. */
export type CodedFact = keyof typeof CODED;

export const CODED_FACTS = Object.keys(CODED) as readonly CodedFact[];

/** The facts that have these numbers. */
export function codedFacts(codeOf: (fact: CodedFact) => number): Pick<MediaFacts, CodedFact> {
  return known(Object.fromEntries(CODED_FACTS.map((fact) => [fact, CODED[fact][codeOf(fact)] || undefined])));
}

/** The number of a fact of a picture's; undefined where it is unknown. */
export function codeOf(fact: CodedFact, { media = {}, colour }: PixelsInfo): number | undefined {
  const name = media[fact] ?? (fact === "matrix" ? matrixNameOf(colour) : undefined);
  const code = !name ? -1 : CODED[fact].indexOf(name);
  return code < 0 ? undefined : code;
}

/** The name under which a table has a value. */
export function nameIn<N extends string>(table: { readonly [T in N]?: unknown }, value: unknown): N | undefined {
  return (Object.keys(table) as N[]).find((name) => table[name] === value);
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
