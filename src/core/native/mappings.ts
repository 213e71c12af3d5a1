import type { Address } from "../../../ffi/address.ts";
import { O_CLOEXEC, O_RDONLY } from "../../../ffi/libc/constants.ts";
import { libc } from "./libc.ts";
import { cString } from "./text.ts";
import { ArgumentError } from "../errors.ts";

/** What the kernel says of something that this process has a limited amount of. */
export interface Kernel {
  limit(): number;
  /** How many the process uses. The query takes a while, so it is made rarely. */
  inUse(): number;
}

/** Which parts of the limit are taken, from 0 to 1. */
export interface Shares {
  readonly own: number;
  readonly process: number;
  /** The kernel is queried each time this much more was taken. */
  readonly step: number;
  /** This much may be taken before the limit is read. */
  readonly unread: number;
}

/** Makes the error of what is refused. `own` is false where others of the process have taken it. */
export type Refusal = (count: number, limit: number, own: boolean) => ArgumentError;

/**
 * Counts something that V8 needs too. V8 ends the process where the kernel refuses it, so programs are refused long
 * before that. Every isolate counts its own, and learns from the kernel what the others use.
 */
export class Budget {
  readonly #kernel: Kernel;
  readonly #shares: Shares;
  readonly #refused: Refusal;
  #limit: number | undefined;
  #taken = 0;
  /** The lowest count since the last query of the kernel. */
  #least = 0;

  constructor(kernel: Kernel, shares: Shares, refused: Refusal) {
    this.#kernel = kernel;
    this.#shares = shares;
    this.#refused = refused;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Counts what is about to be taken. @throws {ArgumentError} if that is too much; it is not counted then. */
  take(count: number): void {
    const { own, step, unread } = this.#shares;
    const taken = this.#taken + count;
    if (taken <= unread) return void (this.#taken = taken);
    const limit = this.#most();
    if (taken > limit * own) throw this.#refused(taken, limit, true);
    if (taken > this.#least + limit * step) {
      this.check();
      this.#least = taken;
    }
    this.#taken = taken;
  }

  /**
   * Asks the kernel now: what it has just refused may be missing because other isolates and drivers have it.
   * @throws {ArgumentError} if the process has more in use than its share.
   */
  check(): void {
    const limit = this.#most();
    const inUse = this.#kernel.inUse();
    if (inUse > limit * this.#shares.process) throw this.#refused(inUse, limit, false);
  }

  giveBack(count: number): void {
    this.#taken -= count;
    this.#least = Math.min(this.#least, this.#taken);
  }

  #most(): number {
    return this.#limit ??= this.#kernel.limit();
  }
}

/** The most mappings of a process if the kernel does not report it: Linux's default. */
const DEFAULT_LIMIT = 65_530;

/** munmap may need mappings, too, so half of them are left to others. Most programs need so few that reading pays for none. */
const SHARES: Shares = { own: 1 / 2, process: 3 / 4, step: 1 / 16, unread: 64 };

export class MappingCount extends Budget {
  constructor(kernel: Kernel = { limit: limitOfMappings, inUse: mappingsInUse }) {
    super(kernel, SHARES, tooMany);
  }
}

export const mappingCount: MappingCount = new MappingCount();

function limitOfMappings(): number {
  return Number.parseInt(textOf("/proc/sys/vm/max_map_count")) || DEFAULT_LIMIT;
}

function mappingsInUse(): number {
  return textOf("/proc/self/maps").split("\n").length - 1;
}

function tooMany(count: number, limit: number, own: boolean): ArgumentError {
  const what = own ? `this program's memory takes up to ${count} mappings` : `the process has ${count} mappings`;
  const rest = `of the ${limit} that Linux allows (vm.max_map_count); the rest is left to V8 and to drivers.`;
  return new ArgumentError(`${what}, ${rest}`, {
    api: "host",
    fn: "mmap",
    hint: "Dispose some tensors, make many small ones slices of one, or raise the limit (sysctl vm.max_map_count).",
  });
}

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

/** Field 47 of /proc/self/stat, of which the second is the program's name, in brackets. */
const START_OF_HEAP = 47 - 3;

/** Where the process's heap begins, which reaches to the program break; beyond all addresses if the kernel does not say. */
export function startOfHeap(): number {
  const stat = textOf("/proc/self/stat");
  const start = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[START_OF_HEAP]);
  return start > 0 ? start : Infinity;
}

/** The text of a short file of the system, such as /proc/…, as far as it can be read. It needs only --allow-ffi. */
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
