import {
  CL_DEVICE_AFFINITY_DOMAIN_L1_CACHE,
  CL_DEVICE_AFFINITY_DOMAIN_L2_CACHE,
  CL_DEVICE_AFFINITY_DOMAIN_L3_CACHE,
  CL_DEVICE_AFFINITY_DOMAIN_L4_CACHE,
  CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE,
  CL_DEVICE_AFFINITY_DOMAIN_NUMA,
  CL_DEVICE_PARTITION_AFFINITY_DOMAIN,
  CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN,
  CL_DEVICE_PARTITION_BY_COUNTS,
  CL_DEVICE_PARTITION_EQUALLY,
  CL_DEVICE_PARTITION_MAX_SUB_DEVICES,
  CL_DEVICE_PARTITION_PROPERTIES,
} from "../../../ffi/opencl/constants.ts";
import { count, from, optional, type Questions, word, words } from "./queries.ts";

/** A way to cut a device into sub-devices. */
export type PartitionKind = "equally" | "counts" | "affinity";

/** What the compute units of one sub-device have in common; `"next"` is the first of these that differs. */
export type AffinityDomain = "numa" | "l4" | "l3" | "l2" | "l1" | "next";

/** How a device can be cut. */
export interface DevicePartition {
  /** CL_DEVICE_PARTITION_MAX_SUB_DEVICES: the most that it can be cut into. */
  readonly most: number;
  /** CL_DEVICE_PARTITION_PROPERTIES; empty where it cannot be cut. */
  readonly kinds: readonly PartitionKind[];
  /** CL_DEVICE_PARTITION_AFFINITY_DOMAIN. */
  readonly domains: readonly AffinityDomain[];
}

/** The property of each kind. */
export const KINDS: Readonly<Record<PartitionKind, bigint>> = {
  equally: CL_DEVICE_PARTITION_EQUALLY,
  counts: CL_DEVICE_PARTITION_BY_COUNTS,
  affinity: CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN,
};

/** The bit of each domain. */
export const DOMAINS: Readonly<Record<AffinityDomain, bigint>> = {
  numa: CL_DEVICE_AFFINITY_DOMAIN_NUMA,
  l4: CL_DEVICE_AFFINITY_DOMAIN_L4_CACHE,
  l3: CL_DEVICE_AFFINITY_DOMAIN_L3_CACHE,
  l2: CL_DEVICE_AFFINITY_DOMAIN_L2_CACHE,
  l1: CL_DEVICE_AFFINITY_DOMAIN_L1_CACHE,
  next: CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE,
};

/** How a device is asked. */
export const PARTITION: Questions<DevicePartition> = {
  most: optional(count(CL_DEVICE_PARTITION_MAX_SUB_DEVICES), 0),
  kinds: optional(
    from(words(CL_DEVICE_PARTITION_PROPERTIES), (told) => keysOf(KINDS).filter((kind) => told.includes(KINDS[kind]))),
    [],
  ),
  domains: optional(
    from(
      word(CL_DEVICE_PARTITION_AFFINITY_DOMAIN),
      (bits) => keysOf(DOMAINS).filter((domain) => (bits & DOMAINS[domain]) !== 0n),
    ),
    [],
  ),
};

function keysOf<K extends string>(table: Readonly<Record<K, unknown>>): K[] {
  return Object.keys(table) as K[];
}
