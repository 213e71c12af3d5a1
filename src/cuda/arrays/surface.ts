import { checks } from "../check.ts";
import { cudart } from "../library.ts";
import type { CudaArray } from "./array.ts";
import { OverArray } from "./over_array.ts";

/** A surface object, by which kernels read and write an array; x counts bytes. Made by `array.surface()`. */
export class CudaSurface extends OverArray {
  /** Made by an array. */
  constructor(array: CudaArray) {
    if (!array.writable) {
      throw checks.wrong("array", "it was made without surfaces.", "Make it by cuda.array({ surface: true, … }).");
    }
    const description = array.describe();
    super(array, {
      type: "cudaSurfaceObject_t",
      create: ["cudaCreateSurfaceObject", (out) => cudart().cudaCreateSurfaceObject(out, description)],
      destroy: ["cudaDestroySurfaceObject", (handle) => cudart().cudaDestroySurfaceObject(handle)],
    });
  }
}
