import { type Address, NULL } from "../../ffi/address.ts";
import type { AVCodecs } from "../../ffi/avcodec59/functions.ts";
import { SYMBOLS as CODEC_SYMBOLS } from "../../ffi/avcodec59/symbols.ts";
import type { AVFormats } from "../../ffi/avformat59/functions.ts";
import { SYMBOLS as FORMAT_SYMBOLS } from "../../ffi/avformat59/symbols.ts";
import { AV_ERROR_MAX_STRING_SIZE } from "../../ffi/avutil57/constants.ts";
import { ERROR_NAMES } from "../../ffi/avutil57/errors.ts";
import type { AVUtil } from "../../ffi/avutil57/functions.ts";
import { SYMBOLS } from "../../ffi/avutil57/symbols.ts";
import type { AVHWContext } from "../../ffi/avhwcontext57/functions.ts";
import { SYMBOLS as HARDWARE } from "../../ffi/avhwcontext57/symbols.ts";
import type { AVVulkan } from "../../ffi/avvulkan57/functions.ts";
import { SYMBOLS as VULKAN } from "../../ffi/avvulkan57/symbols.ts";
import { ENOMEM } from "../../ffi/libc/errors.ts";
import { Checks } from "../core/checks.ts";
import { InteropError } from "../core/errors.ts";
import { type Check, checkOf, codeError, type ErrorMaker, type Made, madeOf } from "../core/native/codes.ts";
import type { Undo } from "../core/life/undo.ts";
import { errnoError, keptLibrary } from "../core/native/libc.ts";
import { libraryPaths } from "../core/native/library.ts";
import { cString } from "../core/native/text.ts";
import { StructTypes } from "../core/native/struct_type.ts";
import { releases, type StructName, type Structs, VERSIONS } from "./versions.ts";

export const checks: Checks = new Checks("ffmpeg");

const PACKAGES = [...VERSIONS.values()].flatMap(({ inDebian }) => inDebian ?? []).join(" or ");
const INSTALL = `Install FFmpeg ${releases()}: apt install ${PACKAGES}.`;

type Functions = AVUtil & AVHWContext & AVVulkan;

const opened = keptLibrary<Functions>({
  api: "ffmpeg",
  candidates: [...VERSIONS.keys()].flatMap((major) => libraryPaths(`libavutil.so.${major}`)),
  hint: INSTALL,
  symbols: { ...SYMBOLS, ...HARDWARE, ...VULKAN },
});

/** libavutil, and how its version lays structs out. @throws {InteropError} for a version that samepage does not know. */
export function avutil(): { readonly fns: Functions; readonly structs: Structs } {
  return known ??= { fns: opened(), structs: structsOf(opened().avutil_version() >>> 16) };
}

let known: { readonly fns: Functions; readonly structs: Structs } | undefined;

function structsOf(major: number): Structs {
  const structs = VERSIONS.get(major);
  if (structs !== undefined) return structs;
  const majors = [...VERSIONS.keys()].join(", ");
  throw new InteropError(`libavutil has version ${major}, and samepage knows the structs of ${majors}.`, {
    ...{ api: "ffmpeg", fn: "avutil_version" },
    hint: `${INSTALL} Both may be installed: SAMEPAGE_LIB_FFMPEG names the one to open.`,
  });
}

/** The structs of the FFmpeg that is open. */
export const struct: StructTypes<Pick<Structs, StructName>> = new StructTypes<Pick<Structs, StructName>>(
  () => avutil().structs,
  "ffmpeg",
);

function codingLibrary<F>(name: string, symbols: Deno.ForeignLibraryInterface, { release, coding }: Structs): F {
  return keptLibrary<F>({
    api: `ffmpeg_${name.slice("av".length)}`,
    candidates: libraryPaths(`lib${name}.so.${coding}`),
    symbols,
    hint: `Install all of FFmpeg ${release}: apt install lib${name}${coding}.`,
  })();
}

/** libavcodec and libavformat, opened on first use. */
export interface CodingLibraries {
  readonly codec: AVCodecs;
  readonly format: AVFormats;
}

let coders: CodingLibraries | undefined;

/** libavcodec and libavformat. @throws {InteropError} if they are not of one build with the libavutil that is open. */
export function coding(): CodingLibraries {
  if (coders !== undefined) return coders;
  const { fns, structs } = avutil();
  const codec = codingLibrary<AVCodecs>("avcodec", CODEC_SYMBOLS, structs);
  const format = codingLibrary<AVFormats>("avformat", FORMAT_SYMBOLS, structs);
  const both = [["avcodec", codec, codec.avcodec_version()], ["avformat", format, format.avformat_version()]] as const;
  for (const [name, library, version] of both) {
    const major = version >>> 16;
    const belongs = `${structs.coding} belongs to the libavutil that is open`;
    assertOneBuild(major === structs.coding, `${name}_version`, `lib${name} has version ${major}, and ${belongs}.`);
    // These strings lie in the library itself. If the addresses differ, the process has two libavutils.
    const isSame = library.av_version_info() === fns.av_version_info();
    assertOneBuild(isSame, "av_version_info", `lib${name} uses another libavutil than the one that is open.`);
  }
  const isSame = format.avcodec_configuration() === codec.avcodec_configuration();
  assertOneBuild(isSame, "avcodec_configuration", "libavformat uses another libavcodec than the one that is open.");
  return coders = { codec, format };
}

function assertOneBuild(isOne: boolean, fn: string, what: string): void {
  if (!isOne) throw new InteropError(what, { api: "ffmpeg", fn, hint: ONE_BUILD });
}

const ONE_BUILD =
  "All libraries have to be of one build of FFmpeg: SAMEPAGE_LIB_FFMPEG, SAMEPAGE_LIB_FFMPEG_CODEC and " +
  "SAMEPAGE_LIB_FFMPEG_FORMAT name their files.";

/** An AVERROR is an errno below zero, or a code of FFmpeg's own. */
export const failure: ErrorMaker = (code, fn, fields) => {
  if (!ERROR_NAMES.has(code)) return errnoError("ffmpeg", -code, fn, fields?.hint, fields);
  const written = (code: number) => `${code}: ${sentenceOf(code)}`;
  return codeError({ api: "ffmpeg", names: ERROR_NAMES, unknown: "an unknown code", written }, code, fn, fields);
};

/** FFmpeg's own words for a code. */
function sentenceOf(code: number): string {
  const text = new Uint8Array(AV_ERROR_MAX_STRING_SIZE);
  opened().av_strerror(code, text, BigInt(text.length));
  return new TextDecoder().decode(text.subarray(0, text.indexOf(0)));
}

export const check: Check = checkOf(failure);

/** Null means that there is no memory. */
export const made: Made = madeOf(check, (object) => object === NULL ? -ENOMEM : 0);

/** An AVPacket, which `undo` frees. */
export function newPacket(undo: Undo): Address {
  const { codec } = coding();
  const packet = made(codec.av_packet_alloc(), "av_packet_alloc");
  undo.push(() => codec.av_packet_free(new BigUint64Array([packet])));
  return packet;
}

/** Options for a call, by name. `undo` frees those that the call leaves. */
export function setOptions(
  place: BigUint64Array<ArrayBuffer>,
  options: Iterable<readonly [name: string, value: string]>,
  undo: Undo,
): void {
  const { codec } = coding();
  undo.push(() => codec.av_dict_free(place));
  for (const [name, value] of options) check(codec.av_dict_set(place, cString(name), cString(value), 0), "av_dict_set");
}
