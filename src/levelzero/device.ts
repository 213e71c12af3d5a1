import * as ze from "../../ffi/levelzero/constants.ts";
import { ZE_RESULT_ERROR_UNINITIALIZED } from "../../ffi/levelzero/errors.ts";
import type { ZeDeviceHandle, ZeDriverHandle } from "../../ffi/levelzero/handles.ts";
import type { FieldLayout } from "../../ffi/layout.ts";
import * as layouts from "../../ffi/levelzero/structs.ts";
import type { Names } from "../core/argument.ts";
import { choiceIn, gpuFirst, hasPart } from "../core/device/choice.ts";
import { type DeviceId, pciAddress, plainUuid } from "../core/device/device_id.ts";
import { contextOn, devicesOn, type OpenOn } from "../core/device/device_on.ts";
import { listed, listedHandles, type Listing } from "../core/native/listed.ts";
import type { Struct } from "../core/native/struct.ts";
import { USM_KINDS, type UsmKind } from "../core/tensors/unified.ts";
import { check, checks, levelZero } from "./library.ts";
import { struct, structs } from "./struct.ts";

/** The kind of a device. */
export type LevelZeroDeviceType = "gpu" | "cpu" | "fpga" | "mca" | "vpu" | "other";

/** Limits of a kernel's launch, along three dimensions. */
export interface LevelZeroLimits {
  /** The most work-items of a work group along each dimension. */
  readonly groupSize: readonly number[];
  /** The most work-items of a work group. */
  readonly groupItems: number;
  /** The most work groups along each dimension. */
  readonly groups: readonly number[];
}

/** A device, as its driver reports it. */
export interface LevelZeroDevice {
  /** Its name. */
  readonly name: string;
  /** Its kind. */
  readonly type: LevelZeroDeviceType;
  /** Its UUID and PCI address, if the driver reports them. */
  readonly id: DeviceId;
  /** The largest allocation in bytes. */
  readonly maxAllocation: number;
  /**
   * Which kinds of unified shared memory it can use. If its driver reports none, all are true, and the allocator
   * decides.
   */
  readonly usm: { readonly [K in UsmKind]: boolean };
  /** Whether it can export its memory as dma-bufs, and import dma-bufs as memory. */
  readonly dmaBuf: { readonly exports: boolean; readonly imports: boolean };
  /** Limits of launches. */
  readonly limits: LevelZeroLimits;
  /** The ordinal of the queue group that runs kernels. */
  readonly queueOrdinal: number;
  /** The `ze_device_handle_t`. */
  readonly handle: ZeDeviceHandle;
  /** The `ze_driver_handle_t` that it belongs to. */
  readonly driver: ZeDriverHandle;
}

const TYPES: ReadonlyMap<number, LevelZeroDeviceType> = new Map([
  [ze.ZE_DEVICE_TYPE_GPU, "gpu"],
  [ze.ZE_DEVICE_TYPE_CPU, "cpu"],
  [ze.ZE_DEVICE_TYPE_FPGA, "fpga"],
  [ze.ZE_DEVICE_TYPE_MCA, "mca"],
  [ze.ZE_DEVICE_TYPE_VPU, "vpu"],
]);

const PCI = "ZE_extension_pci_properties";

/** The struct that each function fills in. */
const FACTS = {
  zeDeviceGetProperties: "ze_device_properties_t",
  zeDeviceGetComputeProperties: "ze_device_compute_properties_t",
  zeDeviceGetMemoryAccessProperties: "ze_device_memory_access_properties_t",
  zeDeviceGetExternalMemoryProperties: "ze_device_external_memory_properties_t",
  zeDevicePciGetPropertiesExt: "ze_pci_ext_properties_t",
} as const;

/** The struct that each function fills in as an array. */
const LISTS = {
  zeDriverGetExtensionProperties: "ze_driver_extension_properties_t",
  zeDeviceGetCommandQueueGroupProperties: "ze_command_queue_group_properties_t",
} as const;

/**
 * The devices of all drivers that the loader has found; empty without a driver. The loader looks for drivers once, on the
 * first call in a process.
 *
 * @throws {LibraryNotFoundError} if there is no loader.
 * @throws {NativeCallError} if a driver fails.
 *
 * @example
 * ```ts ignore
 * import { levelZeroDevices } from "@samepage/interop/levelzero";
 *
 * for (const { name, type, id } of levelZeroDevices()) console.log(name, type, id.uuid);
 * ```
 */
export function levelZeroDevices(): LevelZeroDevice[] {
  const code = levelZero().zeInit(0);
  if (code === ZE_RESULT_ERROR_UNINITIALIZED) return []; // there is no driver
  check(code, "zeInit");
  return drivers().flatMap((driver) => {
    const fn = "zeDeviceGet";
    const devices = listedHandles<ZeDeviceHandle>(fn, check, (count, list) => levelZero()[fn](driver, count, list));
    const hasPci = extensionsOf(driver).includes(PCI);
    return devices.map((device) => factsOf(driver, device, hasPci));
  });
}

/** The drivers that the loader has found. */
export function drivers(): ZeDriverHandle[] {
  return listedHandles("zeDriverGet", check, levelZero().zeDriverGet);
}

/** A function's list of structs. `read` reads the struct that begins at a byte. */
function structsOf<T>(fn: keyof typeof LISTS, of: bigint, read: (all: Struct, start: number) => T): T[] {
  const ask: Listing<Struct> = (count, list) => levelZero()[fn](of as never, count, list);
  const { count: length, into } = listed(fn, check, ask, (count) => structs(LISTS[fn], Array(count).fill({})));
  return Array.from({ length }, (_, i) => read(into!, i * layouts[LISTS[fn]].size));
}

function extensionsOf(driver: ZeDriverHandle): string[] {
  const { name } = layouts.ze_driver_extension_properties_t.fields;
  return structsOf("zeDriverGetExtensionProperties", driver, (all, start) => all.text(name, start));
}

/** The first group of queues that run kernels. */
function queueOrdinalOf(device: ZeDeviceHandle): number {
  const fn = "zeDeviceGetCommandQueueGroupProperties";
  const groups = structsOf(fn, device, layouts.readZeCommandQueueGroupProperties);
  return Math.max(0, groups.findIndex(({ flags }) => (flags & ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) !== 0));
}

/** The struct that a function fills in for a device. */
function queried(device: ZeDeviceHandle, fn: keyof typeof FACTS): Struct {
  const into = struct(FACTS[fn]);
  check(levelZero()[fn](device, into), fn);
  return into;
}

function factsOf(driver: ZeDriverHandle, handle: ZeDeviceHandle, hasPci: boolean): LevelZeroDevice {
  const own = queried(handle, "zeDeviceGetProperties");
  const { type, maxMemAllocSize } = layouts.readZeDeviceProperties(own, 0);
  const { name, uuid } = layouts.ze_device_properties_t.fields;
  const compute = layouts.readZeDeviceComputeProperties(queried(handle, "zeDeviceGetComputeProperties"), 0);
  const access = layouts.readZeDeviceMemoryAccessProperties(queried(handle, "zeDeviceGetMemoryAccessProperties"), 0);
  const shared = queried(handle, "zeDeviceGetExternalMemoryProperties");
  const external = layouts.readZeDeviceExternalMemoryProperties(shared, 0);
  const can = (flags: number) => (flags & ze.ZE_MEMORY_ACCESS_CAP_FLAG_RW) !== 0;
  const asDmaBuf = (types: number) => (types & ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF) !== 0;
  const usm = {
    host: can(access.hostAllocCapabilities),
    device: can(access.deviceAllocCapabilities),
    shared: can(access.sharedSingleDeviceAllocCapabilities),
  };
  return {
    name: own.text(name),
    type: TYPES.get(type) ?? "other",
    id: { ...uuidIn(own, uuid), ...(hasPci ? { pci: pciOf(handle) } : {}) },
    maxAllocation: Number(maxMemAllocSize),
    usm: usm.host || usm.device || usm.shared ? usm : { ...USM_KINDS },
    dmaBuf: {
      exports: asDmaBuf(external.memoryAllocationExportTypes),
      imports: asDmaBuf(external.memoryAllocationImportTypes),
    },
    limits: {
      groupSize: [compute.maxGroupSizeX, compute.maxGroupSizeY, compute.maxGroupSizeZ],
      groupItems: compute.maxTotalGroupSize,
      groups: [compute.maxGroupCountX, compute.maxGroupCountY, compute.maxGroupCountZ],
    },
    queueOrdinal: queueOrdinalOf(handle),
    handle,
    driver,
  };
}

/** Drivers without a UUID report zeros. */
function uuidIn({ buffer }: Struct, { offset }: FieldLayout): DeviceId {
  const bytes = new Uint8Array(buffer, offset, 16);
  return bytes.some((byte) => byte !== 0) ? { uuid: bytes.toHex() } : {};
}

function pciOf(handle: ZeDeviceHandle): string {
  const at = layouts.readZePciExtProperties(queried(handle, "zeDevicePciGetPropertiesExt"), 0);
  return pciAddress(at.domain, at.bus, at.device, at.function);
}

/** The device to open. Strings match a part of the name, in any case. */
export interface LevelZeroChoice extends OpenOn {
  /** Part of the device's name. */
  readonly device?: string;
  /** The kind of device. */
  readonly type?: LevelZeroDeviceType;
  /** The device's UUID: 32 hexadecimal digits, also with dashes. */
  readonly uuid?: string;
  /** Its index in {@link levelZeroDevices}, to choose between devices that are alike. */
  readonly index?: number;
}

const CHOICE: Names<LevelZeroChoice> = { device: true, type: true, uuid: true, index: true, on: true };

/** The first GPU that fits, else the first device that does. @throws {ArgumentError} if none fits. */
export function chosenDevice(choice: LevelZeroChoice): LevelZeroDevice {
  const { on, ...wanted } = choiceIn(checks, choice, CHOICE);
  const { device: name, type, uuid, index } = wanted;
  const all = levelZeroDevices();
  const devices = on === undefined ? all : devicesOn(checks, contextOn(checks, on), all, (device) => device);
  const fitting = devices.filter((device) =>
    hasPart(device.name, name) && (type ?? device.type) === device.type &&
    (index === undefined || all[index] === device) &&
    (uuid === undefined || device.id.uuid === plainUuid(uuid))
  );
  return gpuFirst(fitting, checks, {
    title: "Level Zero",
    fn: "zeDeviceGet",
    install: "Install a driver: Intel's is libze_intel_gpu.so.1.",
    wanted,
    there: devices.map(({ name, type }) => `${name} (${type})`),
  });
}
