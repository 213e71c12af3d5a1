import { type Address, NULL } from "../../../ffi/address.ts";
import {
  CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
  CL_KERNEL_LOCAL_MEM_SIZE,
  CL_KERNEL_WORK_GROUP_SIZE,
} from "../../../ffi/opencl/constants.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import type { Names } from "../../core/argument.ts";
import { type Launch, rangeIn, Sizes, wrongLaunch } from "../../core/device/grid.ts";
import type { OpenCLDevice } from "../device.ts";
import { infoU64, infoU64s, type Query } from "../info.ts";
import { opencl } from "../library.ts";

/** How many work-items of a kernel run. */
export interface ItemRange {
  /** The work-items along each of 1 to 3 dimensions. */
  readonly items: readonly number[];
  /** The work-items of a group along each dimension; the driver's choice by default. */
  readonly groupSize?: readonly number[];
  /** The first work-item's global id along each dimension; 0 by default. */
  readonly offset?: readonly number[];
}

const NAMES: Names<ItemRange> = { items: true, groupSize: true, offset: true };

/** rusticl 22.3 crashes for more. */
const MAX_ITEMS = 2 ** 32 - 1;

/** The most groups of one run; drivers count them in 32 bits, and PoCL 3.1 and rusticl 22.3 crash for more. */
const MAX_GROUPS = 2 ** 31 - 1;

/** Checked against the limits of the compiled kernel on one device, and stored for clEnqueueNDRangeKernel. */
export class WorkRange {
  readonly #launch: Launch;
  readonly #device: OpenCLDevice;
  readonly #global: Sizes;
  readonly #local: Sizes;
  readonly #offset: Sizes;
  readonly #groupSize: number;
  readonly #requiredGroup: readonly number[] | undefined;
  readonly #localMemory: number;
  #hasLocal = false;
  #hasOffset = false;

  constructor(launch: Launch, kernel: ClKernel, device: OpenCLDevice) {
    const fn = "clGetKernelWorkGroupInfo";
    const query: Query = (what, size, value, written) =>
      opencl().clGetKernelWorkGroupInfo(kernel, device.handle, what, size, value, written);
    const required = infoU64s(fn, query, CL_KERNEL_COMPILE_WORK_GROUP_SIZE).map(Number);
    const mostOffset = 2 ** Math.min(device.addressBits, 53) - 1;
    this.#launch = launch;
    this.#device = device;
    this.#global = new Sizes(launch, "items", 1, Array(3).fill(MAX_ITEMS));
    this.#local = new Sizes(launch, "groupSize", 1, device.maxWorkItemSizes);
    this.#offset = new Sizes(launch, "offset", 0, Array(3).fill(mostOffset));
    this.#groupSize = Number(infoU64(fn, query, CL_KERNEL_WORK_GROUP_SIZE));
    this.#requiredGroup = required[0] === 0 ? undefined : required;
    this.#localMemory = Number(infoU64(fn, query, CL_KERNEL_LOCAL_MEM_SIZE));
  }

  get dimensions(): number {
    return this.#global.length;
  }

  get global(): Address {
    return this.#global.address;
  }

  /** The work-group size along each dimension; null for the driver's choice. */
  get local(): Address {
    return this.#hasLocal ? this.#local.address : NULL;
  }

  /** The first work-item's global id along each dimension; null for zeros. */
  get offset(): Address {
    return this.#hasOffset ? this.#offset.address : NULL;
  }

  /** `localBytes` is the arguments' local memory. @throws {ArgumentError} for sizes beyond the device's limits. */
  take(range: ItemRange, localBytes: number): void {
    const { items: global, groupSize, offset } = rangeIn(range, "items", NAMES, this.#launch);
    const items = this.#global;
    items.take(global);
    if (offset !== undefined) this.#offset.take(offset, items);
    const group = groupSize === undefined ? this.#requiredGroup?.slice(0, items.length) : groupSize;
    if (group !== undefined) this.#takeGroup(group);
    this.#hasOffset = offset !== undefined;
    this.#hasLocal = group !== undefined;
    const groups = items.items / (group === undefined ? 1 : this.#local.items);
    if (groups > MAX_GROUPS) {
      throw items.wrong(
        "",
        `${groups} groups are more than ${MAX_GROUPS}${group === undefined ? ", where each may have one item" : ""}.`,
        "Give larger groups, as `groupSize`, or run it in parts, with `offset`.",
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
        "Round the items up, and let the kernel skip what is outside.",
      );
    }
  }
}
