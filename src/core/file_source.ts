/**
 * Files that a program names, for native code to read or to write by an fd. Deno opens them, and not the library, because
 * native code ignores Deno's permissions, and would take a path for a URL or a pattern.
 *
 * @module
 */
import { MFD_CLOEXEC } from "../../ffi/libc/constants.ts";
import { shown } from "./argument.ts";
import { Checks } from "./checks.ts";
import { asked, assertReplaceable, NewFile, openRegularFile } from "./files.ts";
import type { Undo } from "./life/undo.ts";
import { writeAll } from "./native/fd.ts";
import { libc, libcError } from "./native/libc.ts";
import { holdFd } from "./native/memfd.ts";
import { cString } from "./native/text.ts";

/** What is read: a path, a `file:` URL, or the bytes of a file. */
export type FileSource = string | URL | ArrayBufferView;

/** An fd of a source. Bytes become a file in memory. @throws {ArgumentError} for a URL that is not a file's. */
export function openSource(api: string, source: FileSource, undo: Undo): number {
  const checks = new Checks(api);
  if (ArrayBuffer.isView(source)) return fileOf(checks.bytesIn(source, "source"), undo);
  const expected = "a path, a file: URL, or bytes";
  const { given, isUrl } = placeIn(checks, source, "source", expected, "Fetch it, and pass its bytes.");
  const about = { api, argument: "source", what: "read", given } as const;
  const file = asked(about, (path) => openRegularFile(isUrl ? new URL(path) : path));
  undo.push(() => file[Symbol.dispose]());
  return file.fd;
}

/** Where a program says that a file is. @throws {ArgumentError} for a URL that is not a file's. */
function placeIn(
  checks: Checks,
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

/** A file that native code is to write, and its path. @throws {ArgumentError} for a path that cannot be a file. */
export function createFile(
  api: string,
  path: string | URL,
  undo: Undo,
): { readonly file: NewFile; readonly path: string } {
  const { given, isUrl } = placeIn(new Checks(api), path, "path", "a path or a file: URL");
  const about = { api, argument: "path", what: "write" } as const;
  const at = asked({ ...about, given }, (path) => {
    const plain = isUrl ? globalThis.process.getBuiltinModule("node:url").fileURLToPath(path) : path;
    assertReplaceable(plain);
    return plain;
  });
  // What may be missing now is the permission for its folder.
  const folder = at.slice(0, at.lastIndexOf("/") + 1) || "./";
  const file = asked({ ...about, given: folder }, () => new NewFile(at));
  undo.push(() => file[Symbol.dispose]());
  return { file, path: at };
}

function fileOf(bytes: Uint8Array<ArrayBuffer>, undo: Undo): number {
  const fd = libc().memfd_create(cString("samepage-source"), MFD_CLOEXEC);
  if (fd < 0) throw libcError("memfd_create");
  holdFd(fd, undo);
  writeAll(fd, bytes);
  return fd;
}
