import type { Address } from "../../../ffi/address.ts";
import { O_CLOEXEC, O_RDONLY } from "../../../ffi/libc/constants.ts";
import { libc } from "./libc.ts";
import { cString } from "./text.ts";

/** Files that are memory: a memfd, shared anonymous memory, System V shared memory. */
const IN_MEMORY = /^\/(memfd:|dev\/(shm\/|zero)|SYSV)/;

/** `55d0-55e0 rw-s 00000000 08:01 1234   /path`. */
const LINE = /^([0-9a-f]+)-([0-9a-f]+) .(.).(.) \S+ \S+ \S+ *(.*)$/;

interface Mapping {
  readonly start: bigint;
  readonly writable: boolean;
  readonly shared: boolean;
  readonly path: string;
}

/** A driver may not lock pages of a file system. Undefined without such a file, or where the list cannot be read. */
export function fileBehind(address: Address, byteLength: number): string | undefined {
  const isFile = ({ shared, path }: Mapping) => shared && path.startsWith("/") && !IN_MEMORY.test(path);
  return mappingsOf(address, byteLength).find(isFile)?.path;
}

/** Undefined if all can be written, or the kernel's list cannot be read. */
export function readOnlyIn(address: Address, byteLength: number): bigint | undefined {
  const start = mappingsOf(address, byteLength).find(({ writable }) => !writable)?.start;
  return start === undefined || start > address ? start : address;
}

function mappingsOf(address: Address, byteLength: number): Mapping[] {
  const end = address + BigInt(byteLength);
  const found: Mapping[] = [];
  for (const line of textOf("/proc/self/maps").split("\n")) {
    const [, from, to, write, sharing, path] = LINE.exec(line) ?? [];
    if (path === undefined) continue;
    const start = BigInt(`0x${from}`);
    if (start >= end || address >= BigInt(`0x${to}`)) continue;
    found.push({ start, writable: write === "w", shared: sharing === "s", path });
  }
  return found;
}

/** The text of a file of the kernel (/proc/…), as far as it can be read. It needs only --allow-ffi. */
export function textOf(path: string): string {
  const fd = libc().open(cString(path), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return "";
  const decoder = new TextDecoder();
  const bytes = new Uint8Array(65_536);
  let text = "";
  for (let read = 1n; read > 0n;) {
    read = libc().read(fd, bytes, BigInt(bytes.length));
    if (read > 0n) text += decoder.decode(bytes.subarray(0, Number(read)), { stream: true });
  }
  libc().close(fd);
  return text;
}
