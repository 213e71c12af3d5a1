import type { Address } from "../../ffi/address.ts";
import { MFD_CLOEXEC, RTLD_NODELETE, RTLD_NOLOAD, RTLD_NOW } from "../../ffi/libc/constants.ts";
import { crc32, fnv1a } from "../envelope/checksum.ts";
import { InteropError, NativeCallError } from "../core/errors.ts";
import { libc, libcError } from "../core/native/libc.ts";
import { openingOf } from "../core/native/library.ts";
import { cString, textAt } from "../core/native/text.ts";

/**
 * Loads an image under a name that is made of what is in it, unless the process has it already. It is never unloaded,
 * for an exception may be on its way through it.
 * @param prefix what the name begins with
 * @param make the image of a name
 * @returns the name that it can be opened by
 * @throws {NativeCallError} where the system refuses: no memfd, or none that may be executed.
 */
export function loadImage(prefix: string, make: (soname: string) => Uint8Array<ArrayBuffer>): string {
  const unnamed = make(prefix);
  const fingerprint = [crc32, fnv1a].map((hash) => hash(unnamed).toString(16).padStart(8, "0")).join("");
  const soname = `samepage-${prefix}-${fingerprint}.so`;
  load(soname, fingerprint, () => make(soname));
  return soname;
}

/** `fingerprint`: what the name is made of, digits to the base of 16. */
function load(soname: string, fingerprint: string, image: () => Uint8Array<ArrayBuffer>): void {
  // Another isolate may do the same meanwhile: then there are two, which are the same, and either is found.
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

/** Undefined where it cannot be opened. */
export function openLibrary(path: string, flags = 0): Address | undefined {
  const { dlopen } = libc();
  if (dlopen === null) throw new InteropError("This C library keeps dlopen elsewhere.", { api: "libc", fn: "dlopen" });
  return dlopen(cString(path), RTLD_NOW | RTLD_NODELETE | flags) || undefined;
}

export function addressOfSymbol(library: Address, name: string): Address | undefined {
  return libc().dlsym?.(library, cString(name)) || undefined;
}

/** A function of a library that is open already: it stays so. @throws {InteropError} if either is not there. */
export function symbolIn(path: string, name: string): Address {
  const library = openLibrary(path, RTLD_NOLOAD);
  const address = library === undefined ? undefined : addressOfSymbol(library, name);
  if (address !== undefined) return address;
  throw new InteropError(`The loader does not find ${name} in ${path}.`, { api: "libc", fn: "dlsym" });
}

/** Functions of a library that samepage has opened, by their names, for machine code. @throws {InteropError} if one is not there. */
export function functionsOf<N extends string>(api: string, ...names: readonly N[]): Record<N, Address> {
  const { path } = openingOf(api)!;
  return Object.fromEntries(names.map((name) => [name, symbolIn(path!, name)])) as Record<N, Address>;
}

/** The loader takes what it knows by a path for that file, though the number may be another file's by now. */
function pathOf(fd: number, fingerprint: string): string {
  const bits = BigInt(`0x${fingerprint}`).toString(2);
  return `/proc/self/fd${bits.replaceAll("0", "/").replaceAll("1", "/.")}/${fd}`;
}
