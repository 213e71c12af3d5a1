import { MFD_CLOEXEC } from "../../ffi/libc/constants.ts";
import { shown } from "../core/argument.ts";
import { asked, openRegularFile } from "../core/files.ts";
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
  const isUrl = source instanceof URL;
  const given = isUrl ? source.href : source;
  if (typeof given !== "string") throw checks.wrongKind("source", "a path, a file: URL, or bytes", source);
  const [scheme] = (isUrl ? /^[^:]+:/ : /^[a-z][a-z\d+.-]*:(?=\/\/)/i).exec(given) ?? [];
  if (scheme !== undefined && scheme.toLowerCase() !== "file:") {
    throw checks.wrong("source", `expected a file, got the URL ${shown(given)}.`, "Fetch it, and pass its bytes.");
  }
  const about = { api: "ffmpeg", argument: "source", what: "read", given } as const;
  const file = asked(about, (path) => openRegularFile(scheme === undefined ? path : new URL(path)));
  undo.push(() => file[Symbol.dispose]());
  return file.fd;
}

function fileOf(bytes: Uint8Array<ArrayBuffer>, undo: Undo): number {
  const fd = libc().memfd_create(cString("samepage-media"), MFD_CLOEXEC);
  if (fd < 0) throw libcError("memfd_create");
  holdFd(fd, undo);
  writeAll(fd, bytes);
  return fd;
}
