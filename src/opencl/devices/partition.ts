import { CL_DEVICE_PARTITION_BY_COUNTS_LIST_END } from "../../../ffi/opencl/constants.ts";
import { object, shown } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import { itemsIn } from "../check.ts";
import type { OpenCLDevice } from "../device.ts";
import { type AffinityDomain, DOMAINS, KINDS, type PartitionKind } from "./partition_abilities.ts";
import { knownDevices } from "./known_devices.ts";
import { type Cut, SubDevices } from "./sub_devices.ts";

/** How to cut a device: one of these. */
export interface PartitionHow {
  /** Into as many parts as there are, of so many compute units each. */
  readonly equally?: number;
  /** Into parts of these numbers of compute units. */
  readonly counts?: readonly number[];
  /** Into parts whose compute units have this in common. */
  readonly affinity?: AffinityDomain;
}

/**
 * Cuts a device into sub-devices (clCreateSubDevices). How it can be cut is told by `device.partition`.
 *
 * @throws {ArgumentError} where it cannot be cut so.
 * @throws {DisposedError} where it is a sub-device that was released.
 *
 * @example
 * ```ts
 * import { OpenCLContext, openclDevices, partition } from "@samepage/interop/opencl";
 *
 * const [device] = openclDevices();
 * if (device.partition.kinds.includes("equally") && device.partition.most > 1) {
 *   using halves = partition(device, { equally: Math.ceil(device.computeUnits / 2) });
 *   using cl = OpenCLContext.create(halves.devices);
 *   console.log(cl.devices.map((part) => part.computeUnits));
 * }
 * ```
 */
export function partition(device: OpenCLDevice, how: PartitionHow): SubDevices {
  const read = readPartition(how);
  const [known] = knownDevices([device], () => "device");
  return new SubDevices(known, cutOf(known, read));
}

/** What a program gave, read once. @throws {ArgumentError} unless it names one way. */
function readPartition(how: PartitionHow): PartitionHow {
  const { equally, counts, affinity } = object(how, "how");
  const read = {
    ...(equally === undefined ? {} : { equally }),
    ...(counts === undefined ? {} : { counts: Array.isArray(counts) ? itemsIn<number>(counts, "counts") : counts }),
    ...(affinity === undefined ? {} : { affinity }),
  };
  if (Object.keys(read).length === 1) return read;
  throw wrong("how", "it is to name one way.", "Pass { equally: n }, { counts: [n, m] } or { affinity: domain }.");
}

/** How clCreateSubDevices is told. @throws {ArgumentError} where the device cannot be cut so. */
function cutOf(device: OpenCLDevice, { equally, counts, affinity }: PartitionHow): Cut {
  if (equally !== undefined) return cutEqually(device, equally);
  return counts !== undefined ? cutByCounts(device, counts) : cutByAffinity(device, affinity!);
}

function cutEqually(device: OpenCLDevice, units: number): Cut {
  assertKind(device, "equally");
  assertUnits(device, "equally", units);
  const count = Math.floor(device.computeUnits / units);
  assertMost(device, "equally", count);
  return { count, properties: BigUint64Array.of(KINDS.equally, BigInt(units), 0n) };
}

function cutByCounts(device: OpenCLDevice, counts: readonly number[]): Cut {
  assertKind(device, "counts");
  if (!Array.isArray(counts) || counts.length === 0) throw wrong("counts", "it is no list of numbers.");
  counts.forEach((units, i) => assertUnits(device, `counts[${i}]`, units));
  const all = counts.reduce((sum, units) => sum + units, 0);
  if (all > device.computeUnits) {
    throw wrong("counts", `${all} are more than the ${device.computeUnits} compute units.`);
  }
  assertMost(device, "counts", counts.length);
  const list = [KINDS.counts, ...counts.map(BigInt), CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0n];
  return { count: counts.length, properties: BigUint64Array.from(list) };
}

function cutByAffinity(device: OpenCLDevice, domain: AffinityDomain): Cut {
  assertKind(device, "affinity");
  const { domains, most } = device.partition;
  if (!domains.includes(domain)) {
    throw wrong("affinity", `${shown(domain)} is no domain of ${device.name}.`, `It has ${domains.join(", ")}.`);
  }
  return { count: most, properties: BigUint64Array.of(KINDS.affinity, DOMAINS[domain], 0n) };
}

function assertKind({ name, partition: { kinds } }: OpenCLDevice, kind: PartitionKind): void {
  if (kinds.includes(kind)) return;
  const ways = kinds.length === 0 ? "It cannot be cut at all." : `It can be cut by ${kinds.join(" or ")}.`;
  throw wrong(kind, `${name} cannot be cut so.`, ways);
}

function assertUnits({ name, computeUnits }: OpenCLDevice, argument: string, units: number): void {
  if (Number.isInteger(units) && units >= 1 && units <= computeUnits) return;
  throw wrong(argument, `${shown(units)} is no whole number from 1 to ${computeUnits}, the compute units of ${name}.`);
}

function assertMost({ name, partition: { most } }: OpenCLDevice, argument: string, count: number): void {
  if (count > most) throw wrong(argument, `that makes ${count} parts; ${name} can be cut into ${most}.`);
}

function wrong(argument: string, what: string, hint?: string): ArgumentError {
  return new ArgumentError(`${argument}: ${what}`, {
    api: "opencl",
    fn: "clCreateSubDevices",
    argument,
    ...(hint === undefined ? {} : { hint }),
  });
}
