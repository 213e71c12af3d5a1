import type { Address } from "../../../ffi/address.ts";
import { cudaLaunchConfig_t } from "../../../ffi/cuda_runtime/structs.ts";
import type { CudaStream as StreamHandle } from "../../../ffi/cuda_runtime/handles.ts";
import { addressOf } from "../../core/native/pin.ts";
import type { CudaContext } from "../context.ts";
import type { CudaUse } from "../stream.ts";
import type { LaunchSizes } from "./limits.ts";
import type { Parameter } from "./parameter.ts";

const CONFIG = cudaLaunchConfig_t.fields;

/**
 * What cudaLaunchKernelExC reads: the configuration, the addresses of the parameters' values, and the values, in one
 * buffer that is filled in anew at each launch. JavaScript never moves a buffer's memory; it is passed by its address,
 * which takes less time, so whoever launches keeps this until the call is over.
 */
export class LaunchMemory {
  /** Where the `cudaLaunchConfig_t` is. */
  readonly config: Address;
  /** Where the `void *args[]` is. */
  readonly args: Address;
  readonly #view: DataView<ArrayBuffer>;
  readonly #parameters: readonly Parameter[];
  readonly #offsets: readonly number[];

  /** Lays the values out, each where its type may lie. */
  constructor(parameters: readonly Parameter[]) {
    const { size } = cudaLaunchConfig_t;
    let end = size + 8 * parameters.length;
    const offsets = parameters.map(({ align, info }) => {
      const offset = Math.ceil(end / align) * align;
      end = offset + info.size;
      return offset;
    });
    const buffer = new ArrayBuffer(end);
    const address = addressOf(new Uint8Array(buffer), "cuda");
    this.config = address;
    this.args = (address + BigInt(size)) as Address;
    this.#view = new DataView(buffer);
    this.#parameters = parameters;
    this.#offsets = offsets;
    offsets.forEach((offset, i) => this.#view.setBigUint64(size + 8 * i, address + BigInt(offset), true));
  }

  /** Looks at an argument for each parameter, and fills it in. Answers what the kernel will use. */
  pack(args: readonly unknown[], context: CudaContext): CudaUse[] {
    const uses: CudaUse[] = [];
    for (let i = 0; i < this.#parameters.length; i++) {
      this.#parameters[i].pack(args[i], this.#view, this.#offsets[i], context, uses);
    }
    return uses;
  }

  /** Fills in the rest. */
  configure(sizes: LaunchSizes, stream: StreamHandle): void {
    const view = this.#view;
    view.setUint32(CONFIG.gridDim_x.offset, sizes.gridX, true);
    view.setUint32(CONFIG.gridDim_y.offset, sizes.gridY, true);
    view.setUint32(CONFIG.gridDim_z.offset, sizes.gridZ, true);
    view.setUint32(CONFIG.blockDim_x.offset, sizes.blockX, true);
    view.setUint32(CONFIG.blockDim_y.offset, sizes.blockY, true);
    view.setUint32(CONFIG.blockDim_z.offset, sizes.blockZ, true);
    view.setUint32(CONFIG.dynamicSmemBytes.offset, sizes.sharedBytes, true); // of 64 bits, which are zero
    view.setBigUint64(CONFIG.stream.offset, stream, true);
  }
}
