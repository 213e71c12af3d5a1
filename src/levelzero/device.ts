import * as ze from "../../ffi/levelzero/constants.ts";
import { ZE_RESULT_ERROR_UNINITIALIZED } from "../../ffi/levelzero/errors.ts";
import type { ZeDeviceHandle, ZeDriverHandle } from "../../ffi/levelzero/handles.ts";
import * as layouts from "../../ffi/levelzero/structs.ts";
import type { FieldLayout } from "../../ffi/layout.ts";
import type { Names } from "../core/argument.ts";
import { choiceIn, gpuFirst, hasPart } from "../core/device/choice.ts";
import { type DeviceId, plainUuid } from "../core/device/device_id.ts";
import { contextOn, devicesOn, type OpenOn } from "../core/device/device_on.ts";
import type { Struct } from "../core/native/struct.ts";
import type { UsmKind } from "../core/tensors/unified.ts";
import { check } from "./errors.ts";
import { checks, levelZero } from "./library.ts";
import { struct, type StructName, structs } from "./struct.ts";

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
  /** What it is. */
  readonly type: LevelZeroDeviceType;
  /** Its UUID and PCI address, where the driver reports them. */
  readonly id: DeviceId;
  /** The largest allocation in bytes. */
  readonly maxAllocation: number;
  /** Which kinds of unified shared memory it can use; all where its driver reports none: the allocator decides. */
  readonly usm: { readonly [K in UsmKind]: boolean };
  /** Whether its memory leaves as dma-bufs, and whether dma-bufs become its memory. */
  readonly dmaBuf: { readonly exports: boolean; readonly imports: boolean };
  /** What launches may ask for. */
  readonly limits: LevelZeroLimits;
  /** The ordinal of the queues that run kernels. */
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

/**
 * The devices of all drivers that the loader has found. It looks for them once, on the first call in a process.
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
  const { zeInit, zeDriverGet, zeDeviceGet } = levelZero();
  const code = zeInit(0);
  if (code === ZE_RESULT_ERROR_UNINITIALIZED) return []; // there is no driver
  check(code, "zeInit");
  return listed<ZeDriverHandle>("zeDriverGet", zeDriverGet).flatMap((driver) => {
    const extensions = extensionsOf(driver);
    const devices = listed<ZeDeviceHandle>("zeDeviceGet", (count, list) => zeDeviceGet(driver, count, list));
    return devices.map((device) => factsOf(driver, device, extensions));
  });
}

/** Whether the loader hands calls on to one driver, as they are. */
export function isOnlyDriver(): boolean {
  return countOf("zeDriverGet", levelZero().zeDriverGet)[0] === 1;
}

type List<T> = (count: Uint32Array<ArrayBuffer>, list: T | null) => number;

/** Asks how many there are, then for as many. */
function countOf<T>(fn: string, list: List<T>): Uint32Array<ArrayBuffer> {
  const count = new Uint32Array(1);
  check(list(count, null), fn);
  return count;
}

function listed<H extends bigint>(fn: string, list: List<BigUint64Array<ArrayBuffer>>): H[] {
  const count = countOf(fn, list);
  const handles = new BigUint64Array(count[0]);
  if (handles.length > 0) check(list(count, handles), fn);
  return [...handles.subarray(0, count[0])] as H[];
}

/** As many structs as a function fills in, and where each begins. */
function structsOf(name: StructName, fn: string, ask: List<Struct>): { all: Struct; starts: readonly number[] } {
  const count = countOf(fn, ask);
  const all = structs(name, Array(count[0]).fill({}));
  if (count[0] > 0) check(ask(count, all), fn);
  return { all, starts: Array.from({ length: count[0] }, (_, i) => i * layouts[name].size) };
}

function extensionsOf(driver: ZeDriverHandle): string[] {
  const fn = "zeDriverGetExtensionProperties";
  const { all, starts } = structsOf(
    "ze_driver_extension_properties_t",
    fn,
    (count, list) => levelZero()[fn](driver, count, list),
  );
  return starts.map((start) => all.text(layouts.ze_driver_extension_properties_t.fields.name, start));
}

/** What a function of a device fills in. */
function asked(
  device: ZeDeviceHandle,
  name: StructName,
  fn:
    | `zeDeviceGet${"" | "Compute" | "MemoryAccess" | "ExternalMemory"}Properties`
    | "zeDevicePciGetPropertiesExt",
): Struct {
  const into = struct(name);
  check(levelZero()[fn](device, into), fn);
  return into;
}

function factsOf(
  driver: ZeDriverHandle,
  handle: ZeDeviceHandle,
  extensions: readonly string[],
): LevelZeroDevice {
  const own = asked(handle, "ze_device_properties_t", "zeDeviceGetProperties");
  const compute = asked(handle, "ze_device_compute_properties_t", "zeDeviceGetComputeProperties");
  const access = asked(handle, "ze_device_memory_access_properties_t", "zeDeviceGetMemoryAccessProperties");
  const external = asked(handle, "ze_device_external_memory_properties_t", "zeDeviceGetExternalMemoryProperties");
  const { fields } = layouts.ze_device_properties_t;
  const { fields: sizes } = layouts.ze_device_compute_properties_t;
  const { fields: kinds } = layouts.ze_device_memory_access_properties_t;
  const { fields: fds } = layouts.ze_device_external_memory_properties_t;
  const can = (field: FieldLayout) => (access.number(field) & ze.ZE_MEMORY_ACCESS_CAP_FLAG_RW) !== 0;
  const asDmaBuf = (field: FieldLayout) => (external.number(field) & ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF) !== 0;
  const [host, device, shared] = [
    can(kinds.hostAllocCapabilities),
    can(kinds.deviceAllocCapabilities),
    can(kinds.sharedSingleDeviceAllocCapabilities),
  ];
  const none = !host && !device && !shared; // the driver reports none: the allocator decides
  const uuid = hexadecimal(new Uint8Array(own.buffer, fields.uuid.offset, 16));
  const pci = extensions.includes(PCI) ? pciOf(handle) : undefined;
  return {
    name: own.text(fields.name),
    type: TYPES.get(own.number(fields.type)) ?? "other",
    id: { ...(/[^0]/.test(uuid) ? { uuid } : {}), ...(pci === undefined ? {} : { pci }) },
    maxAllocation: Number(own.word(fields.maxMemAllocSize)),
    usm: { host: host || none, device: device || none, shared: shared || none },
    dmaBuf: {
      exports: asDmaBuf(fds.memoryAllocationExportTypes),
      imports: asDmaBuf(fds.memoryAllocationImportTypes),
    },
    limits: {
      groupSize: [sizes.maxGroupSizeX, sizes.maxGroupSizeY, sizes.maxGroupSizeZ].map((at) => compute.number(at)),
      groupItems: compute.number(sizes.maxTotalGroupSize),
      groups: [sizes.maxGroupCountX, sizes.maxGroupCountY, sizes.maxGroupCountZ].map((at) => compute.number(at)),
    },
    queueOrdinal: queueOrdinalOf(handle),
    handle,
    driver,
  };
}

/** The first group of queues that run kernels. */
function queueOrdinalOf(device: ZeDeviceHandle): number {
  const fn = "zeDeviceGetCommandQueueGroupProperties";
  const { all, starts } = structsOf(
    "ze_command_queue_group_properties_t",
    fn,
    (count, list) => levelZero()[fn](device, count, list),
  );
  const { flags } = layouts.ze_command_queue_group_properties_t.fields;
  return Math.max(
    0,
    starts.findIndex((start) => (all.number(flags, start) & ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) !== 0),
  );
}

function pciOf(device: ZeDeviceHandle): string {
  const at = asked(device, "ze_pci_ext_properties_t", "zeDevicePciGetPropertiesExt");
  const { fields: { domain, bus, device: slot, function: fn } } = layouts.ze_pci_ext_properties_t;
  const hex = (field: FieldLayout, digits: number) => at.number(field).toString(16).padStart(digits, "0");
  return `${hex(domain, 4)}:${hex(bus, 2)}:${hex(slot, 2)}.${hex(fn, 1)}`;
}

function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The device to open. Strings match a part of the name, in any case. */
export interface LevelZeroChoice extends OpenOn {
  /** Part of the device's name. */
  readonly device?: string;
  /** The kind of device. */
  readonly type?: LevelZeroDeviceType;
  /** The device's UUID: 32 hexadecimal digits, also with dashes. */
  readonly uuid?: string;
  /** Its place in the list of {@link levelZeroDevices}, for one of several that are alike. */
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
