import { type Address, NULL } from "../../ffi/address.ts";
import { SEEK_SET } from "../../ffi/libc/constants.ts";
import { Checks } from "../core/checks.ts";
import { type FileSource, openSource } from "../core/file_source.ts";
import { thenUndo, type Undo } from "../core/life/undo.ts";
import { mapPages, unmapPages } from "../core/native/blocks.ts";
import { statusOf } from "../core/native/fd.ts";
import { libc, libcError } from "../core/native/libc.ts";
import { bytesAt } from "../core/native/pin.ts";

/** Bytes that a runtime's thread may read. */
export interface SourceBytes {
  readonly address: Address;
  readonly byteLength: bigint;
}

/**
 * The bytes of a model, until `undo` runs. They are not JavaScript memory, which ends with its Worker.
 *
 * @throws {ArgumentError} for a file that cannot be read, or is empty.
 */
export function sourceBytes(api: string, source: FileSource, undo: Undo): SourceBytes {
  return thenUndo("reading a model", (closing) => {
    const fd = openSource(api, source, closing);
    const { byteLength } = statusOf(fd);
    if (byteLength === 0n) throw new Checks(api).wrong("model", "it is empty.");
    const length = Number(byteLength);
    const address = mapPages(NULL, length);
    undo.push(() => unmapPages(address, length));
    readAll(fd, bytesAt(address, length, api, closing));
    return { address, byteLength };
  });
}

function readAll(fd: number, into: Uint8Array<ArrayBuffer>): void {
  if (libc().lseek(fd, 0n, SEEK_SET) !== 0n) throw libcError("lseek");
  for (let at = 0; at < into.length;) {
    const count = libc().read(fd, into.subarray(at), BigInt(into.length - at));
    if (count < 0n) throw libcError("read");
    if (count === 0n) return; // the file has become shorter: the rest stays zero
    at += Number(count);
  }
}
