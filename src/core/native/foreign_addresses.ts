import type { Address } from "../../../ffi/address.ts";
import { ENOMEM } from "../../../ffi/libc/errors.ts";
import { ArgumentError, NativeCallError } from "../errors.ts";
import { allOrNothing, type Undo } from "../life/undo.ts";
import { Budget, type Kernel, type Shares } from "./budget.ts";
import { mappingCount } from "./mapping_count.ts";
import { textOf } from "./mappings.ts";
import { PAGE, reservePages, unmapPages } from "./pages.ts";

/** Others say how long their memory is, and it may be sparse: a small part of all addresses is theirs. */
const SHARES: Shares = { own: 1 / 8, process: 1 / 2, step: 1 / 128 };

/** Counts the addresses of memory that others have made: other processes, libraries and drivers. In bytes. */
export class ForeignAddresses extends Budget {
  constructor(kernel: Kernel = { limit: limitOfAddresses, inUse: addressesInUse }) {
    super(kernel, SHARES, tooMuch);
  }
}

/** Counts the addresses of this isolate's memory of others. */
export const foreignAddresses: ForeignAddresses = new ForeignAddresses();

/** Returns what counts it off. @throws {ArgumentError} for too many mappings, or too few addresses. */
export function countForeignMapping(byteLength: number): () => void {
  mappingCount.take(1);
  const countOff = () => mappingCount.giveBack(1);
  allOrNothing("counting a mapping", () => foreignAddresses.take(byteLength), [countOff]);
  return () => {
    foreignAddresses.giveBack(byteLength);
    countOff();
  };
}

/**
 * Maps memory that others have made, and counts it. `undo` counts it off.
 * @throws {ArgumentError} if there are too many mappings, or too few addresses are left.
 * @throws {NativeCallError} if the kernel does not map it for another reason.
 */
export function mapForeign(byteLength: number, undo: Undo, map: () => Address): Address {
  undo.push(countForeignMapping(byteLength));
  try {
    return map();
  } catch (error) {
    if (error instanceof NativeCallError && error.code === ENOMEM) {
      for (const budget of [mappingCount, foreignAddresses]) budget.check(); // what Workers take, each counts by itself
    }
    throw error;
  }
}

/** The kernel maps from the highest address down, so a new page shows how many there are: 2^47 on x86-64. */
function limitOfAddresses(): number {
  const page = reservePages(PAGE);
  unmapPages(page, PAGE);
  const most = 2 ** page.toString(2).length;
  const limit = Number(/^Max address space +(\d+)/m.exec(textOf("/proc/self/limits"))?.[1] ?? Infinity);
  return Math.min(most, limit);
}

function addressesInUse(): number {
  return Number(/^VmSize:\s+(\d+) kB/m.exec(textOf("/proc/self/status"))?.[1] ?? 0) * 1024;
}

function tooMuch(byteLength: number, limit: number, own: boolean): ArgumentError {
  const what = own
    ? `memory of other processes would take ${inGiB(byteLength)} of addresses`
    : `the process has ${inGiB(byteLength)} of addresses in use`;
  const rest = `of the ${inGiB(limit)} that there are; the rest is left to V8 and to drivers.`;
  return new ArgumentError(`${what}, ${rest}`, {
    api: "host",
    fn: "mmap",
    hint:
      "Dispose tensors that were received or attached. If there are few, their owner says they are longer than they are.",
  });
}

function inGiB(byteLength: number): string {
  return `${Math.ceil(byteLength / 2 ** 30)} GiB`;
}
