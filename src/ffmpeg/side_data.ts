import type { Address } from "../../ffi/address.ts";
import * as av from "../../ffi/avutil57/constants.ts";
import type { ArgumentError } from "../core/errors.ts";
import { viewAt } from "../core/native/pin.ts";
import { Metadata, type MetadataFields } from "../core/tensors/metadata.ts";
import type { Fields } from "./fields.ts";
import { avutil, checks, made, struct } from "./library.ts";

/** FFmpeg's side data of one type, as a dictionary of a frame's metadata. */
interface Kind<F = MetadataFields[string]> {
  readonly name: string;
  /** AV_FRAME_DATA_*. */
  readonly type: number;
  /** Its length in bytes; the least length, without `fields`. */
  readonly byteLength: (fields?: F) => number;
  readonly read: (view: DataView<ArrayBuffer>) => F;
  readonly write: (view: DataView<ArrayBuffer>, fields: F) => void;
}

const INT = 4;
const WORD = 8;

const MATRIX: Kind<MetadataFields["displayMatrix"]> = {
  name: "displayMatrix",
  type: av.AV_FRAME_DATA_DISPLAYMATRIX,
  byteLength: () => 9 * INT,
  read: (view) => ({ matrix: ints(view, 0, 9) }),
  write: (view, { matrix }) => setInts(view, 0, matrix, 9, "displayMatrix.matrix"),
};

const CAPTIONS: Kind<MetadataFields["closedCaptions"]> = {
  name: "closedCaptions",
  type: av.AV_FRAME_DATA_A53_CC,
  byteLength: ({ data } = { data: new Uint8Array() }) => data.byteLength,
  read: ({ buffer, byteOffset, byteLength }) => ({ data: new Uint8Array(buffer, byteOffset, byteLength) }),
  write: ({ buffer }, { data }) => new Uint8Array(buffer).set(data),
};

const LIGHT: Kind<MetadataFields["contentLight"]> = {
  name: "contentLight",
  type: av.AV_FRAME_DATA_CONTENT_LIGHT_LEVEL,
  byteLength: () => avutil().structs.AVContentLightMetadata.size,
  read(view) {
    const { MaxCLL: most, MaxFALL: average } = struct.type("AVContentLightMetadata").in(view);
    return { most, average };
  },
  write(view, { most, average }) {
    if (most >>> 0 !== most || average >>> 0 !== average) {
      throw wrongNumbers("contentLight", "two of 32 bits, from 0 on");
    }
    Object.assign(struct.type("AVContentLightMetadata").in(view), { MaxCLL: most, MaxFALL: average });
  },
};

const DISPLAY: Kind<MetadataFields["masteringDisplay"]> = {
  name: "masteringDisplay",
  type: av.AV_FRAME_DATA_MASTERING_DISPLAY_METADATA,
  byteLength: () => avutil().structs.AVMasteringDisplayMetadata.size,
  read(view) {
    const { AVMasteringDisplayMetadata: { fields: at } } = avutil().structs;
    const { has_primaries, has_luminance } = struct.type("AVMasteringDisplayMetadata").in(view);
    return {
      ...has_primaries !== 0 && {
        primaries: ratios(view, at.display_primaries.offset, 6),
        whitePoint: ratios(view, at.white_point.offset, 2),
      },
      ...has_luminance !== 0 && { luminance: ratios(view, at.min_luminance_num.offset, 2) },
    };
  },
  write(view, { primaries, whitePoint, luminance }) {
    const { AVMasteringDisplayMetadata: { fields: at } } = avutil().structs;
    if (primaries !== undefined && whitePoint !== undefined) {
      setInts(view, at.display_primaries.offset, primaries.flat(), 12, "masteringDisplay.primaries");
      setInts(view, at.white_point.offset, whitePoint.flat(), 4, "masteringDisplay.whitePoint");
      view.setInt32(at.has_primaries.offset, 1, true);
    }
    if (luminance === undefined) return;
    setInts(view, at.min_luminance_num.offset, luminance.flat(), 4, "masteringDisplay.luminance");
    view.setInt32(at.has_luminance.offset, 1, true);
  },
};

const KINDS = [MATRIX, CAPTIONS, LIGHT, DISPLAY] as readonly Kind[];

/** Returns the side data of an AVFrame whose types are known here; undefined if it has no such data. */
export function metadataOf(fields: Fields): Metadata | undefined {
  return fields.nb_side_data <= 0 ? undefined : metadataIn(fields);
}

function metadataIn(fields: Fields): Metadata | undefined {
  const { nb_side_data } = fields;
  const all = viewAt(fields.side_data, WORD * nb_side_data, "ffmpeg");
  let metadata: Metadata | undefined;
  for (let i = 0; i < nb_side_data; i++) {
    const { type, data, size } = struct.at("AVFrameSideData", all.getBigUint64(WORD * i, true) as Address);
    const kind = KINDS.find((kind) => kind.type === type);
    if (kind === undefined || size === 0n || Number(size) < kind.byteLength()) continue;
    (metadata ??= new Metadata()).add(kind.name, kind.read(viewAt(data, Number(size), "ffmpeg")));
  }
  return metadata;
}

/**
 * Adds metadata to an AVFrame as side data.
 * @throws {ArgumentError} for numbers that do not fit into FFmpeg's fields.
 */
export function addSideData(frame: Address, metadata: Metadata): void {
  const { fns } = avutil();
  for (const kind of KINDS) {
    const fields = metadata.get(kind.name);
    if (fields === undefined) continue;
    const byteLength = kind.byteLength(fields);
    const written = new DataView(new ArrayBuffer(byteLength));
    kind.write(written, fields);
    const one = made(fns.av_frame_new_side_data(frame, kind.type, BigInt(byteLength)), "av_frame_new_side_data");
    const { data } = struct.at("AVFrameSideData", one);
    if (byteLength > 0) new Uint8Array(viewAt(data, byteLength, "ffmpeg").buffer).set(new Uint8Array(written.buffer));
  }
}

function ints(view: DataView, at: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => view.getInt32(at + INT * i, true));
}

/** Fractions, each as a numerator and a denominator. */
function ratios(view: DataView, at: number, count: number): number[][] {
  return Array.from({ length: count }, (_, i) => ints(view, at + 2 * INT * i, 2));
}

function setInts(view: DataView, at: number, given: readonly number[], count: number, what: string): void {
  if (given.length !== count || given.some((int) => (int | 0) !== int)) {
    throw wrongNumbers(what, `${count} of 32 bits`);
  }
  for (const [i, int] of given.entries()) view.setInt32(at + INT * i, int, true);
}

function wrongNumbers(what: string, expected: string): ArgumentError {
  return checks.wrong("frame", `metadata.${what}: expected integers, ${expected}.`);
}
