import { ArgumentError } from "../errors.ts";
import { textOf } from "./proc.ts";

/** How many mappings a process may have where the kernel does not say: Linux's default. */
const DEFAULT_LIMIT = 65_530;

/** What the kernel knows of this process's mappings. */
export interface Kernel {
  /** How many there may be (vm.max_map_count). */
  limit(): number;
  /** How many there are. This takes a while: it is asked now and then. */
  inUse(): number;
}

/**
 * Counts the mappings that are made, and refuses them long before the kernel does. V8 ends the process where it gets
 * none, and munmap may need one, so half of them are left to others.
 *
 * Every isolate counts its own. What Workers and drivers have is seen when the kernel is asked, whenever a good many
 * more have been made.
 */
export class MappingCount {
  readonly #kernel: Kernel;
  #limit: number | undefined;
  #made = 0;
  /** The fewest there were since the kernel was asked. */
  #least = 0;

  /** Asks nothing yet. */
  constructor(kernel: Kernel = { limit: limitOfMappings, inUse: mappingsInUse }) {
    this.#kernel = kernel;
  }

  /**
   * Some more are about to be made.
   *
   * @throws {ArgumentError} where there are too many already; then none was counted.
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

  /** Some are gone. */
  giveBack(count: number): void {
    this.#made -= count;
    this.#least = Math.min(this.#least, this.#made);
  }
}

/** The mappings of this isolate's memory. */
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
