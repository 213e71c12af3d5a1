/**
 * The calls of the question's own program, past samepage: OpenCL's and OpenCV's functions as they are.
 *
 * @module
 */
import type { Address } from "../../ffi/address.ts";
import { CL_MEM_USE_HOST_PTR } from "../../ffi/opencl/constants.ts";
import type { ClMem } from "../../ffi/opencl/handles.ts";
import { ACCESS_READ, ACCESS_WRITE, INPUT_ARRAY_UMAT } from "../../ffi/opencv_core/constants.ts";
import { InputArray, UMat, writeInputArray } from "../../ffi/opencv_core/structs.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import type { HostTensor } from "@samepage/interop";
import type { OpenCLContext } from "@samepage/interop/opencl";
import { umatIn } from "../../src/opencv/header.ts";
import { opencl } from "../../src/opencl/library.ts";
import { core } from "../../src/opencv/library.ts";

export { core, opencl };

/** `clCreateBuffer(ctx, CL_MEM_USE_HOST_PTR | flags, rows * step, data, &status)`. */
export function createBuffer(cl: OpenCLContext, flags: bigint, memory: HostTensor): ClMem {
  const status = new Int32Array(1);
  const size = BigInt(memory.layout.byteLength);
  const mem = opencl().clCreateBuffer(cl.handle, CL_MEM_USE_HOST_PTR | flags, size, memory.address, status);
  if (status[0] !== 0) throw new Error(`clCreateBuffer: ${status[0]}`);
  return mem;
}

/** A `cv::UMat` of the program's own. */
export class RawUMat implements Disposable {
  readonly #bytes = new DataView(new ArrayBuffer(UMat.size + 2 * InputArray.size));
  /** Where it is. */
  readonly address: Address = addressOf(this.#bytes, "opencv");
  /** It as an InputArray. */
  readonly input: Address = this.#array(UMat.size, ACCESS_READ);
  /** It as an OutputArray, which OpenCV may give other memory. */
  readonly output: Address = this.#array(UMat.size + InputArray.size, ACCESS_WRITE);

  /** `cv::ocl::convertFromBuffer(mem, step, rows, cols, type, umat)`. */
  constructor(mem: ClMem, step: number, rows: number, cols: number, type: number) {
    core().UMat_construct(this.address, 0);
    core().ocl_convertFromBuffer(mem as bigint as Address, BigInt(step), rows, cols, type, this.address);
  }

  /** `umat.handle(ACCESS_READ)`. */
  get handle(): bigint {
    return core().UMat_handle(this.address, ACCESS_READ);
  }

  /** `umat.step[0]`. */
  get step(): number {
    return umatIn(this.#bytes, 0).shape.steps[0];
  }

  /** `umat.copyTo(other)`. */
  copyTo(other: RawUMat): void {
    core().UMat_copyTo(this.address, other.output);
  }

  /** Its destructor. */
  [Symbol.dispose](): void {
    core().UMat_destruct(this.address);
  }

  #array(at: number, access: number): Address {
    writeInputArray(this.#bytes, at, {
      flags: INPUT_ARRAY_UMAT | access,
      obj: this.address,
      sz_width: 0,
      sz_height: 0,
    });
    return this.address + BigInt(at) as Address;
  }
}
