import type { Address } from "../../ffi/address.ts";
import { MFD_CLOEXEC, RTLD_NODELETE, RTLD_NOLOAD, RTLD_NOW } from "../../ffi/libc/constants.ts";
import { crc32, fnv1a } from "../envelope/checksum.ts";
import { InteropError, NativeCallError } from "../core/errors.ts";
import { libc, libcError } from "../core/native/libc.ts";
import { openingOf } from "../core/native/library.ts";
import { cString, textAt } from "../core/native/text.ts";

/**
 * Loads an image under a name made of its content, unless the process has it already. It is never unloaded, because an
 * exception may be passing through it.
 * @param prefix the beginning of the name
 * @param make makes the image for a name
 * @returns the name that it can be opened by
 * @throws {NativeCallError} if the system refuses a memfd, or an executable one.
 */
export function loadImage(prefix: string, make: (soname: string) => Uint8Array<ArrayBuffer>): string {
  const unnamed = make(prefix);
  const fingerprint = [crc32, fnv1a].map((hash) => hash(unnamed).toString(16).padStart(8, "0")).join("");
  const soname = `samepage-${prefix}-${fingerprint}.so`;
  load(soname, fingerprint, () => make(soname));
  return soname;
}

/** @param fingerprint the hexadecimal digits in the name */
function load(soname: string, fingerprint: string, image: () => Uint8Array<ArrayBuffer>): void {
  // Another isolate may do the same meanwhile. The two images are then equal, and it does not matter which is found.
  if (openLibrary(soname, RTLD_NOLOAD) !== undefined) return;
  const bytes = image();
  const fd = libc().memfd_create(cString(soname), MFD_CLOEXEC);
  if (fd < 0) throw libcError("memfd_create");
  try {
    if (libc().write(fd, bytes, BigInt(bytes.length)) !== BigInt(bytes.length)) throw libcError("write");
    if (openLibrary(pathOf(fd, fingerprint)) !== undefined) return;
    const { dlerror } = libc();
    const reason = dlerror === null ? undefined : textAt(dlerror());
    throw new NativeCallError(`dlopen refused an image in memory: ${reason}`, { api: "libc", fn: "dlopen" });
  } finally {
    libc().close(fd);
  }
}

/** Opens a library; undefined if that fails. */
export function openLibrary(path: string, flags = 0): Address | undefined {
  const { dlopen } = libc();
  if (dlopen === null) throw new InteropError("This C library keeps dlopen elsewhere.", { api: "libc", fn: "dlopen" });
  return dlopen(cString(path), RTLD_NOW | RTLD_NODELETE | flags) || undefined;
}

export function addressOfSymbol(library: Address, name: string): Address | undefined {
  return libc().dlsym?.(library, cString(name)) || undefined;
}

/** A function of an open library, which stays open. @throws {InteropError} if either does not exist. */
export function symbolIn(path: string, name: string): Address {
  const library = openLibrary(path, RTLD_NOLOAD);
  const address = library === undefined ? undefined : addressOfSymbol(library, name);
  if (address !== undefined) return address;
  throw new InteropError(`The loader does not find ${name} in ${path}.`, { api: "libc", fn: "dlsym" });
}

/**
 * Addresses of functions of a library that samepage has opened, for machine code.
 * @throws {InteropError} if one is missing.
 */
export function functionsOf<N extends string>(api: string, ...names: readonly N[]): Record<N, Address> {
  const { path } = openingOf(api)!;
  return Object.fromEntries(names.map((name) => [name, symbolIn(path!, name)])) as Record<N, Address>;
}

/** A path that is unique for the content: the loader remembers files by path, although the fd's number may be reused. */
function pathOf(fd: number, fingerprint: string): string {
  const bits = BigInt(`0x${fingerprint}`).toString(2);
  return `/proc/self/fd${bits.replaceAll("0", "/").replaceAll("1", "/.")}/${fd}`;
}
