import { MFD_CLOEXEC } from "../../../ffi/libc/constants.ts";
import { readToEnd } from "../../core/files.ts";
import { closeFd, writeAll } from "../../core/native/fd.ts";
import { libc, libcError } from "../../core/native/libc.ts";
import { cString } from "../../core/native/text.ts";
import { thenUndo, type Undo } from "../../core/life/undo.ts";

/** Folders for a symbolic link, of which the first writable one is used. */
const FOLDERS = ["/tmp", "/dev/shm", "/var/tmp"];

const EXPECTED = 2 ** 20;

/**
 * A memfd for the formats that OpenCV can read only from a file or write only to one. OpenCV's own temporary file would stay
 * behind if a picture is refused, and on a full disk it would be cut without an error.
 */
class MemoryFile {
  readonly #fd: number;
  readonly #undo: Undo;

  constructor(fd: number, undo: Undo) {
    this.#fd = fd;
    this.#undo = undo;
  }

  get path(): string {
    return `/proc/self/fd/${this.#fd}`;
  }

  /** A path with an ending, from which OpenCV takes the format: a symbolic link, for as long as the file is in use. */
  pathEndingIn(ending: string): string {
    const name = `samepage-${crypto.randomUUID()}${ending}`;
    const path = FOLDERS.map((folder) => `${folder}/${name}`)
      .find((path) => libc().symlink(cString(this.path), cString(path)) === 0);
    if (path === undefined) throw libcError("symlink", `One of ${FOLDERS.join(", ")} must be writable.`);
    this.#undo.push(() => {
      if (libc().unlink(cString(path)) !== 0) throw libcError("unlink");
    });
    return path;
  }

  write(bytes: Uint8Array<ArrayBuffer>): void {
    writeAll(this.#fd, bytes);
  }

  read(): Uint8Array<ArrayBuffer> {
    return readToEnd(
      (into) => {
        const length = libc().read(this.#fd, into, BigInt(into.length));
        if (length < 0n) throw libcError("read");
        return Number(length);
      },
      EXPECTED,
      Infinity,
    ).slice();
  }
}

/** Uses a file, which is gone when this returns. @throws {NativeCallError} EMFILE if too many files are open. */
export function withMemoryFile<R>(use: (file: MemoryFile) => R): R {
  const fd = libc().memfd_create(cString("samepage-image"), MFD_CLOEXEC);
  if (fd < 0) throw libcError("memfd_create");
  const undo: Undo = [() => closeFd(fd)];
  return thenUndo("using a file in memory", () => use(new MemoryFile(fd, undo)), undo);
}
