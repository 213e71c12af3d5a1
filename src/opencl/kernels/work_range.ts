import {
  CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
  CL_KERNEL_LOCAL_MEM_SIZE,
  CL_KERNEL_WORK_GROUP_SIZE,
} from "../../../ffi/opencl/constants.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { shown } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import { kindOf } from "../check.ts";
import type { OpenCLDevice } from "../device.ts";
import { infoU64, infoU64s, type Query } from "../info.ts";
import { opencl } from "../library.ts";

/** Work-items along one dimension: rusticl 22.3 ends the process for more. */
const MOST_ITEMS = 2 ** 32 - 1;

/** Groups of one run: drivers count them in 32 bits, and PoCL 3.1 and rusticl 22.3 end the process for more. */
const MOST_GROUPS = 2 ** 31 - 1;

/** How a kernel's work is laid out, as a program says it. */
export interface WorkSizes {
  /** Work-items along each dimension, 1 to 3 of them. */
  readonly global: readonly number[];
  /** Work-items of a group along each dimension. */
  readonly local?: readonly number[] | undefined;
  /** The first work-item's global id along each dimension. */
  readonly offset?: readonly number[] | undefined;
}

/** Checked work sizes. */
export interface WorkRange {
  /** Work-items along each dimension. */
  readonly global: readonly number[];
  /** The first one's global id along each dimension. */
  readonly offset: readonly number[] | undefined;
  /** Work-items of a group along each dimension, where it is not the driver's choice. */
  readonly local: readonly number[] | undefined;
}

/** Three `size_t`, for a driver to read. They are written by halves: a bigint of each would take longer than the rest. */
export class SizeWords {
  readonly #words = new BigUint64Array(3);
  readonly #halves = new Uint32Array(this.#words.buffer);

  /** Writes sizes, and answers where they stand. */
  write(sizes: readonly number[]): BigUint64Array<ArrayBuffer> {
    for (let i = 0; i < sizes.length; i++) {
      this.#halves[2 * i] = sizes[i];
      this.#halves[2 * i + 1] = sizes[i] / 2 ** 32;
    }
    return this.#words;
  }
}

/** What a kernel was compiled to need on one device, and so how its work may be laid out there. */
export class WorkLimits {
  /** Bytes of local memory that the kernel itself takes of a work-group. */
  readonly localMemory: number;
  /** The device. */
  readonly device: OpenCLDevice;
  readonly #kernel: string;
  readonly #groupSize: number;
  readonly #requiredGroup: readonly number[] | undefined;

  /** Asks the driver; `name` is the kernel's, for messages. */
  constructor(name: string, kernel: ClKernel, device: OpenCLDevice) {
    const fn = "clGetKernelWorkGroupInfo";
    const query: Query = (what, size, value, written) =>
      opencl().clGetKernelWorkGroupInfo(kernel, device.handle, what, size, value, written);
    const required = infoU64s(fn, query, CL_KERNEL_COMPILE_WORK_GROUP_SIZE).map(Number);
    this.#kernel = name;
    this.device = device;
    this.#groupSize = Number(infoU64(fn, query, CL_KERNEL_WORK_GROUP_SIZE));
    this.#requiredGroup = required[0] === 0 ? undefined : required;
    this.localMemory = Number(infoU64(fn, query, CL_KERNEL_LOCAL_MEM_SIZE));
  }

  /** Work sizes, each read once. @throws {ArgumentError} for what the device cannot do. */
  check({ global, local, offset }: WorkSizes): WorkRange {
    const items = this.#sizes("global", global, undefined, 1, MOST_ITEMS);
    const dimensions = items.length;
    const most = 2 ** Math.min(this.device.addressBits, 53) - 1;
    const begin = offset === undefined ? undefined : this.#sizes("offset", offset, dimensions, 0, most);
    const required = this.#requiredGroup?.slice(0, dimensions);
    const group = local === undefined ? required : this.#sizes("local", local, dimensions, 1, MOST_ITEMS);
    if (group !== undefined) this.#checkGroup(items, group, required);
    let groups = 1;
    for (let i = 0; i < dimensions; i++) groups *= items[i] / (group?.[i] ?? 1);
    if (groups > MOST_GROUPS) {
      throw this.#wrong(
        "global",
        `${groups} groups are more than ${MOST_GROUPS}${group === undefined ? ", where each may have one item" : ""}.`,
        "Give larger groups, as `local`, or run it in parts, with `offset`.",
      );
    }
    return { global: items, offset: begin, local: group };
  }

  /** Throws where a work-group would need more local memory than there is. */
  checkLocal(bytesOfArguments: number): void {
    const bytes = this.localMemory + bytesOfArguments;
    if (bytes <= this.device.localMemory) return;
    throw this.#wrong("args", `${bytes} bytes of local memory are more than the device's ${this.device.localMemory}.`);
  }

  #sizes(
    argument: string,
    given: readonly number[],
    dimensions: number | undefined,
    least: number,
    most: number,
  ): readonly number[] {
    if (!Array.isArray(given)) {
      throw this.#wrong(argument, `it is no array; got ${kindOf(given)}.`, "Pass a number for each dimension: [64].");
    }
    const { length } = given;
    if (dimensions === undefined && !(length >= 1 && length <= 3)) {
      throw this.#wrong(argument, `${length} dimensions; it takes 1 to 3.`);
    }
    if (dimensions !== undefined && length !== dimensions) {
      throw this.#wrong(argument, `${length} dimensions; global has ${dimensions}.`);
    }
    const sizes = new Array<number>(length);
    for (let i = 0; i < length; i++) {
      const size = sizes[i] = given[i];
      if (Number.isInteger(size) && size >= least && size <= most) continue;
      throw this.#wrong(`${argument}[${i}]`, `${shown(size)} is no whole number from ${least} to ${most}.`);
    }
    return sizes;
  }

  #checkGroup(global: readonly number[], local: readonly number[], required: readonly number[] | undefined): void {
    const items = local.reduce((product, n) => product * n, 1);
    if (required !== undefined && required.some((n, i) => n !== local[i])) {
      throw this.#wrong("local", `the kernel requires groups of ${required.join(" × ")}.`);
    }
    if (items > this.#groupSize) {
      throw this.#wrong(
        "local",
        `${items} work-items are more than the ${this.#groupSize} that a group of this kernel may have.`,
      );
    }
    local.forEach((n, i) => {
      if (n > this.device.maxWorkItemSizes[i]) {
        throw this.#wrong(`local[${i}]`, `${n} is more than the device's ${this.device.maxWorkItemSizes[i]}.`);
      }
      if (global[i] % n !== 0) {
        throw this.#wrong(
          `local[${i}]`,
          `${n} does not divide the ${global[i]} work-items of that dimension.`,
          "Round the global size up, and let the kernel skip what is outside.",
        );
      }
    });
  }

  #wrong(argument: string, what: string, hint?: string): ArgumentError {
    return new ArgumentError(`${this.#kernel}: ${argument}: ${what}`, {
      api: "opencl",
      fn: "clEnqueueNDRangeKernel",
      argument,
      ...(hint === undefined ? {} : { hint }),
    });
  }
}
