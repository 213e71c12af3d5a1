import { MFD_CLOEXEC } from "../../ffi/libc/constants.ts";
import { shown } from "../core/argument.ts";
import { asked, assertReplaceable, NewFile, openRegularFile } from "../core/files.ts";
import type { Undo } from "../core/life/undo.ts";
import { writeAll } from "../core/native/fd.ts";
import { libc, libcError } from "../core/native/libc.ts";
import { holdFd } from "../core/native/memfd.ts";
import { cString } from "../core/native/text.ts";
import { checks } from "./library.ts";

/** What is decoded: a path, a `file:` URL, or the bytes of a file. */
export type MediaSource = string | URL | ArrayBufferView;

/**
 * An fd of a source. Deno opens the file, and not FFmpeg, because native code ignores Deno's permissions, and would take a
 * path for a URL or a pattern. Bytes become a file in memory.
 */
export function openSource(source: MediaSource, undo: Undo): number {
  if (ArrayBuffer.isView(source)) return fileOf(checks.bytesIn(source, "source"), undo);
  const { given, isUrl } = placeIn(source, "source", "a path, a file: URL, or bytes", "Fetch it, and pass its bytes.");
  const about = { api: "ffmpeg", argument: "source", what: "read", given } as const;
  const file = asked(about, (path) => openRegularFile(isUrl ? new URL(path) : path));
  undo.push(() => file[Symbol.dispose]());
  return file.fd;
}

/** Where a program says that a file is. @throws {ArgumentError} for a URL that is not a file's. */
function placeIn(
  place: unknown,
  argument: string,
  expected: string,
  remedy?: string,
): { readonly given: string; readonly isUrl: boolean } {
  const isUrl = place instanceof URL;
  const given = isUrl ? place.href : place;
  if (typeof given !== "string") throw checks.wrongKind(argument, expected, place);
  const [scheme] = (isUrl ? /^[^:]+:/ : /^[a-z][a-z\d+.-]*:(?=\/\/)/i).exec(given) ?? [];
  if (scheme === undefined || scheme.toLowerCase() === "file:") return { given, isUrl: scheme !== undefined };
  throw checks.wrong(argument, `expected a file, got the URL ${shown(given)}.`, remedy);
}

/** A file that FFmpeg is to write, and its path. Deno creates it: see {@link openSource}. */
export function newFile(path: string | URL, undo: Undo): { readonly file: NewFile; readonly path: string } {
  const { given, isUrl } = placeIn(path, "path", "a path or a file: URL");
  const about = { api: "ffmpeg", argument: "path", what: "write" } as const;
  const at = asked({ ...about, given }, (path) => {
    const plain = isUrl ? globalThis.process.getBuiltinModule("node:url").fileURLToPath(path) : path;
    assertReplaceable(plain);
    return plain;
  });
  // What may be missing now is the permission for its folder.
  const folder = at.slice(0, at.lastIndexOf("/") + 1) || ".";
  const file = asked({ ...about, given: folder }, () => new NewFile(at));
  undo.push(() => file[Symbol.dispose]());
  return { file, path: at };
}

function fileOf(bytes: Uint8Array<ArrayBuffer>, undo: Undo): number {
  const fd = libc().memfd_create(cString("samepage-media"), MFD_CLOEXEC);
  if (fd < 0) throw libcError("memfd_create");
  holdFd(fd, undo);
  writeAll(fd, bytes);
  return fd;
}
