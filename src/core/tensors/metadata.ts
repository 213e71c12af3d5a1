import { isPlain, literal, object, shown, unexpected } from "../argument.ts";
import { bytesIn, Checks } from "../checks.ts";
import type { FrameInfo } from "../layout/frame_info.ts";
import { Printed } from "../printed.ts";

/**
 * The dictionaries that samepage knows, by name. A program adds its own by declaration merging, or uses them without a type.
 * Values are plain data: strings, finite numbers, bigints of 64 bits, booleans, a Uint8Array, and lists of those.
 */
export interface MetadataFields {
  /** When to show the frame, when to decode it, and how long to show it, in nanoseconds. */
  timestamp: { readonly pts?: bigint; readonly dts?: bigint; readonly duration?: bigint };
  /** Which stream it came from, and its number there; the batch, region and object that it was cut out for. */
  source: {
    readonly stream?: string;
    readonly sequence?: number;
    readonly streamId?: number;
    readonly batchIndex?: number;
    readonly roiId?: number;
    readonly objectId?: number;
  };
  /** An object in the picture; its corners are parts of width and height, from 0 to 1. */
  detection: {
    readonly xMin: number;
    readonly yMin: number;
    readonly xMax: number;
    readonly yMax: number;
    readonly confidence?: number;
    readonly id?: number;
    readonly parentId?: number;
    readonly labelId?: number;
    readonly label?: string;
  };
  /** What a model made of the frame, or of the detection with this id: one tensor of its output. */
  inferenceResult: {
    readonly objectId?: number;
    readonly modelName?: string;
    readonly layerName?: string;
    readonly format?: string;
    readonly data?: Uint8Array;
    readonly dims?: readonly number[];
    readonly precision?: string;
    readonly layout?: string;
  };
  /** What a model takes the frame, or the detection with this id, for. */
  classification: {
    readonly label?: string;
    readonly labelId?: number;
    readonly confidence?: number;
    readonly objectId?: number;
    readonly modelName?: string;
    readonly layerName?: string;
  };
  /** The same object has the same id in each frame; `objectId` is that of its detection in this one. */
  objectId: { readonly id: number; readonly objectId?: number };
  /** What a program says of the frame to others, as JSON. */
  json: { readonly message: string };
  /** Something that was heard, from a time to another, in nanoseconds. */
  audioEvent: { readonly label?: string; readonly id?: number; readonly start: bigint; readonly end: bigint };
  /** How the picture was moved: the six numbers of a 2 × 3 matrix, row by row. */
  affineTransform: { readonly matrix: readonly number[] };
  /** The model behind results, and its layers. */
  modelInfo: {
    readonly modelName?: string;
    readonly inputNames?: readonly string[];
    readonly inputTypes?: readonly string[];
    readonly inputShapes?: readonly (readonly number[])[];
    readonly outputNames?: readonly string[];
    readonly outputTypes?: readonly string[];
    readonly outputShapes?: readonly (readonly number[])[];
  };
  /** How a picture has to be turned or mirrored to be shown: the nine numbers of FFmpeg's display matrix, row by row. */
  displayMatrix: { readonly matrix: readonly number[] };
  /** Captions of ATSC A53, Part 4: groups of three bytes. */
  closedCaptions: { readonly data: Uint8Array };
  /** The light of the pictures of a film, in candelas for each square metre: that of the brightest pixel, and of the brightest picture. */
  contentLight: { readonly most: number; readonly average: number };
  /**
   * The display on which a film was graded, in fractions, each a numerator and a denominator: x and y of red, green, blue
   * and of white, and the least and the most candelas for each square metre.
   */
  masteringDisplay: {
    readonly primaries?: readonly (readonly number[])[];
    readonly whitePoint?: readonly (readonly number[])[];
    readonly luminance?: readonly (readonly number[])[];
  };
  /** Any other, of any plain data. */
  [name: string]: { readonly [key: string]: unknown };
}

const TYPES = {
  "a number": (value: unknown) => typeof value === "number",
  "a whole number": Number.isSafeInteger,
  "a bigint": (value: unknown) => typeof value === "bigint",
  "a string": (value: unknown) => typeof value === "string",
  "a Uint8Array": (value: unknown) => value instanceof Uint8Array,
  "a list of numbers": (value: unknown) => isListOf(value, "number"),
  "a list of strings": (value: unknown) => isListOf(value, "string"),
  "a list of lists of numbers": (value: unknown) =>
    Array.isArray(value) && value.every((list) => isListOf(list, "number")),
};

type TypeOf<V> = V extends string ? "a string"
  : V extends number ? "a number" | "a whole number"
  : V extends bigint ? "a bigint"
  : V extends Uint8Array ? "a Uint8Array"
  : V extends readonly string[] ? "a list of strings"
  : V extends readonly number[] ? "a list of numbers"
  : "a list of lists of numbers";

/** The keys of a known dictionary, which fail to compile where they differ from {@link MetadataFields}. */
type KeysOf<D> = { readonly [K in keyof D]-?: TypeOf<Exclude<D[K], undefined>> };

const number = "a number";
const whole = "a whole number";
const bigint = "a bigint";
const string = "a string";
const strings = "a list of strings";
const numbers = "a list of numbers";
const shapes = "a list of lists of numbers";

type Known =
  | "timestamp"
  | "source"
  | "detection"
  | "inferenceResult"
  | "classification"
  | "objectId"
  | "json"
  | "audioEvent"
  | "affineTransform"
  | "modelInfo"
  | "displayMatrix"
  | "closedCaptions"
  | "contentLight"
  | "masteringDisplay";

const KNOWN: { readonly [N in Known]: KeysOf<MetadataFields[N]> } = {
  timestamp: { pts: bigint, dts: bigint, duration: bigint },
  source: {
    ...{ stream: string, sequence: whole },
    ...{ streamId: whole, batchIndex: whole, roiId: whole, objectId: whole },
  },
  detection: {
    ...{ xMin: number, yMin: number, xMax: number, yMax: number, confidence: number },
    ...{ id: whole, parentId: whole, labelId: whole, label: string },
  },
  inferenceResult: {
    objectId: whole,
    ...{ modelName: string, layerName: string, format: string, data: "a Uint8Array" },
    ...{ dims: numbers, precision: string, layout: string },
  },
  classification: {
    ...{ label: string, labelId: whole, confidence: number, objectId: whole },
    ...{ modelName: string, layerName: string },
  },
  objectId: { id: whole, objectId: whole },
  json: { message: string },
  audioEvent: { label: string, id: whole, start: bigint, end: bigint },
  affineTransform: { matrix: numbers },
  modelInfo: {
    modelName: string,
    ...{ inputNames: strings, inputTypes: strings, inputShapes: shapes },
    ...{ outputNames: strings, outputTypes: strings, outputShapes: shapes },
  },
  displayMatrix: { matrix: numbers },
  closedCaptions: { data: "a Uint8Array" },
  contentLight: { most: whole, average: whole },
  masteringDisplay: { primaries: shapes, whitePoint: shapes, luminance: shapes },
};

/** The keys without which a known dictionary says nothing. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  detection: ["xMin", "yMin", "xMax", "yMax"],
  objectId: ["id"],
  json: ["message"],
  audioEvent: ["start", "end"],
  affineTransform: ["matrix"],
  displayMatrix: ["matrix"],
  closedCaptions: ["data"],
  contentLight: ["most", "average"],
};

/** Lists in lists in a list: more is a mistake, and so is a list that holds itself. */
const DEEPEST = 3;

/** Characters of a dictionary's name: a receiver of messages expects no more. */
export const LONGEST_NAME = 256;

interface Named {
  readonly name: string;
  readonly fields: MetadataFields[string];
}

/**
 * What is known of a frame besides its bytes: a list of named dictionaries, several of one name where there are several. It
 * travels with every map. What it holds are copies, and frozen.
 *
 * @example
 * ```ts
 * import { Metadata } from "@samepage/interop";
 *
 * const metadata = new Metadata({ timestamp: { pts: 40_000_000n } });
 * metadata.set("source", { stream: "front door" });
 * metadata.add("detection", { xMin: 0.1, yMin: 0.2, xMax: 0.3, yMax: 0.4, label: "cat" });
 * metadata.add("detection", { xMin: 0.5, yMin: 0.6, xMax: 0.7, yMax: 0.8, label: "dog" });
 * console.log(metadata.get("timestamp")?.pts, metadata.all("detection").map(({ label }) => label));
 * // 40000000n [ "cat", "dog" ]
 * ```
 */
export class Metadata extends Printed {
  #list: Named[] = [];

  /**
   * Begins with one dictionary of each name.
   * @throws {ArgumentError} if one is not plain data, or `fields` is not an object.
   */
  constructor(fields?: Partial<MetadataFields>) {
    super();
    if (fields === undefined) return;
    for (const [name, given] of Object.entries(object(fields, "fields"))) this.add(name, given!);
  }

  /** True for what this class has made, and not for a proxy of it. For mappers. */
  static owns(value: object): boolean {
    return #list in value;
  }

  /** Its dictionaries, in one line. `console.log` shows the same. */
  toString(): string {
    const all = this.#list.map(({ name, fields }) => {
      const values = Object.entries(fields).map(([key, value]) => `${shown(key)}: ${literal(value)}`);
      return `${shown(name)} { ${values.join(", ")} }`;
    });
    return `metadata { ${all.length === 0 ? "nothing is set" : all.join(", ")} }`;
  }

  /** Returns the first dictionary of a name, or undefined. */
  get<N extends string>(name: N): MetadataFields[N] | undefined {
    return this.#list.find((named) => named.name === name)?.fields as MetadataFields[N] | undefined;
  }

  /** Returns all dictionaries of a name, in their order. */
  all<N extends string>(name: N): readonly MetadataFields[N][] {
    return this.#list.filter((named) => named.name === name).map(({ fields }) => fields as MetadataFields[N]);
  }

  /**
   * Adds a dictionary after all others.
   * @throws {ArgumentError} if it is not plain data, or a known key has another type.
   */
  add<N extends string>(name: N, fields: MetadataFields[N]): this {
    this.#list.push({ name, fields: checked(name, plain(name, fields)) });
    return this;
  }

  /**
   * Sets these keys of the first dictionary of a name, or adds one; what is `undefined` is unset, and a dictionary without
   * keys goes. @throws like {@link add}
   */
  set<N extends string>(
    name: N,
    fields: { readonly [K in keyof MetadataFields[N]]?: MetadataFields[N][K] | undefined },
  ): this {
    const at = this.#list.findIndex((named) => named.name === name);
    const all = { ...this.#list[at]?.fields, ...plain(name, fields) };
    if (Object.values(all).every((value) => value === undefined)) {
      this.#list = this.#list.filter((_, i) => i !== at);
      return this;
    }
    this.#list[at < 0 ? this.#list.length : at] = { name, fields: checked(name, all) };
    return this;
  }

  /** Removes one dictionary, or all of a name. Returns true if there was one. */
  delete(which: string | MetadataFields[string]): boolean {
    const before = this.#list;
    this.#list = before.filter(({ name, fields }) => name !== which && fields !== which);
    return this.#list.length < before.length;
  }

  /** Removes all. */
  clear(): void {
    this.#list = [];
  }

  /** Has what another one has now, in place of its own. For mappers. */
  assign(other: Metadata): void {
    this.#list = [...other.#list]; // what it holds is frozen
  }

  /** The name and the dictionary of each, in their order. */
  entries(): IterableIterator<[string, MetadataFields[string]]> {
    return this.#list.map(({ name, fields }): [string, MetadataFields[string]] => [name, fields]).values();
  }
}

/** An object in a picture, and what is known of it: dictionaries of the frame's metadata that belong together. */
export interface Region {
  /** Pixels from the left edge of the picture. */
  readonly x: number;
  /** Pixels from its upper edge. */
  readonly y: number;
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
  /** The object. */
  readonly detection: MetadataFields["detection"];
  /** What models take it for: the classifications whose `objectId` is its `id`. */
  readonly classifications: readonly MetadataFields["classification"][];
  /** What else models made of it. */
  readonly results: readonly MetadataFields["inferenceResult"][];
  /** The id that it has in every frame, where a tracker follows it. */
  readonly objectId?: number;
}

/** The detections of a picture, in pixels. */
export function regionsOf(info: FrameInfo, metadata: Metadata): readonly Region[] {
  if (info.type === "audio" || info.type === "table") return [];
  const { width: across, height: down } = info;
  return metadata.all("detection").map((detection) => {
    const { id, xMin, yMin, xMax, yMax } = detection;
    const [x, y] = [Math.round(xMin * across), Math.round(yMin * down)];
    const isAbout = ({ objectId }: { readonly objectId?: number }) => id !== undefined && objectId === id;
    const followed = metadata.all("objectId").find(isAbout);
    return {
      ...{ x, y, width: Math.round(xMax * across) - x, height: Math.round(yMax * down) - y, detection },
      classifications: metadata.all("classification").filter(isAbout),
      results: metadata.all("inferenceResult").filter(isAbout),
      ...followed !== undefined && { objectId: followed.id },
    };
  });
}

const checks: Checks = new Checks("core");

export function assertMetadata(given: unknown): asserts given is Metadata | undefined {
  if (given !== undefined) checks.assertInstance(given, Metadata, "metadata");
}

/** A frozen copy. @throws {ArgumentError} */
function checked(name: string, given: object): MetadataFields[string] {
  const known: Readonly<Record<string, keyof typeof TYPES>> = Object.hasOwn(KNOWN, name) ? KNOWN[name as Known] : {};
  const fields: [string, unknown][] = [];
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const where = () => `metadata.${shown(name)}.${shown(key)}`;
    const type = Object.hasOwn(known, key) ? known[key] : undefined;
    if (type !== undefined && !TYPES[type](value)) throw unexpected(where(), type, value);
    fields.push([text(key, where), copied(value, where, DEEPEST)]);
  }
  const all = Object.fromEntries(fields);
  const missing = (Object.hasOwn(REQUIRED, name) ? REQUIRED[name] : []).find((key) => !Object.hasOwn(all, key));
  if (missing !== undefined) throw unexpected(`metadata.${name}.${missing}`, "a value", undefined);
  return Object.freeze(all);
}

function plain(name: unknown, given: object): object {
  if (typeof name !== "string") throw unexpected("name", "a string", name);
  text(name, () => "name");
  if (name.length > LONGEST_NAME) throw unexpected("name", `at most ${LONGEST_NAME} characters`, name);
  if (!isPlain(object(given, "fields")) || Array.isArray(given)) throw unexpected("fields", "a plain object", given);
  return given;
}

/** `where` is called for an error alone: a ring's reader sets two dictionaries for each frame. */
function copied(value: unknown, where: () => string, depth: number): unknown {
  if (typeof value === "string") return text(value, where);
  if (typeof value === "boolean" || Number.isFinite(value)) return value;
  if (typeof value === "bigint" && BigInt.asIntN(64, value) === value) return value;
  if (value instanceof Uint8Array) return bytesIn(value, (what, hint) => checks.wrong(where(), what, hint))!.slice();
  if (Array.isArray(value) && depth > 0) {
    return Object.freeze(Array.from(value, (each, i) => copied(each, () => `${where()}[${i}]`, depth - 1)));
  }
  const expected = "a string, a finite number, a bigint of 64 bits, a boolean, a Uint8Array or a list of those";
  throw unexpected(where(), expected, value);
}

function text(given: string, where: () => string): string {
  if (given.isWellFormed()) return given;
  throw unexpected(where(), "text, without half of a surrogate pair", given);
}

function isListOf(value: unknown, type: "number" | "string"): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === type);
}
