/**
 * What a message says about the memory that comes with it.
 *
 * @module
 */
import { ArgumentError } from "../core/errors.ts";
import { type DType, TYPED_ARRAYS } from "../core/layout/dtype.ts";
import {
  assertApart,
  type Colour,
  type FrameInfo,
  frameInfo,
  imageFormatOf,
  imageInfo,
  type MediaFacts,
  mediaFacts,
  planeLayouts,
} from "../core/layout/frame_info.ts";
import { type Layout, layout } from "../core/layout/layout.ts";
import type { WholeMemory } from "../core/device/port.ts";
import type { Access } from "../core/memory/access.ts";
import { LONGEST_NAME, Metadata } from "../core/tensors/metadata.ts";
import { badMessage } from "./errors.ts";
import { decimal, list, oneOf, open, record, text, whole } from "./fields.ts";
import { LONGEST_BODY, MAX_FDS } from "./packet.ts";

/** The kinds of fds that carry memory: the kernel's own, or a device's, which only its drivers can open. */
export type SentKind = "dma-buf" | "memfd" | "opaque-fd";

export const MEMORY_KINDS: readonly SentKind[] = ["dma-buf", "memfd", "opaque-fd"];

export interface SentObject {
  readonly offset: number;
  readonly byteLength: number;
  /** For an opaque fd, which cannot be queried: facts about all of its memory. */
  readonly memory?: SentMemory;
}

export interface SentMemory extends WholeMemory {
  readonly dedicated: boolean;
  /** A number that no other memory has. */
  readonly identity: bigint;
}

export interface Description {
  readonly memory: SentKind;
  /** For opaque fds: the UUID of the device whose driver can open them. */
  readonly device?: string;
  readonly access: Access;
  readonly objects: readonly SentObject[];
  /** The planes of a frame, or the single layout of a tensor. Offsets count from the object's first byte. */
  readonly planes: readonly Layout[];
  readonly info?: FrameInfo;
  /** The frame's `info.media`; the frames of a ring have some in each turn. */
  readonly media?: MediaFacts | undefined;
  readonly metadata?: Metadata;
}

const ACCESSES: readonly Access[] = ["read", "write", "read-write"];
const DTYPES = Object.keys(TYPED_ARRAYS) as readonly DType[];
const MAX_DIMENSIONS = 32;

/** More are taken for a mistake. */
const MAX_DICTIONARIES = 1024;

/** The object in which a plane lies: all planes lie in one, or each in its own. */
function objectOf({ objects }: Pick<Description, "objects">, plane: number): number {
  return objects.length === 1 ? 0 : plane;
}

/** A message's body. @throws {MessageError} if the receiver would refuse it. */
export function bodyOf(description: Description): unknown {
  const body = bodyFor(description);
  descriptionIn(body);
  return body;
}

function bodyFor(description: Description): unknown {
  const { memory, device, access, objects, planes, info, media, metadata } = description;
  return {
    memory,
    ...(device === undefined ? {} : { device }),
    access,
    sync: "done",
    objects: objects.map(({ offset, byteLength, memory }) => ({
      ...{ offset, byteLength },
      ...(memory === undefined ? {} : { memory: { ...memory, identity: `${memory.identity}` } }),
    })),
    planes: planes.map(({ dtype, shape, strides, byteOffset }) => ({ dtype, shape, strides, byteOffset })),
    ...(info === undefined ? {} : bodyOfInfo(info)),
    ...(media === undefined ? {} : { media: bodyOfMedia(media) }),
    ...(metadata === undefined ? {} : { metadata: bodyOfMetadata(metadata) }),
  };
}

function bodyOfInfo(info: FrameInfo): object {
  if (info.type === "audio") {
    const { format, sampleRate, channels, samples, layout } = info;
    return { audio: { format, sampleRate, channels, samples, layout } };
  }
  if (info.type !== "image") {
    throw badMessage(
      "info",
      `a message names a format by its fourcc, and ${info.format} has none. Send its planes as tensors.`,
    );
  }
  const { fourcc, width, height, modifier, colour } = info;
  const image = { fourcc, width, height, modifier: `${modifier}` };
  return { image: colour === undefined ? image : { ...image, colour } };
}

export function bodyOfMedia(media: MediaFacts): unknown {
  return Object.fromEntries(Object.entries(media).map(([name, value]) => [name, bodyOfValue(value)]));
}

export function bodyOfMetadata(metadata: Metadata): unknown {
  return Array.from(metadata.entries(), ([name, fields]) => ({
    name,
    fields: Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, bodyOfValue(value)])),
  }));
}

/** JSON has no bigints, no bytes and no −0: each becomes an object with one property, a form that no other value has. */
function bodyOfValue(value: unknown): unknown {
  if (Object.is(value, -0)) return { number: "-0" };
  if (typeof value === "bigint") return { int: `${value}` };
  if (value instanceof Uint8Array) return { bytes: value.toBase64() };
  return Array.isArray(value) ? value.map(bodyOfValue) : value;
}

export function descriptionIn(body: unknown): Description {
  const optional = ["device", "image", "audio", "media", "metadata"];
  const all = record(body, "body", ["memory", "access", "sync", "objects", "planes"], optional);
  oneOf(all.sync, "sync", ["done"]);
  const objects = list(all.objects, "objects", 1, MAX_FDS).map((given, i): SentObject => {
    const where = `objects[${i}]`;
    const object = record(given, where, ["offset", "byteLength"], ["memory"]);
    return {
      offset: whole(object.offset, `${where}.offset`),
      byteLength: whole(object.byteLength, `${where}.byteLength`, 1),
      ...(object.memory === undefined ? {} : { memory: memoryIn(object.memory, `${where}.memory`) }),
    };
  });
  const info = infoIn(all);
  for (const name of info === undefined ? ["media", "metadata"] : []) {
    if (all[name] !== undefined) throw badMessage(name, "a tensor has none.");
  }
  const description: Description = {
    memory: oneOf(all.memory, "memory", MEMORY_KINDS),
    ...(all.device === undefined ? {} : { device: uuidIn(all.device) }),
    access: oneOf(all.access, "access", ACCESSES),
    objects,
    planes: list(all.planes, "planes", 1, MAX_FDS).map(planeIn),
    ...(info === undefined ? {} : { info }),
    ...(all.media === undefined ? {} : { media: mediaIn(all.media) }),
    ...(all.metadata === undefined ? {} : { metadata: metadataIn(all.metadata) }),
  };
  assertConsistent(description);
  return description;
}

function memoryIn(given: unknown, where: string): SentMemory {
  const memory = record(given, where, ["byteLength", "dedicated", "identity"], ["type"]);
  return {
    byteLength: whole(memory.byteLength, `${where}.byteLength`, 1),
    dedicated: oneOf(memory.dedicated, `${where}.dedicated`, [true, false]),
    identity: decimal(memory.identity, `${where}.identity`, "unsigned"),
    ...(memory.type === undefined ? {} : { type: whole(memory.type, `${where}.type`) }),
  };
}

function uuidIn(given: unknown): string {
  const uuid = text(given, "device", 32);
  if (!/^[0-9a-f]{32}$/.test(uuid)) throw badMessage("device", `expected 32 hexadecimal digits, got "${uuid}".`);
  return uuid;
}

function planeIn(given: unknown, i: number): Layout {
  const where = `planes[${i}]`;
  const plane = record(given, where, ["dtype", "shape", "strides", "byteOffset"]);
  const numbers = (name: string, least: number) =>
    list(plane[name], `${where}.${name}`, 0, MAX_DIMENSIONS)
      .map((value, at) => whole(value, `${where}.${name}[${at}]`, least));
  const init = {
    dtype: oneOf(plane.dtype, `${where}.dtype`, DTYPES),
    shape: numbers("shape", 1),
    strides: numbers("strides", 0),
    byteOffset: whole(plane.byteOffset, `${where}.byteOffset`),
  };
  return checked(where, () => layout(init));
}

function infoIn({ image, audio }: Readonly<Record<string, unknown>>): FrameInfo | undefined {
  if (image !== undefined && audio !== undefined) throw badMessage("body", "expected an image or audio, got both.");
  if (image !== undefined) return imageIn(image);
  if (audio === undefined) return undefined;
  const given = record(audio, "audio", ["format", "sampleRate", "channels", "samples", "layout"]);
  const info: FrameInfo = {
    type: "audio",
    format: oneOf(given.format, "audio.format", DTYPES),
    sampleRate: whole(given.sampleRate, "audio.sampleRate", 1),
    channels: whole(given.channels, "audio.channels", 1),
    samples: whole(given.samples, "audio.samples", 1),
    layout: oneOf(given.layout, "audio.layout", ["interleaved", "planar"]),
  };
  return checked("audio", () => frameInfo(info));
}

function imageIn(image: unknown): FrameInfo {
  const given = record(image, "image", ["fourcc", "width", "height", "modifier"], ["colour"]);
  const fourcc = whole(given.fourcc, "image.fourcc");
  const format = imageFormatOf(fourcc);
  if (format === undefined) throw badMessage("image.fourcc", `no samepage format has the fourcc ${fourcc}.`);
  const init = {
    format,
    width: whole(given.width, "image.width", 1),
    height: whole(given.height, "image.height", 1),
    modifier: decimal(given.modifier, "image.modifier", "unsigned"),
    ...(given.colour === undefined ? {} : { colour: given.colour as Colour }),
  };
  return checked("image", () => imageInfo(init));
}

export function mediaIn(given: unknown): MediaFacts {
  const values = Object.entries(open(given, "media")).map(([name, value]) => [name, valueIn(value, `media.${name}`)]);
  return checked("media", () => mediaFacts(Object.fromEntries(values)));
}

export function metadataIn(given: unknown): Metadata {
  const metadata = new Metadata();
  for (const [i, one] of list(given, "metadata", 0, MAX_DICTIONARIES).entries()) {
    const where = `metadata[${i}]`;
    const { name, fields } = record(one, where, ["name", "fields"]);
    const known = text(name, `${where}.name`, LONGEST_NAME);
    const values = Object.fromEntries(
      Object.entries(open(fields, `${where}.fields`)).map(([key, value]) => [key, valueIn(value, `${where}.${key}`)]),
    );
    checked(where, () => metadata.add(known, values));
  }
  return metadata;
}

/** Recurses into arrays only: the core refuses values that are nested too deeply. */
function valueIn(value: unknown, where: string, depth = 0): unknown {
  if (Array.isArray(value) && depth < MAX_DIMENSIONS) {
    return value.map((each, i) => valueIn(each, `${where}[${i}]`, depth + 1));
  }
  if (typeof value !== "object" || value === null) return value;
  const given = Object.entries(record(value, where, [], ["int", "bytes", "number"]));
  if (given.length !== 1) throw badMessage(where, `expected an object with one property: "int", "bytes" or "number".`);
  const [[form, content]] = given;
  if (form === "int") return decimal(content, where, "signed");
  if (form === "bytes") return bytesIn(content, where);
  oneOf(content, where, ["-0"]);
  return -0;
}

function bytesIn(given: unknown, where: string): Uint8Array {
  try {
    const bytes = Uint8Array.fromBase64(text(given, where, LONGEST_BODY));
    if (bytes.toBase64() === given) return bytes;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw badMessage(where, "expected base64 with its padding.");
}

/** Throws unless the planes are those of the frame, lie within their objects, and do not overlap. */
function assertConsistent(description: Description): void {
  const { memory, device, objects, planes, info } = description;
  if ((memory === "opaque-fd") !== (device !== undefined)) {
    throw badMessage("device", "expected it for an opaque fd, and for no other.");
  }
  if (info === undefined && planes.length !== 1) {
    throw badMessage("planes", `expected one of a tensor, got ${planes.length}.`);
  }
  if (info !== undefined) assertPlanesOf(info, planes);
  if (objects.length !== 1 && objects.length !== planes.length) {
    throw badMessage("objects", `expected 1, or one for each of ${planes.length} planes, got ${objects.length}.`);
  }
  for (const [i, { offset, byteLength, memory: of }] of objects.entries()) {
    if (!Number.isSafeInteger(offset + byteLength)) throw badMessage(`objects[${i}]`, "it reaches past 2^53 bytes.");
    if ((memory === "opaque-fd") !== (of !== undefined)) {
      throw badMessage(`objects[${i}].memory`, "expected it for an opaque fd, and for no other.");
    }
    if (of !== undefined && offset + byteLength > of.byteLength) {
      throw badMessage(`objects[${i}]`, `it ends at byte ${offset + byteLength} of memory that has ${of.byteLength}.`);
    }
  }
  for (const [i, { byteOffset, byteLength }] of planes.entries()) {
    const room = objects[objectOf(description, i)].byteLength;
    if (byteOffset + byteLength <= room) continue;
    throw badMessage(`planes[${i}]`, `it ends at byte ${byteOffset + byteLength} of an object that has ${room}.`);
  }
  if (objects.length === 1) checked("planes", () => assertApart(planes));
}

function assertPlanesOf(info: FrameInfo, planes: readonly Layout[]): void {
  const wanted = checked("planes", () => planeLayouts(info));
  if (wanted.length !== planes.length) {
    throw badMessage("planes", `expected ${wanted.length} of ${info.format}, got ${planes.length}.`);
  }
  for (const [i, { dtype, shape }] of wanted.entries()) {
    if (planes[i].dtype === dtype && `${planes[i].shape}` === `${shape}`) continue;
    throw badMessage(`planes[${i}]`, `expected [${shape}] ${dtype}, got [${planes[i].shape}] ${planes[i].dtype}.`);
  }
}

/** Runs a check of the core, and turns its refusal into a MessageError. */
function checked<T>(where: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    throw badMessage(where, error.message, error);
  }
}
