import { type Address, NULL } from "../../ffi/address.ts";
import type { AVCodecs } from "../../ffi/avcodec59/functions.ts";
import { SYMBOLS as CODEC_SYMBOLS } from "../../ffi/avcodec59/symbols.ts";
import type { AVFormats } from "../../ffi/avformat59/functions.ts";
import { SYMBOLS as FORMAT_SYMBOLS } from "../../ffi/avformat59/symbols.ts";
import { ERROR_NAMES } from "../../ffi/avutil57/errors.ts";
import type { AVUtil } from "../../ffi/avutil57/functions.ts";
import { SYMBOLS } from "../../ffi/avutil57/symbols.ts";
import { ENOMEM } from "../../ffi/libc/errors.ts";
import type { StructLayout } from "../../ffi/layout.ts";
import { Checks } from "../core/checks.ts";
import { InteropError } from "../core/errors.ts";
import { type Check, checkOf, codeError, type ErrorMaker, type Made, madeOf } from "../core/native/codes.ts";
import { errnoError, keptLibrary } from "../core/native/libc.ts";
import { libraryPaths } from "../core/native/library.ts";
import { viewAt } from "../core/native/pin.ts";
import { type Coding, type Structs, VERSIONS } from "./versions.ts";

export const checks: Checks = new Checks("ffmpeg");

const INSTALL = `Install FFmpeg ${releases()}: apt install libavutil57.`;

const opened = keptLibrary<AVUtil>({
  api: "ffmpeg",
  candidates: [...VERSIONS.keys()].flatMap((major) => libraryPaths(`libavutil.so.${major}`)),
  symbols: SYMBOLS,
  hint: INSTALL,
});

/** libavutil, and how its version lays structs out. @throws {InteropError} for a version that samepage does not know. */
export function avutil(): { readonly fns: AVUtil; readonly structs: Structs } {
  return known ??= { fns: opened(), structs: structsOf(opened().avutil_version() >>> 16) };
}

let known: { readonly fns: AVUtil; readonly structs: Structs } | undefined;

function structsOf(major: number): Structs {
  const structs = VERSIONS.get(major);
  if (structs !== undefined) return structs;
  const majors = [...VERSIONS.keys()].join(", ");
  throw new InteropError(`libavutil has version ${major}, and samepage knows the structs of ${majors}.`, {
    ...{ api: "ffmpeg", fn: "avutil_version" },
    hint: `${INSTALL} Both may be installed: SAMEPAGE_LIB_FFMPEG names the one to open.`,
  });
}

function releases(): string {
  return [...VERSIONS.values()].map(({ release }) => release).join(" or ");
}

const [openedCodec, openedFormat] = [
  keptLibrary<AVCodecs>(codingLibrary("avcodec", "ffmpeg_codec", CODEC_SYMBOLS)),
  keptLibrary<AVFormats>(codingLibrary("avformat", "ffmpeg_format", FORMAT_SYMBOLS)),
];

function codingLibrary(name: string, api: string, symbols: Deno.ForeignLibraryInterface) {
  const majors = [...VERSIONS.values()].map(({ coding: { major } }) => major);
  return {
    api,
    candidates: majors.flatMap((major) => libraryPaths(`lib${name}.so.${major}`)),
    symbols,
    hint: `Install FFmpeg ${releases()}: apt install lib${name}59.`,
  };
}

/** What reads, writes, decodes and encodes; opened when it is first needed. */
export interface CodingLibraries {
  readonly codec: AVCodecs;
  readonly format: AVFormats;
  readonly structs: Coding;
}

let coders: CodingLibraries | undefined;

/** libavcodec and libavformat. @throws {InteropError} if they do not belong to the libavutil that is open. */
export function coding(): CodingLibraries {
  if (coders !== undefined) return coders;
  const { structs: { coding: structs } } = avutil();
  const [codec, format] = [openedCodec(), openedFormat()];
  assertMajor("libavcodec", codec.avcodec_version() >>> 16, structs.major);
  assertMajor("libavformat", format.avformat_version() >>> 16, structs.major);
  return coders = { codec, format, structs };
}

type StructName = { [K in keyof Coding]: K extends `read${infer Name}` ? Name : never }[keyof Coding];
type FieldsOf<N extends StructName> = ReturnType<Coding[`read${N}`]>;

/** The fields of a struct of libavcodec's or libavformat's. */
export function readStruct<N extends StructName>(name: N, address: Address): FieldsOf<N> {
  const { structs } = coding();
  const read = structs[`read${name}`] as (view: DataView, at: number) => FieldsOf<N>;
  return read(viewAt(address, (structs[name] as StructLayout).size, "ffmpeg"), 0);
}

/** Changes some of them. */
export function changeStruct<N extends StructName>(name: N, address: Address, changes: Partial<FieldsOf<N>>): void {
  const { structs } = coding();
  const write = structs[`write${name}`] as (view: DataView, at: number, fields: FieldsOf<N>) => void;
  const view = viewAt(address, (structs[name] as StructLayout).size, "ffmpeg");
  write(view, 0, { ...readStruct(name, address), ...changes });
}

function assertMajor(name: string, major: number, wanted: number): void {
  if (major === wanted) return;
  throw new InteropError(`${name} has version ${major}, and ${wanted} belongs to the libavutil that is open.`, {
    ...{ api: "ffmpeg", hint: "Install both of one release of FFmpeg." },
  });
}

/** An AVERROR is an errno below zero, or a code of FFmpeg's own. */
export const failure: ErrorMaker = (code, fn, fields) => {
  const isOwn = ERROR_NAMES.has(code);
  const names = { api: "ffmpeg", names: ERROR_NAMES, unknown: "a code that FFmpeg does not know" };
  return isOwn ? codeError(names, code, fn, fields) : errnoError("ffmpeg", -code, fn, {}, fields);
};

export const check: Check = checkOf(failure);

/** Null means that there is no memory. */
export const made: Made = madeOf(check, (object) => object === NULL ? -ENOMEM : 0);
