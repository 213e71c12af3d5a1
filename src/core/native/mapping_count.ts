import { ArgumentError } from "../errors.ts";
import { textOf } from "./mappings.ts";

/** The most mappings of a process if the kernel does not tell: Linux's default. */
const DEFAULT_LIMIT = 65_530;

/** What the kernel says about this process's mappings. */
export interface Kernel {
  /** The most there may be (vm.max_map_count). */
  limit(): number;
  /** How many there are. Asking takes a while, so it is done rarely. */
  inUse(): number;
}

/**
 * Counts mappings, and refuses them long before the kernel does. V8 ends the process if it gets none, and munmap may
 * need one, so half of them are left to others.
 *
 * Every isolate counts its own. The kernel is asked for those of Workers and drivers after every so many new mappings.
 */
export class MappingCount {
  readonly #kernel: Kernel;
  #limit: number | undefined;
  #made = 0;
  /** The lowest count since the kernel was asked. */
  #least = 0;

  /** Asks nothing yet. */
  constructor(kernel: Kernel = { limit: limitOfMappings, inUse: mappingsInUse }) {
    this.#kernel = kernel;
  }

  /**
   * Counts mappings that are about to be made.
   *
   * @throws {ArgumentError} if there are too many already; none is counted then.
   */
  take(count: number): void {
    const limit = this.#limit ??= this.#kernel.limit();
    const made = this.#made + count;
    if (made > limit / 2) throw tooMany(`this program's memory takes up to ${made} mappings`, limit);
    if (made > this.#least + limit / 16) {
      const inUse = this.#kernel.inUse();
      if (inUse > limit * 3 / 4) throw tooMany(`the process has ${inUse} mappings`, limit);
      this.#least = made;
    }
    this.#made = made;
  }

  /** Counts mappings that are gone. */
  giveBack(count: number): void {
    this.#made -= count;
    this.#least = Math.min(this.#least, this.#made);
  }
}

/** Counts the mappings of this isolate's memory. */
export const mappingCount: MappingCount = new MappingCount();

function limitOfMappings(): number {
  return Number.parseInt(textOf("/proc/sys/vm/max_map_count")) || DEFAULT_LIMIT;
}

function mappingsInUse(): number {
  return textOf("/proc/self/maps").split("\n").length - 1;
}

function tooMany(what: string, limit: number): ArgumentError {
  const rest = `of the ${limit} that Linux allows (vm.max_map_count); the rest is left to V8 and to drivers.`;
  return new ArgumentError(`${what}, ${rest}`, {
    api: "host",
    fn: "mmap",
    hint: "Dispose some tensors, make many small ones slices of one, or raise the limit (sysctl vm.max_map_count).",
  });
}
