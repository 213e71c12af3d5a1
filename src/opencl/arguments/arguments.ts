import { type Address, NULL } from "../../../ffi/address.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { Arguments } from "../../core/device/arguments.ts";
import type { Usable } from "../../core/device/line.ts";
import type { Parameter } from "../../core/device/parameter.ts";
import { pinned } from "../../core/native/pin.ts";
import type { BaseContext } from "../base_context.ts";
import { check } from "../errors.ts";
import { opencl } from "../library.ts";
import { OpenCLPointerTensor } from "../pointers/tensor.ts";
import { LocalMemory, LocalParameter } from "./local.ts";

export class KernelArguments extends Arguments<BaseContext> {
  readonly #kernel: ClKernel;
  readonly #sizes: readonly bigint[];
  readonly #addresses: readonly Address[];
  readonly #locals: readonly number[];
  readonly #addressed = new Set<number>();

  constructor(kernel: ClKernel, parameters: readonly Parameter<BaseContext>[]) {
    super(parameters, "opencl");
    this.#kernel = kernel;
    this.#sizes = parameters.map(({ size }) => BigInt(size));
    this.#addresses = this.offsets.map((offset) => this.address + BigInt(offset) as Address);
    this.#locals = parameters.flatMap((parameter, i) => parameter instanceof LocalParameter ? i : []);
  }

  /** NVIDIA's driver (580.159) takes no buffer for a parameter that ever got an address (CL_INVALID_KERNEL_ARGS). */
  isSpoiltFor(args: readonly unknown[]): boolean {
    if (this.#addressed.size === 0) return false;
    return [...this.#addressed].some((i) => !(args[i] instanceof OpenCLPointerTensor));
  }

  localBytes(args: readonly unknown[]): number {
    let bytes = 0;
    for (const i of this.#locals) bytes += LocalMemory.sizeOf(args[i]) ?? 0;
    return bytes;
  }

  protected override set(i: number, value: unknown, used: Usable | undefined): void {
    if (used instanceof OpenCLPointerTensor) {
      this.#addressed.add(i);
      return used.setArgument(this.#kernel, i);
    }
    const size = this.#sizes[i];
    check(size > 0n ? this.#setBytes(i, size, this.#addresses[i]) : this.#setUnpacked(i, value), "clSetKernelArg");
  }

  #setUnpacked(i: number, value: unknown): number {
    const local = LocalMemory.sizeOf(value);
    if (local !== undefined) return this.#setBytes(i, BigInt(local), NULL);
    const bytes = value as ArrayBufferView<ArrayBuffer>;
    return pinned(bytes, "opencl", (address) => this.#setBytes(i, BigInt(bytes.byteLength), address));
  }

  #setBytes(i: number, size: bigint, address: Address): number {
    return opencl().clSetKernelArg(this.#kernel, i, size, address);
  }
}
