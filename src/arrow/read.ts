/**
 * Reads other code's structs. The kernel is asked first whether each can be read, and every value is checked.
 *
 * @module
 */
import { type Address, NULL } from "../../ffi/address.ts";
import * as flag from "../../ffi/arrow/constants.ts";
import { ArrowArray, ArrowSchema, readArrowArray, readArrowSchema } from "../../ffi/arrow/structs.ts";
import { type DType, sizeOf } from "../core/layout/dtype.ts";
import { type Layout, layout } from "../core/layout/layout.ts";
import { probeText, readObject } from "../core/native/foreign_addresses.ts";
import { ABOUT, checks, EXTENSION, FORMATS, OTHERS, TENSOR } from "./formats.ts";

/** The elements of one column. */
export interface ReadColumn {
  readonly name: string;
  readonly address: Address;
  readonly layout: Layout;
}

/** All columns of a record batch, or an array as the only one. */
export interface ReadArray {
  readonly isBatch: boolean;
  readonly columns: readonly ReadColumn[];
}

const DTYPES: ReadonlyMap<string, DType> = new Map(Object.entries(FORMATS).map(([dtype, f]) => [f, dtype as DType]));
const FLAGS = flag.ARROW_FLAG_NULLABLE | flag.ARROW_FLAG_DICTIONARY_ORDERED | flag.ARROW_FLAG_MAP_KEYS_SORTED;

/** The limits of frames' planes and tensors' dimensions, and of names, metadata pairs and metadata texts (bytes). */
const [MAX_COLUMNS, MAX_DIMENSIONS, LONGEST_TEXT, MAX_PAIRS, LONGEST_VALUE] = [64, 31, 4096, 1024, 1 << 20];

/** @throws {ArgumentError} for structs that cannot be read or contradict themselves, and elements that no tensor has. */
export function readArray(schema: Address, array: Address): ReadArray {
  const [type, data] = [schemaAt(schema, "schema"), arrayAt(array, "array")];
  if (type.format !== "+s") return { isBatch: false, columns: [columnOf(nodeOf(type, data, ""), data.length, 0n)] };
  assertPlain(type, data, "", 1, type.n_children);
  if (type.n_children < 1n || type.n_children > MAX_COLUMNS) {
    throw checks.wrong("schema", `expected 1 to ${MAX_COLUMNS} columns, got ${type.n_children}.`);
  }
  const [types, datas] = [childrenOf(type, "schema", ""), childrenOf(data, "array", "")];
  const columns = types.map((child, i) => {
    const path = `column ${i}: `;
    const node = nodeOf(schemaAt(child, "schema", path), arrayAt(datas[i], "array", path), path);
    assertReaches(node.length, data, 1n, path);
    return columnOf(node, data.length, data.offset);
  });
  return { isBatch: true, columns };
}

interface Node {
  readonly path: string;
  readonly name: string;
  readonly dtype: DType;
  /** The shape of one element: empty for numbers, else that of the list. */
  readonly shape: readonly bigint[];
  readonly data: Address;
  readonly length: bigint;
  /** The offset of its first element from `data`, in numbers of the dtype. */
  readonly start: bigint;
}

type Schema = ReturnType<typeof schemaAt>;
type Data = ReturnType<typeof arrayAt>;

const AGAIN = "Whoever takes the structs first moves them: have the producer export the array again.";

function schemaAt(address: Address, argument: string, path = "") {
  const said = readArrowSchema(readObject(address, ArrowSchema.size, "arrow", argument), 0);
  if (said.release === NULL) throw checks.wrong("schema", `${path}it was released, or moved.`, AGAIN);
  if (said.format === NULL) throw checks.wrong("schema", `${path}it has no format.`);
  if ((said.flags & ~FLAGS) !== 0n) throw checks.wrong("schema", `${path}it has unknown flags: ${said.flags}.`);
  return { ...said, format: probeText(said.format, LONGEST_TEXT, "arrow", "schema") };
}

function arrayAt(address: Address, argument: string, path = "") {
  const said = readArrowArray(readObject(address, ArrowArray.size, "arrow", argument), 0);
  if (said.release === NULL) throw checks.wrong("array", `${path}it was released, or moved.`, AGAIN);
  for (const name of ["length", "offset", "n_buffers", "n_children"] as const) {
    if (said[name] >= 0n && said[name] <= Number.MAX_SAFE_INTEGER) continue;
    throw checks.wrong("array", `${path}${name} is ${said[name]}.`);
  }
  if (said.length === 0n) throw checks.wrong("array", `${path}it has no elements, and a tensor has one at least.`);
  if (said.null_count < -1n || said.null_count > said.length) {
    throw checks.wrong("array", `${path}null_count is ${said.null_count}, of ${said.length} elements.`);
  }
  return said;
}

function nodeOf(type: Schema, data: Data, path: string, depth = 0): Node {
  const { format } = type;
  const dtype = DTYPES.get(format);
  const name = type.name === NULL ? "" : probeText(type.name, LONGEST_TEXT, "arrow", "schema");
  if (dtype !== undefined) {
    const [, elements] = assertPlain(type, data, path, 2, 0n);
    if (elements === NULL) throw checks.wrong("array", `${path}its buffer of elements is null.`);
    return { path, name, dtype, shape: [], data: elements, length: data.length, start: data.offset };
  }
  const size = /^\+w:([1-9][0-9]{0,14})$/.exec(format)?.[1];
  if (size === undefined) {
    const kind = Object.keys(OTHERS).filter((start) => format.startsWith(start)).sort().at(-1);
    const what = kind === undefined ? "which is not an Arrow format" : `whose elements are ${OTHERS[kind]}`;
    throw checks.wrong("schema", `${path}its format is ${JSON.stringify(format)}, ${what}.`, NUMBERS);
  }
  assertPlain(type, data, path, 1, 1n);
  if (depth === MAX_DIMENSIONS) throw checks.wrong("schema", `${path}its lists lie too deep within each other.`);
  const [inner, innerData] = [childrenOf(type, "schema", path)[0], childrenOf(data, "array", path)[0]];
  const into = `${path}items: `;
  const node = nodeOf(schemaAt(inner, "schema", into), arrayAt(innerData, "array", into), into, depth + 1);
  const count = BigInt(size);
  assertReaches(node.length, data, count, into);
  const shape = shapeOf(type, [count, ...node.shape], path);
  return {
    ...node,
    path,
    name,
    shape,
    length: data.length,
    start: node.start + data.offset * product([count, ...node.shape]),
  };
}

const NUMBERS = "Numbers can be shared, lists of a fixed size of them, and record batches of such columns.";

/** Throws unless there are exactly so many buffers and children, and no nulls. Returns the buffers. */
function assertPlain(type: Schema, data: Data, path: string, buffers: number, children: bigint): Address[] {
  if (type.dictionary !== NULL || data.dictionary !== NULL) {
    throw checks.wrong("schema", `${path}it is encoded by a dictionary.`, "Decode it first: dictionary_decode().");
  }
  if (type.n_children !== children || data.n_children !== children) {
    const got = `${type.n_children} in the schema and ${data.n_children} in the array`;
    throw checks.wrong("array", `${path}${type.format} has ${children} children, and there are ${got}.`);
  }
  if (data.n_buffers !== BigInt(buffers)) {
    throw checks.wrong("array", `${path}${type.format} has ${buffers} buffers, and the array has ${data.n_buffers}.`);
  }
  const all = pointersAt(data.buffers, buffers, "array");
  if (data.null_count === 0n || (data.null_count < 0n && all[0] === NULL)) return all;
  const some = data.null_count < 0n
    ? "an unknown number of nulls"
    : data.null_count === 1n
    ? "1 null"
    : `${data.null_count} nulls`;
  const hint = "Fill them first (fill_null), or have them counted (null_count) if there are none.";
  throw checks.wrong("array", `${path}it has ${some}, and every element of a tensor is a number.`, hint);
}

function assertReaches(length: bigint, { offset, length: count }: Data, each: bigint, path: string): void {
  const needed = (offset + count) * each;
  if (length >= needed) return;
  throw checks.wrong("array", `${path}its parent needs ${needed} elements, and there are ${length}.`);
}

function childrenOf({ children, n_children }: Schema | Data, argument: string, path: string): Address[] {
  const all = pointersAt(children, Number(n_children), argument);
  if (!all.includes(NULL)) return all;
  throw checks.wrong(argument, `${path}child ${all.indexOf(NULL)} is null.`);
}

function pointersAt(address: Address, count: number, argument: string): Address[] {
  return [...new BigUint64Array(readObject(address, 8 * count, "arrow", argument).buffer)] as Address[];
}

/** The shape of a list's elements: the extension type of tensors has its own, and others have that of their storage. */
function shapeOf({ metadata }: Schema, stored: readonly bigint[], path: string): readonly bigint[] {
  const pairs = metadata === NULL ? {} : pairsAt(metadata, path);
  if (pairs[EXTENSION] !== TENSOR) return stored;
  const wrong = (what: string) => checks.wrong("schema", `${path}its ${TENSOR} ${what}.`);
  const said = jsonIn(pairs[ABOUT]);
  const { shape, permutation } = (said ?? {}) as { readonly shape?: unknown; readonly permutation?: unknown };
  const isSize = (n: unknown) => Number.isSafeInteger(n) && (n as number) > 0;
  if (!Array.isArray(shape) || !shape.every(isSize)) throw wrong("has no shape");
  if (Array.isArray(permutation) && permutation.some((to, from) => to !== from)) throw wrong("is permuted");
  const sizes = shape.map(BigInt);
  if (product(sizes) === product(stored)) return sizes;
  throw wrong(`has the shape ${shape}, and ${product(stored)} elements`);
}

function jsonIn(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return undefined;
  }
}

function pairsAt(address: Address, path: string): Record<string, string> {
  let at = address;
  const take = (byteLength: number) => {
    const view = readObject(at, byteLength, "arrow", "schema");
    at = at + BigInt(byteLength) as Address;
    return view;
  };
  const number = (most: number) => {
    const n = take(4).getInt32(0, true);
    if (n < 0 || n > most) throw checks.wrong("schema", `${path}its metadata has a length of ${n}.`);
    return n;
  };
  const text = (length: number) => length === 0 ? "" : new TextDecoder().decode(take(length));
  const count = number(MAX_PAIRS);
  return Object.fromEntries(
    Array.from({ length: count }, () => [text(number(LONGEST_VALUE)), text(number(LONGEST_VALUE))]),
  );
}

/** The rows of a node from an offset on, as a tensor's layout and address. */
function columnOf({ path, name, dtype, shape, data, start }: Node, rows: bigint, offset: bigint): ReadColumn {
  const size = BigInt(sizeOf(dtype));
  const address = data + (start + offset * product(shape)) * size;
  const all = [rows, ...shape];
  const end = address + product(all) * size;
  if (end > 2n ** 64n || product(all) * size > Number.MAX_SAFE_INTEGER) {
    throw checks.unfit("array", `${path}its elements reach beyond all addresses.`);
  }
  if (address % size !== 0n) {
    throw checks.unfit("array", `${path}0x${address.toString(16)} is not a multiple of ${size}, the size of ${dtype}.`);
  }
  return { name, address: address as Address, layout: layout({ shape: all.map(Number), dtype }) };
}

function product(sizes: readonly bigint[]): bigint {
  return sizes.reduce((product, n) => product * n, 1n);
}
