import * as dpctl from "../../ffi/sycl/constants.ts";
import type { DPCTLSyclContextRef, DPCTLSyclDeviceRef } from "../../ffi/sycl/handles.ts";
import type { Names } from "../core/argument.ts";
import { choiceIn, gpuFirst, hasPart } from "../core/device/choice.ts";
import { withJson } from "../core/printed.ts";
import type { UsmKind } from "../core/tensors/unified.ts";
import type { Context } from "../core/graph/context.ts";
import { checks, made, sycl, taken, using } from "./library.ts";
import { onIn, type SyclOn } from "./native_context.ts";

/** The API that runs SYCL's commands. */
export type SyclBackend = "opencl" | "level-zero" | "cuda" | "hip" | "unknown";

/** The kind of device. */
export type SyclDeviceType = "cpu" | "gpu" | "accelerator" | "custom" | "unknown";

/** One device of one platform, as SYCL describes it. */
export interface SyclDevice {
  /** Its name. */
  readonly name: string;
  /** Its vendor. */
  readonly vendor: string;
  /** Its platform's name. */
  readonly platform: string;
  /** The API that runs its commands. */
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
  /** The kinds of unified shared memory that it has. `system` is true if it uses all host memory in place. */
  readonly usm: Readonly<Record<UsmKind | "system", boolean>>;
}

/** The device to open. Strings match a part of the name, in any case. */
export interface SyclDeviceChoice {
  /** Part of the platform's name. */
  readonly platform?: string;
  /** Part of the device's name. */
  readonly device?: string;
  /** The API that runs its commands. */
  readonly backend?: SyclBackend;
  /** The kind of device. */
  readonly type?: SyclDeviceType;
  /** Its index in {@link syclDevices}, to choose between devices that are alike. */
  readonly index?: number;
  /** An OpenCL context: its `cl_context` becomes SYCL's, and each uses the other's unified shared memory. */
  readonly on?: Context;
}

const CHOICE: Names<SyclDeviceChoice> = {
  platform: true,
  device: true,
  backend: true,
  type: true,
  index: true,
  on: true,
};

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
 * @throws {LibraryNotFoundError} if there is no DPCTL or no SYCL.
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
  return withDevices(undefined, (devices) => [...devices]);
}

/** Checks a choice. @throws {ArgumentError} */
export function checkedChoice(choice: SyclDeviceChoice): Omit<SyclDeviceChoice, "on"> & { readonly on?: SyclOn } {
  const { on, ...wanted } = choiceIn(checks, choice, CHOICE);
  return on === undefined ? wanted : { ...wanted, on: onIn(on) };
}

/** A device, and a reference to it, which the caller owns. */
export interface ChosenDevice {
  readonly ref: DPCTLSyclDeviceRef;
  readonly device: SyclDevice;
}

/** Chooses among all devices, or those of a context. The caller owns the reference. @throws {ArgumentError} */
export function chosenDevice(
  wanted: Omit<SyclDeviceChoice, "on">,
  of?: DPCTLSyclContextRef,
): ChosenDevice {
  return withDevices(of, (devices, refOf) => {
    const { platform, device: name, backend, type, index } = wanted;
    const fitting = devices.filter((device, i) =>
      hasPart(device.platform, platform) && hasPart(device.name, name) && (index ?? i) === i &&
      (backend ?? device.backend) === device.backend && (type ?? device.type) === device.type
    );
    const device = gpuFirst(fitting, checks, {
      title: "SYCL",
      fn: "DPCTLDeviceMgr_GetDevices",
      install: "Install a driver: pip install intel-opencl-rt. Another TBB that was opened first hides it.",
      wanted,
      there: devices.map(({ platform, name, type }) => `${platform}: ${name} (${type})`),
    });
    return { device, ref: refOf(devices.indexOf(device)) };
  });
}

/** Lists all devices, or those of a context. `refOf` makes a new reference to one of them. */
function withDevices<T>(
  of: DPCTLSyclContextRef | undefined,
  use: (devices: readonly SyclDevice[], refOf: (index: number) => DPCTLSyclDeviceRef) => T,
): T {
  const lib = sycl();
  const [vector, fn] = of === undefined
    ? [lib.DPCTLDeviceMgr_GetDevices(dpctl.DPCTL_ALL_BACKENDS | dpctl.DPCTL_ALL), "DPCTLDeviceMgr_GetDevices"]
    : [lib.DPCTLContext_GetDevices(of), "DPCTLContext_GetDevices"];
  return using(vector, fn, lib.DPCTLDeviceVector_Delete, () => {
    const refOf = (index: number) =>
      made(lib.DPCTLDeviceVector_GetAt(vector, BigInt(index)), "DPCTLDeviceVector_GetAt");
    const describeAt = (_: unknown, i: number) =>
      using(refOf(i), "DPCTLDeviceVector_GetAt", lib.DPCTLDevice_Delete, describe);
    return use(Array.from({ length: Number(lib.DPCTLDeviceVector_Size(vector)) }, describeAt), refOf);
  });
}

function describe(ref: DPCTLSyclDeviceRef): SyclDevice {
  const lib = sycl();
  const has = (aspect: number) => Boolean(lib.DPCTLDevice_HasAspect(ref, aspect));
  return Object.freeze(withJson({
    name: taken(lib.DPCTLDevice_GetName(ref), "DPCTLDevice_GetName"),
    vendor: taken(lib.DPCTLDevice_GetVendor(ref), "DPCTLDevice_GetVendor"),
    platform: platformOf(ref),
    backend: BACKENDS.get(lib.DPCTLDevice_GetBackend(ref)) ?? "unknown",
    type: TYPES.get(lib.DPCTLDevice_GetDeviceType(ref)) ?? "unknown",
    driverVersion: taken(lib.DPCTLDevice_GetDriverVersion(ref), "DPCTLDevice_GetDriverVersion"),
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
  const platform = lib.DPCTLDevice_GetPlatform(ref);
  return using(platform, "DPCTLDevice_GetPlatform", lib.DPCTLPlatform_Delete, () => {
    return taken(lib.DPCTLPlatform_GetName(platform), "DPCTLPlatform_GetName");
  });
}

function sizesOf(ref: DPCTLSyclDeviceRef): readonly number[] {
  const lib = sycl();
  const sizes = lib.DPCTLDevice_GetMaxWorkItemSizes3d(ref);
  return using(sizes, "DPCTLDevice_GetMaxWorkItemSizes3d", lib.DPCTLSize_t_Array_Delete, () => {
    const view = new Deno.UnsafePointerView(Deno.UnsafePointer.create(sizes)!);
    return Object.freeze([0, 8, 16].map((at) => Number(view.getBigUint64(at))));
  });
}
