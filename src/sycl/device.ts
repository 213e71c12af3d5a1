import { NULL } from "../../ffi/address.ts";
import * as dpctl from "../../ffi/sycl/constants.ts";
import type { DPCTLSyclDeviceRef } from "../../ffi/sycl/handles.ts";
import { type Names, optionsIn, shownFields } from "../core/argument.ts";
import { withJson } from "../core/printed.ts";
import type { UsmKind } from "../core/tensors/unified.ts";
import { undoAll } from "../core/life/undo.ts";
import { checks, made, sycl, taken } from "./library.ts";

/** What runs SYCL's commands. */
export type SyclBackend = "opencl" | "level-zero" | "cuda" | "hip" | "unknown";

/** The kind of device. */
export type SyclDeviceType = "cpu" | "gpu" | "accelerator" | "custom" | "unknown";

/** One device of one platform, as SYCL describes it. */
export interface SyclDevice {
  /** Its name. */
  readonly name: string;
  /** Who made it. */
  readonly vendor: string;
  /** Its platform's name. */
  readonly platform: string;
  /** What runs its commands. */
  readonly backend: SyclBackend;
  /** Its kind. */
  readonly type: SyclDeviceType;
  /** Its driver's version. */
  readonly driverVersion: string;
  /** Its memory in bytes. */
  readonly globalMemory: number;
  /** The local memory of a group in bytes. */
  readonly localMemory: number;
  /** The most bytes of one allocation. */
  readonly maxAllocation: number;
  /** The most work-items of a group. */
  readonly maxGroupSize: number;
  /** The most work-items of a group along each of three dimensions. */
  readonly maxWorkItemSizes: readonly number[];
  /** The kinds of unified shared memory that it has. `system`: it uses all of the host's memory in place. */
  readonly usm: Readonly<Record<UsmKind | "system", boolean>>;
}

/** The device to open. Strings match a part of the name, in any case. */
export interface SyclDeviceChoice {
  /** Part of the platform's name. */
  readonly platform?: string;
  /** Part of the device's name. */
  readonly device?: string;
  /** What runs its commands. */
  readonly backend?: SyclBackend;
  /** The kind of device. */
  readonly type?: SyclDeviceType;
}

const CHOICE: Names<SyclDeviceChoice> = { platform: true, device: true, backend: true, type: true };

const BACKENDS: ReadonlyMap<number, SyclBackend> = new Map([
  [dpctl.DPCTL_OPENCL, "opencl"],
  [dpctl.DPCTL_LEVEL_ZERO, "level-zero"],
  [dpctl.DPCTL_CUDA, "cuda"],
  [dpctl.DPCTL_HIP, "hip"],
]);

const TYPES: ReadonlyMap<number, SyclDeviceType> = new Map([
  [dpctl.DPCTL_CPU, "cpu"],
  [dpctl.DPCTL_GPU, "gpu"],
  [dpctl.DPCTL_ACCELERATOR, "accelerator"],
  [dpctl.DPCTL_CUSTOM, "custom"],
]);

/**
 * Every device of every platform, in SYCL's order; empty if there is no driver.
 *
 * @throws {LibraryNotFoundError} if DPCTL or SYCL is not there.
 * @throws {NativeCallError} if SYCL cannot list them.
 *
 * @example
 * ```ts ignore
 * import { syclDevices } from "@samepage/interop/sycl";
 *
 * for (const { platform, name, usm } of syclDevices()) console.log(platform, name, usm);
 * ```
 */
export function syclDevices(): SyclDevice[] {
  return listed((_, device) => device);
}

/** The chosen device with its reference, which is the caller's: a GPU that fits first. @throws {ArgumentError} */
export function chosenDevice(
  choice: SyclDeviceChoice,
): { readonly ref: DPCTLSyclDeviceRef; readonly device: SyclDevice } {
  const wanted = { ...optionsIn(choice, CHOICE, "choice") };
  for (const [name, value] of Object.entries(wanted)) {
    if (value !== undefined) checks.assertText(value, `choice.${name}`);
  }
  const kept: { ref: DPCTLSyclDeviceRef; device: SyclDevice }[] = [];
  const all = listed((ref, device, keep) => {
    if (matches(device, wanted)) kept.push({ ref: keep(ref), device });
    return device;
  });
  const chosen = kept.find(({ device }) => device.type === "gpu") ?? kept[0];
  undoAll(
    kept.filter((each) => each !== chosen).map(({ ref }) => () => sycl().DPCTLDevice_Delete(ref)),
    "listing devices",
  );
  if (chosen !== undefined) return chosen;
  const there = all.map(({ platform, name, type }) => `${platform}: ${name} (${type})`).join("; ");
  const hint = all.length === 0
    ? "Install a driver: pip install intel-opencl-rt. Another TBB that was opened first hides it."
    : `Name part of a platform and part of a device: there is ${there}.`;
  throw checks.wrong(
    "choice",
    all.length === 0 ? "SYCL has no device." : `no SYCL device fits ${shownFields(wanted)}.`,
    hint,
    "DPCTLDeviceMgr_GetDevices",
  );
}

function matches(device: SyclDevice, choice: SyclDeviceChoice): boolean {
  const part = (text: string, wanted: string | undefined) =>
    wanted === undefined || text.toLowerCase().includes(wanted.toLowerCase());
  return part(device.platform, choice.platform) && part(device.name, choice.device) &&
    (choice.backend ?? device.backend) === device.backend && (choice.type ?? device.type) === device.type;
}

type Keep = (ref: DPCTLSyclDeviceRef) => DPCTLSyclDeviceRef;

/** What `visit` makes of each device. Its reference is deleted behind it, unless it keeps that. */
function listed<T>(visit: (ref: DPCTLSyclDeviceRef, device: SyclDevice, keep: Keep) => T): T[] {
  const lib = sycl();
  const all = lib.DPCTLDeviceMgr_GetDevices(dpctl.DPCTL_ALL_BACKENDS | dpctl.DPCTL_ALL);
  const vector = made(all, "DPCTLDeviceMgr_GetDevices");
  try {
    return Array.from({ length: Number(lib.DPCTLDeviceVector_Size(vector)) }, (_, i) => {
      const ref = made(lib.DPCTLDeviceVector_GetAt(vector, BigInt(i)), "DPCTLDeviceVector_GetAt");
      let kept = false;
      try {
        return visit(ref, describe(ref), (ref) => {
          kept = true;
          return ref;
        });
      } finally {
        if (!kept) lib.DPCTLDevice_Delete(ref);
      }
    });
  } finally {
    lib.DPCTLDeviceVector_Delete(vector);
  }
}

function describe(ref: DPCTLSyclDeviceRef): SyclDevice {
  const lib = sycl();
  const has = (aspect: number) => Boolean(lib.DPCTLDevice_HasAspect(ref, aspect));
  return Object.freeze(withJson({
    name: taken(lib.DPCTLDevice_GetName(ref)),
    vendor: taken(lib.DPCTLDevice_GetVendor(ref)),
    platform: platformOf(ref),
    backend: BACKENDS.get(lib.DPCTLDevice_GetBackend(ref)) ?? "unknown",
    type: TYPES.get(lib.DPCTLDevice_GetDeviceType(ref)) ?? "unknown",
    driverVersion: taken(lib.DPCTLDevice_GetDriverVersion(ref)),
    globalMemory: Number(lib.DPCTLDevice_GetGlobalMemSize(ref)),
    localMemory: Number(lib.DPCTLDevice_GetLocalMemSize(ref)),
    maxAllocation: Number(lib.DPCTLDevice_GetMaxMemAllocSize(ref)),
    maxGroupSize: Number(lib.DPCTLDevice_GetMaxWorkGroupSize(ref)),
    maxWorkItemSizes: sizesOf(ref),
    usm: Object.freeze({
      host: has(dpctl.usm_host_allocations),
      device: has(dpctl.usm_device_allocations),
      shared: has(dpctl.usm_shared_allocations),
      system: has(dpctl.usm_system_allocations),
    }),
  }));
}

function platformOf(ref: DPCTLSyclDeviceRef): string {
  const lib = sycl();
  const platform = made(lib.DPCTLDevice_GetPlatform(ref), "DPCTLDevice_GetPlatform");
  try {
    return taken(lib.DPCTLPlatform_GetName(platform));
  } finally {
    lib.DPCTLPlatform_Delete(platform);
  }
}

function sizesOf(ref: DPCTLSyclDeviceRef): readonly number[] {
  const lib = sycl();
  const sizes = lib.DPCTLDevice_GetMaxWorkItemSizes3d(ref);
  if (sizes === NULL) return Object.freeze([0, 0, 0]);
  try {
    const view = new Deno.UnsafePointerView(Deno.UnsafePointer.create(sizes)!);
    return Object.freeze([0, 8, 16].map((at) => Number(view.getBigUint64(at))));
  } finally {
    lib.DPCTLSize_t_Array_Delete(sizes);
  }
}
