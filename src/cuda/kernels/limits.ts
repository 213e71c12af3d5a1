import type { Address } from "../../../ffi/address.ts";
import { cudaFuncAttributeMaxDynamicSharedMemorySize } from "../../../ffi/cuda_runtime/constants.ts";
import { cudaFuncAttributes, readCudaFuncAttributes } from "../../../ffi/cuda_runtime/structs.ts";
import { shown } from "../../core/argument.ts";
import { kindOf } from "../../core/checks.ts";
import { ArgumentError } from "../../core/errors.ts";
import type { CudaContext } from "../context.ts";
import { check } from "../errors.ts";
import { cudart } from "../library.ts";

/** How a launch is laid out, once it was checked. */
export interface LaunchSizes {
  /** Blocks along each dimension. */
  readonly gridX: number;
  readonly gridY: number;
  readonly gridZ: number;
  /** Threads of a block along each dimension. */
  readonly blockX: number;
  readonly blockY: number;
  readonly blockZ: number;
  /** Dynamic shared memory of a block, in bytes. */
  readonly sharedBytes: number;
}

const AXES = ["X", "Y", "Z"] as const;

/** What a kernel was compiled to need on one device. */
export interface KernelNeeds {
  /** Registers of a thread. */
  readonly registers: number;
  /** Bytes of a block's shared memory that the kernel itself takes. */
  readonly sharedBytes: number;
  /** Bytes of a thread's local memory. */
  readonly localBytes: number;
  /** The most threads that a block of it can have. */
  readonly maxThreadsPerBlock: number;
}

/** What a kernel needs, and so how its launches may be laid out. */
export class LaunchLimits {
  /** What it was compiled to need. */
  readonly needs: KernelNeeds;
  readonly #kernel: string;
  readonly #handle: Address;
  readonly #maxGrid: readonly number[];
  readonly #maxBlock: readonly number[];
  /** Dynamic shared memory that a launch may ask for without asking for more. */
  #maxDynamic: number;
  readonly #mostDynamic: number;

  /** Asks CUDA, whose device is the thread's; `name` is the kernel's, for messages. */
  constructor(name: string, handle: Address, { device: { attributes } }: CudaContext) {
    const bytes = new Uint8Array(cudaFuncAttributes.size);
    check(cudart().cudaFuncGetAttributes(bytes, handle), "cudaFuncGetAttributes");
    const told = readCudaFuncAttributes(new DataView(bytes.buffer), 0);
    this.#kernel = name;
    this.#handle = handle;
    this.needs = Object.freeze({
      registers: told.numRegs,
      sharedBytes: Number(told.sharedSizeBytes),
      localBytes: Number(told.localSizeBytes),
      maxThreadsPerBlock: told.maxThreadsPerBlock,
    });
    this.#maxGrid = AXES.map((axis) => attributes[`maxGridDim${axis}`] ?? 65_535);
    this.#maxBlock = AXES.map((axis) => attributes[`maxBlockDim${axis}`] ?? 64);
    this.#maxDynamic = told.maxDynamicSharedSizeBytes;
    const most = attributes.maxSharedMemoryPerBlockOptin ?? attributes.maxSharedMemoryPerBlock ?? 49_152;
    this.#mostDynamic = Math.max(this.#maxDynamic, most - this.needs.sharedBytes);
  }

  /** Sizes of a launch, each read once. @throws {ArgumentError} for what the device cannot do. */
  check(grid: readonly number[], block: readonly number[], sharedBytes: number): LaunchSizes {
    this.#assertDimensions("grid", grid);
    const gridX = this.#size("grid", grid, 0, this.#maxGrid);
    const gridY = this.#size("grid", grid, 1, this.#maxGrid);
    const gridZ = this.#size("grid", grid, 2, this.#maxGrid);
    this.#assertDimensions("block", block);
    const blockX = this.#size("block", block, 0, this.#maxBlock);
    const blockY = this.#size("block", block, 1, this.#maxBlock);
    const blockZ = this.#size("block", block, 2, this.#maxBlock);
    const threads = blockX * blockY * blockZ;
    const { maxThreadsPerBlock, registers, sharedBytes: ofItsOwn } = this.needs;
    if (threads > maxThreadsPerBlock) {
      const most = `the ${maxThreadsPerBlock} that a block of this kernel may have (${registers} registers each)`;
      throw this.#wrong("block", `${threads} threads are more than ${most}.`);
    }
    if (!Number.isInteger(sharedBytes) || sharedBytes < 0 || sharedBytes > this.#mostDynamic) {
      const own = ofItsOwn === 0 ? "" : `, beside the kernel's own ${ofItsOwn}`;
      throw this.#wrong(
        "sharedBytes",
        `${
          shown(sharedBytes)
        } is no whole number from 0 to ${this.#mostDynamic}, which is what a block may have${own}.`,
      );
    }
    return { gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes };
  }

  /**
   * More dynamic shared memory than a launch gets unasked has to be asked for (cudaFuncSetAttribute): all that there is,
   * so that it does not matter who asks for how much of it first. Within the context.
   */
  allow({ sharedBytes }: LaunchSizes): void {
    if (sharedBytes <= this.#maxDynamic) return;
    const { cudaFuncSetAttribute } = cudart();
    const code = cudaFuncSetAttribute(this.#handle, cudaFuncAttributeMaxDynamicSharedMemorySize, this.#mostDynamic);
    check(code, "cudaFuncSetAttribute");
    this.#maxDynamic = this.#mostDynamic;
  }

  #assertDimensions(argument: string, given: readonly number[]): void {
    if (!Array.isArray(given)) {
      throw this.#wrong(argument, `it is no array; got ${kindOf(given)}.`, "Pass a number for each dimension: [64].");
    }
    const { length } = given;
    if (!(length >= 1 && length <= 3)) throw this.#wrong(argument, `${length} dimensions; it takes 1 to 3.`);
  }

  /** The size along one axis; 1 where none was given. */
  #size(argument: string, given: readonly number[], axis: number, most: readonly number[]): number {
    if (axis >= given.length) return 1;
    const size = given[axis];
    if (Number.isInteger(size) && size >= 1 && size <= most[axis]) return size;
    const isFraction = typeof size === "number" && size > 0 && !Number.isInteger(size);
    throw this.#wrong(
      `${argument}[${axis}]`,
      `${shown(size)} is no whole number from 1 to ${most[axis]}.`,
      isFraction ? "Round it up, and let the kernel skip what is outside: Math.ceil(n / 256)." : undefined,
    );
  }

  #wrong(argument: string, what: string, hint?: string): ArgumentError {
    return new ArgumentError(`${this.#kernel}: ${argument}: ${what}`, {
      api: "cuda",
      fn: "cudaLaunchKernelExC",
      argument,
      ...(hint === undefined ? {} : { hint }),
    });
  }
}
