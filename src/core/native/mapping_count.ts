import { ArgumentError } from "../errors.ts";
import { Budget, type Kernel, type Shares } from "./budget.ts";
import { textOf } from "./mappings.ts";

/** The most mappings of a process if the kernel does not report it: Linux's default. */
const DEFAULT_LIMIT = 65_530;

/** munmap may need mappings, too, so half of them are left to others. */
const SHARES: Shares = { own: 1 / 2, process: 3 / 4, step: 1 / 16 };

/** Counts mappings (vm.max_map_count). */
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
