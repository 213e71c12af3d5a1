import type { Address } from "../../../ffi/address.ts";
import { O_CLOEXEC, O_RDONLY } from "../../../ffi/libc/constants.ts";
import { libc } from "./libc.ts";

const MAPS = new TextEncoder().encode("/proc/self/maps\0");

/** Files that are memory: a memfd, shared anonymous memory, System V's. */
const IN_MEMORY = /^\/(memfd:|dev\/(shm\/|zero)|SYSV)/;

/** `55d0-55e0 rw-s 00000000 08:01 1234   /path`. */
const LINE = /^([0-9a-f]+)-([0-9a-f]+) ...(.) \S+ \S+ \S+ *(.*)$/;

/**
 * The file on a disk whose pages lie in a range of this process, shared with it: such pages are the file system's, and
 * no driver may lock them. Undefined where there is none, or the kernel's list cannot be read.
 */
export function fileBehind(address: Address, byteLength: number): string | undefined {
  const end = address + BigInt(byteLength);
  for (const line of mappings().split("\n")) {
    const [, from, to, sharing, path] = LINE.exec(line) ?? [];
    if (path === undefined || sharing !== "s" || !path.startsWith("/") || IN_MEMORY.test(path)) continue;
    if (BigInt(`0x${from}`) < end && address < BigInt(`0x${to}`)) return path;
  }
  return undefined;
}

/** The kernel's list of what is mapped where; as far as it can be read. */
function mappings(): string {
  const fd = libc().open(MAPS, O_RDONLY | O_CLOEXEC, 0);
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
