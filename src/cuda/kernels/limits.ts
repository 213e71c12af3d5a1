import type { Address } from "../../../ffi/address.ts";
import { cudaFuncAttributeMaxDynamicSharedMemorySize } from "../../../ffi/cuda_runtime/constants.ts";
import { cudaFuncAttributes, readCudaFuncAttributes } from "../../../ffi/cuda_runtime/structs.ts";
import { type Names, shown } from "../../core/argument.ts";
import { type Launch, rangeIn, Sizes, wrongLaunch } from "../../core/device/grid.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { check } from "../errors.ts";
import { cudart } from "../library.ts";

/** The threads to launch: a number of groups, which CUDA calls blocks, and their size. */
export interface GroupRange {
  /** The groups along each of 1 to 3 dimensions. */
  readonly groups: readonly number[];
  /** The threads of a group along each of 1 to 3 dimensions. */
  readonly groupSize: readonly number[];
  /** Dynamic shared memory of a group (`extern __shared__`), in bytes; 0 by default. */
  readonly sharedBytes?: number;
}

const NAMES: Names<GroupRange> = { groups: true, groupSize: true, sharedBytes: true };

const AXES = ["X", "Y", "Z"] as const;

/** The resources that a compiled kernel needs on one device. */
export interface KernelNeeds {
  /** The registers of a thread. */
  readonly registers: number;
  /** The kernel's own shared memory, in bytes per block. */
  readonly sharedBytes: number;
  /** The local memory of a thread in bytes. */
  readonly localBytes: number;
  /** The most threads of a block. */
  readonly maxThreadsPerBlock: number;
}

export interface LaunchSizes {
  readonly groups: Sizes;
  readonly groupSize: Sizes;
}

export class LaunchLimits implements LaunchSizes {
  readonly needs: KernelNeeds;
  readonly groups: Sizes;
  readonly groupSize: Sizes;
  readonly #launch: Launch;
  readonly #handle: Address;
  readonly #within: CudaPrimaryContext["within"];
  /** The dynamic shared memory, in bytes, that launches may have now. */
  #maxDynamic: number;
  readonly #mostDynamic: number;

  /** The thread's current device is the context's. */
  constructor(launch: Launch, handle: Address, { device: { attributes }, within }: CudaPrimaryContext) {
    const bytes = new Uint8Array(cudaFuncAttributes.size);
    check(cudart().cudaFuncGetAttributes(bytes, handle), "cudaFuncGetAttributes");
    const reported = readCudaFuncAttributes(new DataView(bytes.buffer), 0);
    this.#launch = launch;
    this.#handle = handle;
    this.#within = within;
    this.needs = Object.freeze({
      registers: reported.numRegs,
      sharedBytes: Number(reported.sharedSizeBytes),
      localBytes: Number(reported.localSizeBytes),
      maxThreadsPerBlock: reported.maxThreadsPerBlock,
    });
    this.groups = new Sizes(launch, "groups", 1, AXES.map((axis) => attributes[`maxGridDim${axis}`] ?? 65_535));
    this.groupSize = new Sizes(launch, "groupSize", 1, AXES.map((axis) => attributes[`maxBlockDim${axis}`] ?? 64));
    this.#maxDynamic = reported.maxDynamicSharedSizeBytes;
    const most = attributes.maxSharedMemoryPerBlockOptin ?? attributes.maxSharedMemoryPerBlock ?? 49_152;
    this.#mostDynamic = Math.max(this.#maxDynamic, most - this.needs.sharedBytes);
  }

  /** Takes the sizes of a launch; returns its `sharedBytes`. @throws {ArgumentError} for sizes beyond the limits. */
  take(range: GroupRange): number {
    const { groups, groupSize, sharedBytes = 0 } = rangeIn(range, "groups", NAMES, this.#launch);
    this.groups.take(groups);
    this.groupSize.take(groupSize);
    const { maxThreadsPerBlock, registers, sharedBytes: ofItsOwn } = this.needs;
    this.groupSize.assertItems(
      maxThreadsPerBlock,
      "threads",
      `a group of this kernel may have (${registers} registers each)`,
    );
    const most = this.#mostDynamic;
    if (Number.isInteger(sharedBytes) && sharedBytes >= 0 && sharedBytes <= most) return sharedBytes;
    const own = ofItsOwn === 0 ? "" : `, beside the kernel's own ${ofItsOwn}`;
    const what = `expected a whole number from 0 to the ${most} that a group may have${own}, got ${
      shown(sharedBytes)
    }.`;
    throw wrongLaunch(this.#launch, "sharedBytes", what);
  }

  /** Raises the limit to all of the device's dynamic shared memory, so that the order of launches does not matter. */
  allow(sharedBytes: number): void {
    if (sharedBytes <= this.#maxDynamic) return;
    const fn = "cudaFuncSetAttribute";
    const attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
    this.#within(() => check(cudart()[fn](this.#handle, attribute, this.#mostDynamic), fn));
    this.#maxDynamic = this.#mostDynamic;
  }
}
