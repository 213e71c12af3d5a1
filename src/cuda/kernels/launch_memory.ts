import type { Address } from "../../../ffi/address.ts";
import type { CudaStream as StreamHandle } from "../../../ffi/cuda_runtime/handles.ts";
import { CUlaunchConfig } from "../../../ffi/cuda_driver/structs.ts";
import { Arguments } from "../../core/device/arguments.ts";
import type { Parameter } from "../../core/device/parameter.ts";
import type { CudaPrimaryContext } from "../base.ts";
import type { CudaTensor } from "../tensor.ts";
import type { LaunchSizes } from "./limits.ts";

const CONFIG = CUlaunchConfig.fields;

/**
 * The input of cuLaunchKernelEx: the configuration, the addresses of the arguments' values, and the values. It is passed by
 * address, which is faster than a buffer, so the caller has to keep it alive during the call.
 */
export class LaunchMemory extends Arguments<CudaPrimaryContext, CudaTensor> {
  readonly args: Address;

  constructor(parameters: readonly Parameter<CudaPrimaryContext>[]) {
    const { size } = CUlaunchConfig;
    super(parameters, "cuda", size + 8 * parameters.length);
    this.args = (this.address + BigInt(size)) as Address;
    this.offsets.forEach((offset, i) => {
      this.view.setBigUint64(size + 8 * i, this.address + BigInt(offset), true);
    });
  }

  get config(): Address {
    return this.address;
  }

  configure({ groups, groupSize }: LaunchSizes, sharedBytes: number, stream: StreamHandle): void {
    const { view } = this;
    view.setUint32(CONFIG.gridDimX.offset, groups.at(0), true);
    view.setUint32(CONFIG.gridDimY.offset, groups.at(1), true);
    view.setUint32(CONFIG.gridDimZ.offset, groups.at(2), true);
    view.setUint32(CONFIG.blockDimX.offset, groupSize.at(0), true);
    view.setUint32(CONFIG.blockDimY.offset, groupSize.at(1), true);
    view.setUint32(CONFIG.blockDimZ.offset, groupSize.at(2), true);
    view.setUint32(CONFIG.sharedMemBytes.offset, sharedBytes, true);
    view.setBigUint64(CONFIG.hStream.offset, stream, true);
  }
}
