import { type Address, NULL } from "../../ffi/address.ts";
import { GST_BUFFER_COPY_META } from "../../ffi/gstreamer/constants.ts";
import { ArgumentError } from "../core/errors.ts";
import type { FrameInfo, PixelsInfo } from "../core/layout/frame_info.ts";
import { cString, textAt } from "../core/native/text.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Metadata, MetadataFields } from "../core/tensors/metadata.ts";
import type { HeldBuffer } from "./held.ts";
import { glib, gobject, gst, gstVideo, made, takenError } from "./library.ts";
import { structs } from "./objects.ts";
import { fieldsOf, newStructure, setFields } from "./structure.ts";

function isPicture(info: FrameInfo): info is PixelsInfo {
  return info.type === "image" || info.type === "picture";
}
type Fields = MetadataFields[string];
type Entry = readonly [name: string, fields: Fields];
/** The dictionaries that a meta stands for. */
type Reader = (meta: Address, info: FrameInfo, taken: Set<number>) => readonly Entry[];

/** What says where planes lie, or keeps other memory: each buffer has its own. */
const PLACED = new Set([
  ...["GstVideoMetaAPI", "GstVideoCropMetaAPI", "GstAudioMetaAPI", "GstParentBufferMetaAPI"],
]);

/** By the names of the metas' types. */
const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["GstVideoRegionOfInterestMetaAPI", regionOf],
  ["GstGVATensorMetaAPI", (meta) => tensorOf(structs.GstGVATensorMeta.at(meta).data as Address)],
  [
    "GstGVAJSONMetaAPI",
    (meta) => [["json", { message: textAt(structs.GstGVAJSONMeta.at(meta).message as Address) ?? "" }]],
  ],
  ["GstGVAAudioEventMetaAPI", (meta) => {
    const { event_type, id, start_timestamp: start, end_timestamp: end } = structs.GstGVAAudioEventMeta.at(meta);
    return [["audioEvent", { label: quarkText(event_type), id, start, end }]];
  }],
]);

/** A meta's type: what reads it, if it stands for dictionaries, or that it is of no other buffer's concern. */
interface Kind {
  readonly read?: Reader;
  readonly isPlaced: boolean;
}

const kinds = new Map<bigint, Kind>();

/** The type of most metas: each frame has a GstVideoMeta. */
let last: { readonly info: bigint; readonly kind: Kind } | undefined;

function kindOf(meta: Address): Kind {
  const { info } = structs.GstMeta.copyOf(meta);
  if (last?.info === info) return last.kind;
  let kind = kinds.get(info);
  if (kind === undefined) kinds.set(info, kind = kindOfInfo(info as Address));
  last = { info, kind };
  return kind;
}

function kindOfInfo(info: Address): Kind {
  const api = textAt(gobject().g_type_name(structs.GstMetaInfo.at(info).api))!;
  const read = READERS.get(api) ?? (gst().gst_meta_info_is_custom(info) !== 0 ? customOf : undefined);
  return { ...read !== undefined && { read }, isPlaced: PLACED.has(api) };
}

const NONE: readonly Address[] = [];
const state = new BigUint64Array(1);

/** The metas of a buffer, in their order; without those that only say where it lies, unless `isAll`. */
function metasIn(buffer: Address, isAll: boolean): readonly Address[] {
  const { gst_buffer_iterate_meta } = gst();
  let metas: Address[] | undefined;
  state[0] = 0n;
  for (let meta; (meta = gst_buffer_iterate_meta(buffer, state)) !== NULL;) {
    if (isAll || !kindOf(meta).isPlaced) (metas ??= []).push(meta);
  }
  return metas ?? NONE;
}

/** The buffer that metadata came from, as long as its frame lives: what is unknown here is in its metas. */
interface Origin {
  readonly held: HeldBuffer;
  readonly info: FrameInfo;
  /** The dictionaries of each meta that has some, in their order. */
  readonly groups: readonly (readonly [kind: Kind, dictionaries: readonly Fields[]])[];
}

const origins = new WeakMap<Metadata, Origin>();

/** Gives a frame over a buffer the metadata that the buffer's metas stand for. */
export function readMetas(held: HeldBuffer, frame: Frame): void {
  const metas = metasIn(held.handle, false);
  if (metas.length === 0) return; // the usual case: it makes neither the frame's info nor its metadata
  const { info, metadata } = frame;
  const groups: [Kind, Fields[]][] = [];
  const taken = new Set<number>();
  for (const meta of metas) {
    const kind = kindOf(meta);
    if (kind.read === undefined) continue;
    const before = [...metadata.entries()].length;
    for (const [name, fields] of kind.read(meta, info, taken)) addIfPlain(metadata, name, fields);
    groups.push([kind, [...metadata.entries()].slice(before).map(([, fields]) => fields)]);
  }
  origins.set(metadata, { held, info, groups });
}

/** A structure may have other values under the names that DL Streamer uses: then it is passed on, and not shown. */
function addIfPlain(metadata: Metadata, name: string, fields: Fields): void {
  try {
    metadata.add(name, fields);
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
  }
}

/** Gives a new buffer the metas that a frame's metadata stands for, and those unknown ones that it came with. */
export function writeMetas(buffer: Address, { info, metadata }: Frame): void {
  if (!origins.has(metadata) && metadata.entries().next().done) return; // the usual case
  const kept = passOn(buffer, info, metadata);
  const rest = [...metadata.entries()].filter(([, fields]) => !kept.has(fields));
  const isAbout = ([name, { objectId }]: Entry, id: unknown) => name in ABOUT && id !== undefined && objectId === id;
  const regions = !isPicture(info) ? [] : rest.filter(([name]) => name === "detection");
  for (const [, fields] of regions) {
    addRegion(
      buffer,
      info as PixelsInfo,
      fields as MetadataFields["detection"],
      rest.filter((entry) => isAbout(entry, fields.id)),
    );
  }
  for (const entry of rest) {
    if (entry[0] === "detection" || regions.some(([, { id }]) => isAbout(entry, id))) continue;
    addMeta(buffer, entry);
  }
}

/** Copies all metas of the buffer that metadata came from, and removes those whose dictionaries have changed since. */
function passOn(buffer: Address, info: FrameInfo, metadata: Metadata): Set<Fields> {
  const kept = new Set<Fields>();
  const origin = origins.get(metadata);
  if (origin === undefined || !origin.held.isHeld || !isOfSize(info, origin.info)) return kept;
  const entries = [...metadata.entries()];
  if (gst().gst_buffer_copy_into(buffer, origin.held.handle, GST_BUFFER_COPY_META, 0n, WHOLE) === 0) {
    throw takenError(NULL, "gst_buffer_copy_into");
  }
  const left = [...origin.groups];
  for (const meta of metasIn(buffer, true)) {
    const kind = kindOf(meta);
    const at = left.findIndex(([of]) => of === kind);
    const [, fields] = left[at] ?? [kind, undefined];
    if (at >= 0) left.splice(at, 1);
    if (fields !== undefined && isWhole(fields, entries)) fields.forEach((one) => kept.add(one));
    else if (fields !== undefined || kind.isPlaced) {
      if (gst().gst_buffer_remove_meta(buffer, meta) === 0) throw takenError(NULL, "gst_buffer_remove_meta");
    }
  }
  return kept;
}

const WHOLE = 2n ** 64n - 1n;

/** True where all that a meta stood for is there still, and nothing has been said of its region since. */
function isWhole(fields: readonly Fields[], entries: readonly Entry[]): boolean {
  const [{ id }] = fields.length > 0 ? fields : [{ id: undefined }];
  const added = entries.filter(([name, one]) => name in ABOUT && id !== undefined && one.objectId === id);
  return fields.every((one) => entries.some(([, there]) => there === one)) &&
    added.every(([, one]) => fields.includes(one));
}

function isOfSize(info: FrameInfo, other: FrameInfo): boolean {
  if (!isPicture(info) || !isPicture(other)) return info.type === other.type;
  return info.width === other.width && info.height === other.height;
}

/** The dictionaries that say `objectId` of a region's `id`; and the structure that each is, where it does not say so. */
const ABOUT: Readonly<Record<string, string>> = {
  classification: "classification",
  inferenceResult: "tensor",
  objectId: "object_id",
};

/** DL Streamer's numbers of types and of layouts. */
const PRECISIONS: Readonly<Record<string, number>> = {
  ...{ FP32: 10, FP16: 11, BF16: 12, FP64: 13, I16: 30, U4: 39, U8: 40, BOOL: 41, I4: 49, I8: 50 },
  ...{ U16: 60, I32: 70, BIN: 71, I64: 72, U64: 73, U32: 74 },
};
const LAYOUTS: Readonly<Record<string, number>> = { ANY: 0, NCHW: 1, NHWC: 2, NC: 193 };
const NUMBERED: Readonly<Record<string, Readonly<Record<string, number>>>> = { precision: PRECISIONS, layout: LAYOUTS };

const REAL = /^(confidence|[xy]_(min|max)|threshold)$/;
const isReal = (name: string) => REAL.test(name);

function ours([name, value]: readonly [string, unknown]): [string, unknown] {
  if (name === "data_buffer") return ["data", value];
  const numbers = NUMBERED[name];
  if (numbers !== undefined && typeof value === "number") {
    return [name, Object.keys(numbers).find((known) => numbers[known] === value) ?? String(value)];
  }
  return [name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), value];
}

function theirs([name, value]: readonly [string, unknown]): [string, unknown] {
  if (name === "data") return ["data_buffer", value];
  if (NUMBERED[name] !== undefined) return [name, NUMBERED[name][value as string] ?? Number(value)];
  return [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value];
}

/** A tensor of DL Streamer's: with a label, it is what a model takes something for. */
function tensorOf(structure: Address, objectId?: number): Entry[] {
  const name = textAt(gst().gst_structure_get_name(structure))!;
  const about = objectId === undefined ? {} : { objectId };
  const fields = { ...Object.fromEntries(fieldsOf(structure).map(ours)), structure: name, ...about };
  return [[name === ABOUT.objectId ? "objectId" : "label" in fields ? "classification" : "inferenceResult", fields]];
}

/** A region of interest, and the structures that are attached to it. */
function regionOf(meta: Address, info: FrameInfo, taken: Set<number>): Entry[] {
  if (!isPicture(info)) return [];
  const { roi_type, id: given, parent_id: parentId, x, y, w, h, params } = structs.GstVideoRegionOfInterestMeta.at(
    meta,
  );
  const { width, height } = info;
  let id = given;
  while (taken.has(id)) id++; // GStreamer's own elements give all of them the same one
  taken.add(id);
  const corners = { xMin: x / width, yMin: y / height, xMax: (x + w) / width, yMax: (y + h) / height };
  const about: Entry[] = [];
  let detected = {};
  for (let node = params as Address; node !== NULL; node = structs.GList.at(node).next as Address) {
    const structure = structs.GList.at(node).data as Address;
    if (textAt(gst().gst_structure_get_name(structure)) !== "detection") about.push(...tensorOf(structure, id));
    else detected = Object.fromEntries(fieldsOf(structure).map(ours));
  }
  const label = quarkText(roi_type);
  const fields = { ...corners, ...detected, ...label !== "" && { label }, id, ...parentId > 0 && { parentId } };
  return [["detection", fields], ...about];
}

function addRegion(
  buffer: Address,
  { width, height }: PixelsInfo,
  { label = "", id, parentId, ...detected }: MetadataFields["detection"],
  about: readonly Entry[],
): void {
  const { xMin, yMin, xMax, yMax } = detected;
  const [left, top] = [Math.round(xMin * width), Math.round(yMin * height)];
  const [right, bottom] = [Math.round(xMax * width), Math.round(yMax * height)];
  const { gst_buffer_add_video_region_of_interest_meta: add, gst_video_region_of_interest_meta_add_param } = gstVideo();
  const meta = made(
    add(buffer, cString(label), left, top, right - left, bottom - top),
    "gst_buffer_add_video_region_of_interest_meta",
  );
  Object.assign(structs.GstVideoRegionOfInterestMeta.at(meta), {
    ...id !== undefined && { id },
    ...parentId !== undefined && { parent_id: parentId },
  });
  const structures: Entry[] = [["detection", { structure: "detection", ...detected }], ...about];
  for (const entry of structures) gst_video_region_of_interest_meta_add_param(meta, structureOf(entry));
}

function structureOf([name, { structure = ABOUT[name], objectId: _, ...fields }]: Entry): Address {
  return newStructure(structure as string, Object.entries(fields).map(theirs), isReal);
}

/** Adds the meta of a dictionary that is not a region's, if the process has such a meta. */
function addMeta(buffer: Address, entry: Entry): void {
  const [name, fields] = entry;
  const { gst_buffer_add_meta, gst_meta_get_info, gst_meta_info_is_custom } = gst();
  const add = (info: Address) => made(gst_buffer_add_meta(buffer, info, NULL), "gst_buffer_add_meta");
  const info = gst_meta_get_info(cString(IMPLEMENTED[name] ?? name));
  if (info === NULL) return;
  if (name === "json") structs.GstGVAJSONMeta.at(add(info)).message = glib().g_strdup(cString(String(fields.message)));
  else if (name === "audioEvent") {
    const { label, id, start, end } = fields as { label: string; id: number; start: bigint; end: bigint };
    const event_type = glib().g_quark_from_string(cString(label));
    Object.assign(structs.GstGVAAudioEventMeta.at(add(info)), {
      event_type,
      id,
      start_timestamp: start,
      end_timestamp: end,
    });
  } else if (name in IMPLEMENTED) {
    const meta = structs.GstGVATensorMeta.at(add(info));
    gst().gst_structure_free(meta.data as Address);
    meta.data = structureOf(entry);
  } else if (gst_meta_info_is_custom(info) !== 0) {
    const meta = made(gst().gst_buffer_add_custom_meta(buffer, cString(name)), "gst_buffer_add_custom_meta");
    setFields(gst().gst_custom_meta_get_structure(meta), Object.entries(fields), () => false);
  }
}

/** The metas of DL Streamer's, by our names. */
const IMPLEMENTED: Readonly<Record<string, string>> = {
  json: "GstGVAJSONMeta",
  audioEvent: "GstGVAAudioEventMeta",
  classification: "GstGVATensorMeta",
  inferenceResult: "GstGVATensorMeta",
};

function customOf(meta: Address): Entry[] {
  const structure = gst().gst_custom_meta_get_structure(meta);
  return [[textAt(gst().gst_structure_get_name(structure))!, Object.fromEntries(fieldsOf(structure))]];
}

function quarkText(quark: number): string {
  return textAt(glib().g_quark_to_string(quark)) ?? "";
}
