import type { Address } from "../../../ffi/address.ts";
import type { CudaStream as StreamHandle } from "../../../ffi/cuda_runtime/handles.ts";
import { cudaLaunchConfig_t } from "../../../ffi/cuda_runtime/structs.ts";
import { Arguments } from "../../core/device/arguments.ts";
import type { Parameter } from "../../core/device/parameter.ts";
import type { CudaPrimaryContext } from "../base.ts";
import type { CudaTensor } from "../tensor.ts";
import type { LaunchSizes } from "./limits.ts";

const CONFIG = cudaLaunchConfig_t.fields;

/**
 * The input of cudaLaunchKernelExC: the configuration, the addresses of the arguments' values, and the values. It is
 * passed by address, which is faster than a buffer, so the caller keeps this until the call is over.
 */
export class LaunchMemory extends Arguments<CudaPrimaryContext, CudaTensor> {
  readonly args: Address;

  constructor(parameters: readonly Parameter<CudaPrimaryContext>[]) {
    const { size } = cudaLaunchConfig_t;
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
    view.setUint32(CONFIG.gridDim_x.offset, groups.at(0), true);
    view.setUint32(CONFIG.gridDim_y.offset, groups.at(1), true);
    view.setUint32(CONFIG.gridDim_z.offset, groups.at(2), true);
    view.setUint32(CONFIG.blockDim_x.offset, groupSize.at(0), true);
    view.setUint32(CONFIG.blockDim_y.offset, groupSize.at(1), true);
    view.setUint32(CONFIG.blockDim_z.offset, groupSize.at(2), true);
    view.setUint32(CONFIG.dynamicSmemBytes.offset, sharedBytes, true); // the upper half stays zero
    view.setBigUint64(CONFIG.stream.offset, stream, true);
  }
}
