import type { Address } from "../../ffi/address.ts";
import { ArrowArray, ArrowDeviceArray, ArrowSchema } from "../../ffi/arrow/structs.ts";
import { ARROW_DEVICE_CPU, ARROW_FLAG_NULLABLE } from "../../ffi/arrow/constants.ts";
import { isMade, type Names, optionsIn } from "../core/argument.ts";
import { isContiguous } from "../core/layout/layout.ts";
import { registerLater, unregister } from "../core/life/finalizers.ts";
import { Resource } from "../core/life/resource.ts";
import { allOrNothing, newUndo, type Undo, undoAll } from "../core/life/undo.ts";
import { Printed, withFacts } from "../core/printed.ts";
import { Frame, planesOf } from "../core/tensors/frame.ts";
import { Tensor } from "../core/tensors/tensor.ts";
import { loadFunctions } from "../guard/functions.ts";
import { assertMachine } from "../guard/machine.ts";
import { Draft, type Word } from "./draft.ts";
import { ABOUT, checks, devices, EXTENSION, FORMATS, NO_NUMBER, TENSOR } from "./formats.ts";
import { keep, loans } from "./lent.ts";
import { OwnedStructs } from "./owned_structs.ts";
import { releaseCode } from "./release_code.ts";

/** Options of {@link toArrow}. */
export interface ToArrowOptions {
  /**
   * How an array of several dimensions is described: as nested fixed-size lists (`"list"`, which every library knows), or as
   * Arrow's extension type for tensors (`"tensor"`, arrow.fixed_shape_tensor). `"list"` by default.
   */
  readonly as?: "list" | "tensor";
  /** The names of a frame's columns: those of its table, or `"0"`, `"1"`, … by default. */
  readonly names?: readonly string[];
}

const OPTIONS: Names<ToArrowOptions> = { as: true, names: true };
const KINDS = { list: true, tensor: true };

/** A node of both trees, the schema's and the array's. */
interface Node {
  readonly name: string;
  readonly format: string;
  readonly metadata?: Uint8Array;
  readonly length: number;
  readonly buffers: readonly bigint[];
  readonly children: readonly Node[];
}

/**
 * An `ArrowSchema` and an `ArrowArray` over a tensor's bytes, or over a frame's as the columns of a record batch: Arrow's C
 * data interface, for any library in this process. A consumer moves the structs, and may release them on any thread. Until
 * then the bytes are lent for reading, and nothing can write them. The tensor's end releases the structs that no consumer
 * has moved, and waits in the background for the others.
 *
 * @param given a contiguous tensor or frame in the host's or CUDA's memory
 * @throws {ArgumentError} for any other value, other kinds of memory, and wrong options.
 * @throws {LayoutError} for rows with gaps, and columns of different lengths.
 * @throws {AccessError} if the bytes are lent for writing, or work on them waits for a promise.
 * @throws {DisposedError} if the tensor or frame was disposed.
 * @throws {NativeCallError} if memory runs out.
 * @throws {InteropError} on machines that are not x86-64.
 *
 * @example
 * ```ts
 * import { host } from "@samepage/interop";
 * import { fromArrow, toArrow } from "@samepage/interop/arrow";
 *
 * using tensor = host.allocate({ shape: [4, 2], dtype: "f32" });
 * using arrow = toArrow(tensor); // arrow.schema and arrow.array are addresses for a consumer
 * using again = fromArrow(arrow.schema, arrow.array, { contexts: [host] });
 * console.log(`${again}`, again.access); // host tensor [4,2] f32 read
 * ```
 */
export function toArrow(given: Tensor | Frame, options: ToArrowOptions = {}): ArrowExport {
  if (!isMade<Tensor>(given, Tensor) && !isMade<Frame>(given, Frame)) {
    throw checks.wrongKind("given", "a tensor or a frame", given, "host.wrap() makes a tensor of an array, in place.");
  }
  const { as = "list", names } = optionsIn(options, OPTIONS);
  checks.nameIn(as, KINDS, "as");
  const code = releaseFunctions();
  return keep.lend(given, undefined, (access) => {
    const { addresses, ...device } = placesOf(planesOf<Tensor>(given));
    const root = rootOf(given, addresses, as, names);
    return loans.lend<ArrowExport>(given, access, ([notice], undo) => {
      const left = countOf(root);
      const [schemas, arrays] = [new Draft(left), new Draft(left, notice)];
      const roots = [writeSchema(schemas, root, code.schema), writeArray(arrays, root, code.array, device)];
      const structs = newUndo();
      const made = allOrNothing("describing a tensor for Arrow", (blocks) => {
        const [schema, array] = [schemas.done(blocks), arrays.done(blocks)];
        const made = new OwnedStructs(structs);
        made.set("schema", schema.subarray(roots[0], roots[0] + ArrowSchema.size));
        made.set("array", array.subarray(roots[1], roots[1] + ArrowDeviceArray.size));
        return made; // their release frees the blocks
      });
      undo.push(() => undoAll(structs, "releasing"));
      return new ArrowExport(made, device.device_type, given.resource, structs);
    }, [given.described.planes]);
  });
}

let functions: Record<"schema" | "array", Address> | undefined;

function releaseFunctions() {
  if (functions !== undefined) return functions;
  assertMachine("What releases the structs of toArrow()", { api: "arrow", fn: "toArrow" });
  return functions = loadFunctions("arrow-release", {
    schema: releaseCode(ArrowSchema),
    array: releaseCode(ArrowArray),
  });
}

/** The device of all planes, and each plane's address. @throws {ArgumentError} for memory that Arrow has no name for. */
function placesOf(planes: readonly Tensor[]) {
  const places = planes.flatMap((plane) => devices.placeOf(plane) ?? []);
  const [first] = places;
  if (places.length < planes.length || places.some(({ type }) => type !== first.type)) {
    const { target: { kind } } = planes[0];
    throw checks.wrong("given", `Arrow has no device for memory of ${kind}.`, "Map it first: graph.map(tensor, host).");
  }
  return {
    device_type: first.type,
    device_id: first.type === ARROW_DEVICE_CPU ? NO_NUMBER : BigInt(first.ordinal),
    addresses: places.map(({ handle, byteOffset }) => handle + BigInt(byteOffset)),
  };
}

function rootOf(given: Tensor | Frame, addresses: readonly bigint[], as: "list" | "tensor", names: unknown): Node {
  const planes = planesOf<Tensor>(given);
  if (!(given instanceof Frame)) {
    if (names !== undefined) throw checks.wrong("names", "a tensor has no columns.");
    return nodeOf(given, addresses[0], "", as);
  }
  const { info } = given;
  const all = names ?? planes.map((_, i) => info.type === "table" ? info.columns[i].name : `${i}`);
  if (!Array.isArray(all) || all.length !== planes.length || all.some((name) => typeof name !== "string")) {
    throw checks.wrong("names", `expected ${planes.length} strings, one for each column.`);
  }
  all.forEach((name, i) => checks.assertText(name, names === undefined ? `info.columns[${i}].name` : `names[${i}]`));
  const children = planes.map((plane, i) => nodeOf(plane, addresses[i], all[i], as));
  const other = children.find(({ length }) => length !== children[0].length);
  if (other === undefined) {
    return { name: "", format: "+s", length: children[0].length, buffers: [0n], children };
  }
  throw checks.unfit(
    "given",
    `a record batch has columns of one length, and its planes have ${children[0].length} and ${other.length} rows.`,
    "Pass its planes by themselves: frame.planes[0].",
  );
}

function nodeOf({ layout, name: text }: Tensor, address: bigint, name: string, as: "list" | "tensor"): Node {
  if (!isContiguous(layout)) {
    throw checks.unfit(
      "given",
      `${text} has gaps between its elements, which Arrow cannot describe.`,
      "Copy it to a layout without gaps first.",
    );
  }
  const { shape: [length = 1, ...rest], dtype } = layout;
  const sizes = as === "tensor" && rest.length > 0 ? [rest.reduce((product, n) => product * n, 1)] : rest;
  const elements = sizes.reduce((product, n) => product * n, length);
  let node: Node = { name: "item", format: FORMATS[dtype], length: elements, buffers: [0n, address], children: [] };
  for (const size of sizes.toReversed()) {
    node = { name: "item", format: `+w:${size}`, length: node.length / size, buffers: [0n], children: [node] };
  }
  if (as === "list" || rest.length === 0) return { ...node, name };
  return { ...node, name, metadata: pairs({ [EXTENSION]: TENSOR, [ABOUT]: JSON.stringify({ shape: rest }) }) };
}

/** A schema's metadata: the number of pairs, then each text after its byte length; numbers have 32 bits. */
function pairs(all: Readonly<Record<string, string>>): Uint8Array {
  const number = (n: number) => new Uint8Array(new Int32Array([n]).buffer);
  const texts = Object.entries(all).flat().map((text) => new TextEncoder().encode(text));
  const parts = texts.flatMap((text) => [number(text.length), text]);
  return new Uint8Array([number(texts.length / 2), ...parts].flatMap((part) => [...part]));
}

function countOf({ children }: Node): number {
  return children.reduce((sum, child) => sum + countOf(child), 1);
}

function writeSchema(draft: Draft, { name, format, metadata, children }: Node, release: Address): number {
  const of = children.map((child) => writeSchema(draft, child, release));
  return draft.struct(ArrowSchema, {
    format: draft.text(format),
    name: draft.text(name),
    flags: ARROW_FLAG_NULLABLE, // the default of other libraries, whose types would not equal this one without it
    metadata: metadata === undefined ? 0n : draft.bytes(metadata),
    ...childrenIn(draft, of, release),
  });
}

/** @param device the root's device; the root is an `ArrowDeviceArray` */
function writeArray(
  draft: Draft,
  { length, buffers, children }: Node,
  release: Address,
  device?: { readonly device_type: number; readonly device_id: bigint },
): number {
  const of = children.map((child) => writeArray(draft, child, release));
  return draft.struct(device === undefined ? ArrowArray : { ...ArrowDeviceArray, fields: ROOT }, {
    length: BigInt(length),
    n_buffers: BigInt(buffers.length),
    buffers: draft.words(buffers),
    ...childrenIn(draft, of, release),
    ...device && { device_id: device.device_id, device_type: BigInt(device.device_type) },
  });
}

const ROOT = { ...ArrowDeviceArray.fields, ...ArrowArray.fields };

function childrenIn(draft: Draft, of: readonly number[], release: Address): Record<string, Word> {
  return { n_children: BigInt(of.length), children: of.length === 0 ? 0n : draft.words(of), release, private_data: 0 };
}

/** What {@link toArrow} returns: two structs that a consumer may move until this is disposed. */
export class ArrowExport extends Printed implements Disposable {
  /** Arrow's number of the type of device: 1 is the CPU, 2 CUDA. */
  readonly deviceType: number;
  /** The structs' end of life. */
  readonly resource: Resource;
  readonly #structs: Pick<OwnedStructs, "schema" | "array">;

  /** Takes over the structs. It ends with `of`, the tensor or frame. */
  constructor({ schema, array }: OwnedStructs, deviceType: number, of: Resource, undo: Undo) {
    super();
    this.#structs = { schema, array };
    this.deviceType = deviceType;
    this.resource = new Resource({ name: `${of.name} for Arrow`, owners: [of], undo });
    registerLater(this, this.resource);
  }

  /** The address of the `ArrowSchema`. @throws {DisposedError} once this or the tensor was disposed. */
  get schema(): Address {
    this.resource.assertLive();
    return this.#structs.schema;
  }

  /**
   * The address of the `ArrowArray`, and of the `ArrowDeviceArray` that begins with it.
   * @throws {DisposedError} once this or the tensor was disposed: another export may lie there.
   */
  get array(): Address {
    this.resource.assertLive();
    return this.#structs.array;
  }

  /** The name of the tensor or frame, and the end of life. */
  toString(): string {
    return withFacts(this.resource.name, [this.resource.end]);
  }

  /** Releases the structs that no consumer has moved, and frees their memory. Idempotent. */
  [Symbol.dispose](): void {
    unregister(this.resource);
    this.resource.dispose();
  }
}
