import { type Address, NULL } from "../../../ffi/address.ts";
import {
  CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
  CL_KERNEL_LOCAL_MEM_SIZE,
  CL_KERNEL_WORK_GROUP_SIZE,
} from "../../../ffi/opencl/constants.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { type Launch, Sizes, wrongLaunch } from "../../core/device/grid.ts";
import type { OpenCLDevice } from "../device.ts";
import { infoU64, infoU64s, type Query } from "../info.ts";
import { opencl } from "../library.ts";

/** Work-items along one dimension: rusticl 22.3 ends the process for more. */
const MOST_ITEMS = 2 ** 32 - 1;

/** Groups of one run: drivers count them in 32 bits, and PoCL 3.1 and rusticl 22.3 end the process for more. */
const MOST_GROUPS = 2 ** 31 - 1;

/**
 * How a kernel's work is laid out on one device: checked against what the kernel was compiled to need there, and kept where
 * clEnqueueNDRangeKernel reads it, until the next run.
 */
export class WorkRange {
  readonly #launch: Launch;
  readonly #device: OpenCLDevice;
  readonly #global: Sizes;
  readonly #local: Sizes;
  readonly #offset: Sizes;
  readonly #groupSize: number;
  readonly #requiredGroup: readonly number[] | undefined;
  /** Bytes of local memory that the kernel itself takes of a work-group. */
  readonly #localMemory: number;
  #hasLocal = false;
  #hasOffset = false;

  /** Asks the driver. */
  constructor(launch: Launch, kernel: ClKernel, device: OpenCLDevice) {
    const fn = "clGetKernelWorkGroupInfo";
    const query: Query = (what, size, value, written) =>
      opencl().clGetKernelWorkGroupInfo(kernel, device.handle, what, size, value, written);
    const required = infoU64s(fn, query, CL_KERNEL_COMPILE_WORK_GROUP_SIZE).map(Number);
    const mostOffset = 2 ** Math.min(device.addressBits, 53) - 1;
    this.#launch = launch;
    this.#device = device;
    this.#global = new Sizes(launch, "global", 1, Array(3).fill(MOST_ITEMS));
    this.#local = new Sizes(launch, "local", 1, device.maxWorkItemSizes);
    this.#offset = new Sizes(launch, "offset", 0, Array(3).fill(mostOffset));
    this.#groupSize = Number(infoU64(fn, query, CL_KERNEL_WORK_GROUP_SIZE));
    this.#requiredGroup = required[0] === 0 ? undefined : required;
    this.#localMemory = Number(infoU64(fn, query, CL_KERNEL_LOCAL_MEM_SIZE));
  }

  /** How many dimensions there are. */
  get dimensions(): number {
    return this.#global.length;
  }

  /** Work-items along each dimension. */
  get global(): Address {
    return this.#global.address;
  }

  /** Work-items of a group along each dimension; null where that is the driver's choice. */
  get local(): Address {
    return this.#hasLocal ? this.#local.address : NULL;
  }

  /** The first work-item's global id along each dimension; null for zeros. */
  get offset(): Address {
    return this.#hasOffset ? this.#offset.address : NULL;
  }

  /**
   * Takes the sizes of a run, whose arguments take `localBytes` of local memory.
   *
   * @throws {ArgumentError} for what the device cannot do.
   */
  take(
    global: readonly number[],
    local: readonly number[] | undefined,
    offset: readonly number[] | undefined,
    localBytes: number,
  ): void {
    const items = this.#global;
    items.take(global);
    if (offset !== undefined) this.#offset.take(offset, items);
    const group = local ?? this.#requiredGroup?.slice(0, items.length);
    if (group !== undefined) this.#takeGroup(group);
    this.#hasOffset = offset !== undefined;
    this.#hasLocal = group !== undefined;
    const groups = items.items / (group === undefined ? 1 : this.#local.items);
    if (groups > MOST_GROUPS) {
      throw items.wrong(
        "",
        `${groups} groups are more than ${MOST_GROUPS}${group === undefined ? ", where each may have one item" : ""}.`,
        "Give larger groups, as `local`, or run it in parts, with `offset`.",
      );
    }
    const bytes = this.#localMemory + localBytes;
    const most = this.#device.localMemory;
    if (bytes > most) {
      throw wrongLaunch(this.#launch, "args", `${bytes} bytes of local memory are more than the device's ${most}.`);
    }
  }

  #takeGroup(given: readonly number[]): void {
    const group = this.#local;
    group.take(given, this.#global);
    const required = this.#requiredGroup;
    if (required?.some((n, i) => n !== group.at(i))) {
      throw group.wrong("", `the kernel requires groups of ${required.join(" × ")}.`);
    }
    group.assertItems(this.#groupSize, "work-items", "a group of this kernel may have");
    for (let i = 0; i < group.length; i++) {
      if (this.#global.at(i) % group.at(i) === 0) continue;
      throw group.wrong(
        `[${i}]`,
        `${group.at(i)} does not divide the ${this.#global.at(i)} work-items of that dimension.`,
        "Round the global size up, and let the kernel skip what is outside.",
      );
    }
  }
}
