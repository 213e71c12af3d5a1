import { cudaErrorInsufficientDriver, cudaErrorNoDevice } from "../../ffi/cuda_runtime/errors.ts";
import { cudaDeviceProp } from "../../ffi/cuda_runtime/structs.ts";
import { object, shownFields } from "../core/argument.ts";
import { hasPart } from "../core/device/choice.ts";
import { type DeviceId, plainUuid } from "../core/device/device_id.ts";
import { contextOn, devicesOn, type OpenOn, type Reported } from "../core/device/device_on.ts";
import type { ArgumentError, InteropError } from "../core/errors.ts";
import { attributesOf, type CudaAttributes } from "./attributes.ts";
import { checks } from "./check.ts";
import { check, checkDriver, cudaError } from "./errors.ts";
import { cudaDriver, cudart } from "./library.ts";
import { version } from "./versions.ts";

/** One GPU, as CUDA describes it. */
export interface CudaDevice {
  /** CUDA's number of the GPU in this process, which depends on CUDA_VISIBLE_DEVICES. */
  readonly ordinal: number;
  /** Its name. */
  readonly name: string;
  /** UUID and PCI address. */
  readonly id: Required<Pick<DeviceId, "uuid" | "pci">>;
  /** Its compute capability: `{ major: 9, minor: 0 }`. */
  readonly computeCapability: { readonly major: number; readonly minor: number };
  /** Its attributes, by CUDA's names. */
  readonly attributes: CudaAttributes;
}

/** The device to open, by ordinal, UUID or part of its name; the first by default. */
export interface CudaDeviceChoice extends OpenOn {
  /** CUDA's number of it. */
  readonly ordinal?: number;
  /** Its UUID: 32 hexadecimal digits, or as `nvidia-smi -L` prints it, with dashes and `GPU-` in front. */
  readonly uuid?: string;
  /** Part of its name, in any case. */
  readonly name?: string;
}

/** The versions of CUDA; 13000 is 13.0. */
export interface CudaVersions {
  /** The version of libcudart. */
  readonly runtime: number;
  /** The newest that the driver supports; 0 without a driver. */
  readonly driver: number;
}

/**
 * The versions of libcudart and of the driver. Works without a GPU.
 *
 * @throws {LibraryNotFoundError} if there is no libcudart.
 */
export function cudaVersions(): CudaVersions {
  return {
    runtime: versionOf("cudaRuntimeGetVersion", (out) => cudart().cudaRuntimeGetVersion(out)),
    driver: versionOf("cudaDriverGetVersion", (out) => cudart().cudaDriverGetVersion(out)),
  };
}

/**
 * Every GPU that CUDA shows to this process, in CUDA's order.
 *
 * @throws {LibraryNotFoundError} if there is no libcudart.
 * @throws {NativeCallError} if there is no driver, one that is too old, or no GPU.
 */
export function cudaDevices(): CudaDevice[] {
  const count = countDevices();
  checkDriver(cudaDriver().cuInit(0), "cuInit");
  return Array.from({ length: count }, (_, ordinal) => describe(ordinal));
}

export function chosenDevice(choice: CudaDeviceChoice): CudaDevice {
  const { ordinal, uuid, name, on } = object(choice, "device");
  if (ordinal !== undefined) checks.assertInteger(ordinal, "ordinal", 0, Number.MAX_SAFE_INTEGER);
  for (const [field, text] of Object.entries({ uuid, name })) if (text !== undefined) checks.assertText(text, field);
  const devices = on === undefined ? cudaDevices() : devicesOn(checks, contextOn(checks, on), cudaDevices(), reportOf);
  const plain = uuid === undefined ? undefined : plainUuid(uuid);
  const found = devices.find((device) =>
    (ordinal === undefined || device.ordinal === ordinal) && (plain === undefined || device.id.uuid === plain) &&
    hasPart(device.name, name)
  );
  if (found !== undefined) return found;
  const there = devices.map((device) => `${device.ordinal}: ${device.name} (${device.id.uuid})`).join("; ");
  throw wrong(`none fits ${shownFields({ ordinal, uuid, name })}.`, `There is ${there}.`);
}

function reportOf(device: CudaDevice): Reported {
  return { name: numbered(device), id: device.id };
}

/** A device for messages, with its number: GPUs of one kind share a name. */
export function numbered({ name, ordinal }: CudaDevice): string {
  return `device ${ordinal} (${name})`;
}

/** The number of GPUs. @throws {NativeCallError} for a machine without one, with the likely reason. */
function countDevices(): number {
  const count = new Int32Array(1);
  const code = cudart().cudaGetDeviceCount(count);
  if (code === cudaErrorInsufficientDriver) throw noDriver();
  check(code, "cudaGetDeviceCount");
  if (count[0] === 0) throw cudaError(cudaErrorNoDevice, "cudaGetDeviceCount");
  return count[0];
}

function noDriver(): InteropError {
  cudart().cudaGetLastError();
  const { runtime, driver } = cudaVersions();
  const hint = driver === 0
    ? "No NVIDIA driver is loaded: is there a GPU, and its driver (libcuda.so.1)?"
    : `The driver supports CUDA ${version(driver)}, and this libcudart is ${version(runtime)}: update the driver, or ` +
      "name an older libcudart by SAMEPAGE_LIB_CUDART.";
  return cudaError(cudaErrorInsufficientDriver, "cudaGetDeviceCount", { hint });
}

function describe(ordinal: number): CudaDevice {
  // Only name and UUID are read, because the rest of the struct differs in each version of CUDA.
  const properties = new Uint8Array(Math.max(cudaDeviceProp.size, 4096));
  check(cudart().cudaGetDeviceProperties(properties, ordinal), "cudaGetDeviceProperties");
  const bus = new Uint8Array(32);
  check(cudart().cudaDeviceGetPCIBusId(bus, bus.length, ordinal), "cudaDeviceGetPCIBusId");
  const { name, uuid } = cudaDeviceProp.fields;
  const attributes = attributesOf(ordinal);
  return Object.freeze({
    ordinal,
    name: text(properties.subarray(name.offset)),
    id: {
      uuid: [...properties.subarray(uuid.offset, uuid.offset + 16)].map((b) => b.toString(16).padStart(2, "0")).join(
        "",
      ),
      pci: text(bus).toLowerCase(),
    },
    computeCapability: {
      major: attributes.computeCapabilityMajor ?? 0,
      minor: attributes.computeCapabilityMinor ?? 0,
    },
    attributes,
  });
}

function versionOf(fn: string, ask: (out: Int32Array<ArrayBuffer>) => number): number {
  const out = new Int32Array(1);
  check(ask(out), fn);
  return out[0];
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
}

function wrong(what: string, hint?: string): ArgumentError {
  return checks.wrong("device", what, hint);
}
