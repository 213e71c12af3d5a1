import type { Fence } from "../../core/device/fence.ts";
import { finalizers } from "../../core/life/finalizers.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import type { Undo } from "../../core/life/undo.ts";
import { checks } from "../check.ts";
import { check, checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";
import { owned } from "../primary_context.ts";
import type { CudaArray } from "./array.ts";

interface Made {
  readonly type: string;
  readonly create: readonly [fn: string, call: (out: BigUint64Array<ArrayBuffer>) => number];
  readonly destroy: readonly [fn: string, call: (handle: bigint) => number];
}

/** An object by which kernels access an array. It ends before the array. */
export abstract class OverArray extends NativeObject {
  /** The array. */
  readonly array: CudaArray;
  /** Its end of life. */
  readonly resource: Resource;
  readonly #handle: bigint;

  /** Made by an array. */
  constructor(array: CudaArray, { type, create, destroy }: Made) {
    super();
    const { context } = array;
    array.resource.assertLive();
    const out = new BigUint64Array(1);
    context.within(() => check(create[1](out), create[0]));
    const handle = this.#handle = out[0];
    const undo: Undo = [];
    owned(context, `cuda.${type}`, undo, () => checkRelease(destroy[1](handle), destroy[0]));
    this.array = array;
    this.resource = new Resource({ name: `${type} of ${array.resource.name}`, owners: [array.resource], undo });
    finalizers.register(this, this.resource, this);
  }

  /** The handle for kernels, an `unsigned long long`. */
  get handle(): bigint {
    this.resource.assertLive();
    return this.#handle;
  }

  /** Declares work on it and its array: the dispose of both waits for the fence. */
  usedBy(fence: Fence): void {
    this.resource.usedBy(fence);
    this.array.usedBy(fence);
  }
}

/** A surface object, by which kernels read and write an array; x counts bytes. Made by `array.surface()`. */
export class CudaSurface extends OverArray {
  /** Made by an array. */
  constructor(array: CudaArray) {
    if (!array.writable) {
      throw checks.wrong("array", "it was made without surfaces.", "Make it by cuda.array({ surface: true, … }).");
    }
    array.usable("write");
    const description = array.describe();
    super(array, {
      type: "cudaSurfaceObject_t",
      create: ["cudaCreateSurfaceObject", (out) => cudart().cudaCreateSurfaceObject(out, description)],
      destroy: ["cudaDestroySurfaceObject", (handle) => cudart().cudaDestroySurfaceObject(handle)],
    });
  }
}
