import { type Address, NULL } from "../../ffi/address.ts";
import type { GLib } from "../../ffi/glib/functions.ts";
import { GError, readGError } from "../../ffi/glib/structs.ts";
import { SYMBOLS as GLIB } from "../../ffi/glib/symbols.ts";
import type { GObject } from "../../ffi/gobject/functions.ts";
import { SYMBOLS as GOBJECT } from "../../ffi/gobject/symbols.ts";
import type { GstAllocators } from "../../ffi/gst_allocators/functions.ts";
import { SYMBOLS as ALLOCATORS } from "../../ffi/gst_allocators/symbols.ts";
import type { GstApp } from "../../ffi/gst_app/functions.ts";
import { SYMBOLS as APP } from "../../ffi/gst_app/symbols.ts";
import type { GstAudio } from "../../ffi/gst_audio/functions.ts";
import { SYMBOLS as AUDIO } from "../../ffi/gst_audio/symbols.ts";
import type { GstGl } from "../../ffi/gst_gl/functions.ts";
import { SYMBOLS as GL } from "../../ffi/gst_gl/symbols.ts";
import type { GstVa } from "../../ffi/gst_va/functions.ts";
import { SYMBOLS as VA } from "../../ffi/gst_va/symbols.ts";
import type { GstVideo } from "../../ffi/gst_video/functions.ts";
import { SYMBOLS as VIDEO } from "../../ffi/gst_video/symbols.ts";
import type { GStreamer } from "../../ffi/gstreamer/functions.ts";
import { SYMBOLS } from "../../ffi/gstreamer/symbols.ts";
import { Checks } from "../core/checks.ts";
import { type ErrorFields, InteropError, NativeCallError } from "../core/errors.ts";
import { type Made, madeOf } from "../core/native/codes.ts";
import { keptLibrary } from "../core/native/libc.ts";
import { libraryPaths } from "../core/native/library.ts";
import { viewAt } from "../core/native/pin.ts";
import { textAt } from "../core/native/text.ts";

export const checks: Checks = new Checks("gstreamer");

const BASE = "Install GStreamer 1.22 or newer: apt install libgstreamer-plugins-base1.0-0 gstreamer1.0-plugins-base.";

function library<F>(part: string, file: string, symbols: Deno.ForeignLibraryInterface, hint = BASE): () => F {
  const api = part === "" ? "gstreamer" : `gstreamer_${part}`;
  return keptLibrary<F>({ api, candidates: libraryPaths(`lib${file}.so.0`), symbols, hint });
}

/** A GStreamer library besides its core: `family` returns one of the types that it registers. */
function part<F>(
  name: string,
  symbols: Deno.ForeignLibraryInterface,
  family: (functions: F) => readonly [type: bigint, base: string],
  hint?: string,
): () => F {
  const file = `gst${name}-1.0`;
  const open = library<F>(name, file, symbols, hint);
  let functions: F | undefined;
  return () => functions ??= ofOneBuild(open(), family, file);
}

/** GLib, by which GStreamer's texts and errors are freed. */
export const glib: () => GLib = library("glib", "glib-2.0", GLIB);

/** GLib's types and objects. */
export const gobject: () => GObject = library("gobject", "gobject-2.0", GOBJECT);

const core: () => GStreamer = library("", "gstreamer-1.0", SYMBOLS);

/** Appsink and appsrc. */
export const gstApp: () => GstApp = part("app", APP, (app) => [app.gst_app_sink_get_type(), "GstElement"]);

/** Formats of pictures, and their metas. */
export const gstVideo: () => GstVideo = part(
  "video",
  VIDEO,
  (video) => [video.gst_video_meta_api_get_type(), "GstVideoMetaAPI"],
);

/** Formats of sound, and its meta. */
export const gstAudio: () => GstAudio = part(
  "audio",
  AUDIO,
  (audio) => [audio.gst_audio_meta_api_get_type(), "GstAudioMetaAPI"],
);

/** Memory that is an fd. It registers no type before it is used. */
export const gstAllocators: () => GstAllocators = library("allocators", "gstallocators-1.0", ALLOCATORS);

const GL_BASE = "Install GStreamer's library of OpenGL: apt install libgstreamer-gl1.0-0 gstreamer1.0-gl.";

const VA_BASE = "Install GStreamer's elements of VA-API: apt install gstreamer1.0-plugins-bad.";

/** VA-API's memory. */
export const gstVa: () => GstVa = part("va", VA, (va) => [va.gst_va_display_get_type(), "GstObject"], VA_BASE);

/** OpenGL's memory. */
export const gstGl: () => GstGl = part(
  "gl",
  GL,
  (gl) => [gl.gst_gl_sync_meta_api_get_type(), "GstGLSyncMetaAPI"],
  GL_BASE,
);

/** Two copies of GLib or of GStreamer in a process know nothing of each other's types. */
function ofOneBuild<F>(
  functions: F,
  family: (functions: F) => readonly [type: bigint, base: string],
  file: string,
): F {
  const [type, base] = family(functions);
  const { g_type_from_name, g_type_is_a } = gobject();
  const known = g_type_from_name(new TextEncoder().encode(`${base}\0`));
  if (known !== 0n && g_type_is_a(type, known) !== 0) return functions;
  throw new InteropError(`lib${file} uses another GStreamer than the one that is open.`, {
    ...{ api: "gstreamer", fn: "g_type_is_a" },
    hint:
      "All libraries have to be of one build: SAMEPAGE_LIB_GSTREAMER and SAMEPAGE_LIB_GSTREAMER_… name their files.",
  });
}

/** The first minor version of GStreamer 1 whose structs `ffi/` has; later ones only append. */
const OLDEST = 22;

/** The version that is open: `[1, 22, 0]`. */
export function version(): readonly [major: number, minor: number, micro: number] {
  const parts = Array.from({ length: 4 }, () => new Uint32Array(1));
  const [major, minor, micro, nano] = parts;
  core().gst_version(major, minor, micro, nano);
  return [major[0], minor[0], micro[0]];
}

let initialized = false;

/** GStreamer's core, which is initialized. @throws {InteropError} if no context was opened in this isolate. */
export function gst(): GStreamer {
  if (initialized) return core();
  throw new InteropError("GStreamer is not initialized.", {
    ...{ api: "gstreamer", fn: "gst_init_check", hint: "Open a context first: await GStreamerContext.open()." },
  });
}

/**
 * Initializes GStreamer, on another thread: it reads its registry of plugins, or makes a missing one. Where it is
 * initialized already, that returns at once.
 *
 * @throws {LibraryNotFoundError} if it is not there.
 * @throws {InteropError} for a version that is too old.
 * @throws {NativeCallError} if it cannot start.
 */
export async function initialize(): Promise<void> {
  if (initialized) return;
  const error = prepared();
  concluded(await core().gst_init_checkAsync(null, null, error), error);
}

/** The same, on this thread. */
export function initializeSync(): void {
  if (initialized) return;
  const error = prepared();
  concluded(core().gst_init_check(null, null, error), error);
}

/** Where gst_init_check leaves its error. It is to start no process: the scanner of plugins is beyond Deno's permissions. */
function prepared(): BigUint64Array<ArrayBuffer> {
  const [major, minor, micro] = version();
  if (major !== 1 || minor < OLDEST) {
    throw new InteropError(
      `GStreamer has version ${major}.${minor}.${micro}, and samepage needs 1.${OLDEST} or newer.`,
      {
        ...{ api: "gstreamer", fn: "gst_version", hint: BASE },
      },
    );
  }
  core().gst_registry_fork_set_enabled(0);
  return new BigUint64Array(1);
}

function concluded(succeeded: number, [error]: BigUint64Array): void {
  if (succeeded === 0) throw takenError(error as Address, "gst_init_check", { hint: BASE });
  initialized = true;
}

/** Throws for null, which says no more. */
export const made: Made = madeOf((returned, fn, fields) => {
  if (returned === 0) throw takenError(NULL, fn, fields);
}, (object) => object === NULL ? 0 : 1);

/** The error of a GError, which it frees: null where the function left none. */
export function takenError(error: Address, fn: string, fields: ErrorFields = {}): NativeCallError {
  const { said, ...about } = saidBy(error);
  const message = error === NULL ? `${fn} failed, and does not say why.` : `${fn} failed with ${said}.`;
  return new NativeCallError(message, { api: "gstreamer", fn, ...about, ...fields });
}

/** What a GError says, which it frees. */
export function saidBy(error: Address): { readonly said: string; readonly code: number; readonly codeName: string } {
  if (error === NULL) return { said: "no error", code: 0, codeName: "none" };
  const { domain, code, message } = readGError(viewAt(error, GError.size, "gstreamer"), 0);
  const codeName = textAt(glib().g_quark_to_string(domain)) ?? "an unknown domain";
  const said = `${codeName} ${code}: ${textAt(message)?.replace(/\.$/, "")}`;
  glib().g_error_free(error);
  return { said, code, codeName };
}

/** A text that the caller owns, which it frees; undefined for none. */
export function takenText(address: Address): string | undefined {
  const text = textAt(address);
  if (address !== NULL) glib().g_free(address);
  return text;
}
