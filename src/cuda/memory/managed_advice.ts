import {
  CU_DEVICE_CPU,
  CU_DEVICE_INVALID,
  CU_MEM_ADVISE_SET_ACCESSED_BY,
  CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
  CU_MEM_ADVISE_SET_READ_MOSTLY,
  CU_MEM_ADVISE_UNSET_ACCESSED_BY,
  CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
  CU_MEM_ADVISE_UNSET_READ_MOSTLY,
  CU_MEM_LOCATION_TYPE_DEVICE,
  CU_MEM_LOCATION_TYPE_HOST,
  CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
  CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
  CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
  CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
} from "../../../ffi/cuda_driver/constants.ts";
import { CUmemLocation, writeCUmemLocation } from "../../../ffi/cuda_driver/structs.ts";
import { checks } from "../check.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { checkDriver } from "../errors.ts";
import { cudaDriver, newerDriver } from "../library.ts";
import type { CudaTensor } from "../tensor.ts";

/** A place of managed memory: the context's device, the host, or another device. */
export type ManagedPlace = "device" | "host" | CudaPrimaryContext;

/** Advice to the driver about managed memory (CU_MEM_ADVISE). */
export type ManagedAdvice = "read-mostly" | "preferred-location" | "accessed-by";

/** The advice for all bytes of a range (cuMemRangeGetAttribute); devices by their ordinals. */
export interface ManagedHints {
  /** True if each reader gets a copy. */
  readonly readMostly: boolean;
  /** Its preferred place. */
  readonly preferredLocation: number | "host" | undefined;
  /** Its remote users. */
  readonly accessedBy: readonly (number | "host")[];
  /** The target of its last prefetch. */
  readonly lastPrefetch: number | "host" | undefined;
}

const ADVICE: { readonly [A in ManagedAdvice]: readonly [set: number, unset: number] } = {
  "read-mostly": [CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_ADVISE_UNSET_READ_MOSTLY],
  "preferred-location": [CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION],
  "accessed-by": [CU_MEM_ADVISE_SET_ACCESSED_BY, CU_MEM_ADVISE_UNSET_ACCESSED_BY],
};

/** Room for more processors than a machine has. */
const MAX_PROCESSORS = 65;

export function locationOf(place: CudaPrimaryContext | "host"): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(CUmemLocation.size);
  writeCUmemLocation(
    new DataView(bytes.buffer),
    0,
    place === "host"
      ? { type: CU_MEM_LOCATION_TYPE_HOST, id: 0 }
      : { type: CU_MEM_LOCATION_TYPE_DEVICE, id: place.device.ordinal },
  );
  return bytes;
}

export function setAdvice(
  { within }: CudaPrimaryContext,
  { address, layout: { byteLength } }: CudaTensor,
  advice: ManagedAdvice,
  place: CudaPrimaryContext | "host",
  unset: boolean,
): void {
  const codes = ADVICE[checks.nameIn(advice, ADVICE, "advice")];
  const call = newerDriver("cuMemAdvise_v2");
  const number = codes[unset ? 1 : 0];
  within(() => checkDriver(call(address, BigInt(byteLength), number, locationOf(place)), "cuMemAdvise"));
}

export function hintsOn(context: CudaPrimaryContext, { address, layout: { byteLength } }: CudaTensor): ManagedHints {
  const hintOf = (attribute: number, count: number): number[] => {
    const data = new Int32Array(count);
    context.within(() =>
      checkDriver(
        cudaDriver().cuMemRangeGetAttribute(data, BigInt(data.byteLength), attribute, address, BigInt(byteLength)),
        "cuMemRangeGetAttribute",
      )
    );
    return [...data];
  };
  return {
    readMostly: hintOf(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 1)[0] === 1,
    preferredLocation: processor(hintOf(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 1)[0]),
    accessedBy: hintOf(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, MAX_PROCESSORS)
      .flatMap((number) => processor(number) ?? []),
    lastPrefetch: processor(hintOf(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 1)[0]),
  };
}

function processor(number: number): number | "host" | undefined {
  if (number === CU_DEVICE_INVALID) return undefined;
  return number === CU_DEVICE_CPU ? "host" : number;
}
