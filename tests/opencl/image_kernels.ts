/**
 * Kernels that copy images, and what drivers are known to get wrong there.
 *
 * @module
 */
import type { ImageType, OpenCLContext, OpenCLKernel, PixelFormat } from "@samepage/interop/opencl";
import { definitionsOf } from "../../src/opencl/images/type.ts";

/** A kernel that copies one image to another, both of a kind and format. */
export function copier(cl: OpenCLContext, type: ImageType, format: PixelFormat): OpenCLKernel {
  return cl.program(copySource(type, format)).kernel("copy");
}

/** Its source: one program does for all formats that a kernel reads alike. */
export function copySource(type: ImageType, format: PixelFormat): string {
  return `
    #pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable
    ${definitionsOf(type, format)}
    kernel void copy(read_only IMAGE from, write_only IMAGE to) {
      int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
      WRITE(to, AT, READ(from, AT));
    }`;
}

/** PoCL 3.1 reads or writes zeros in images of one half float a pixel, so they are never called an alias. */
export const BROKEN: { readonly [platform: string]: readonly string[] } = { pocl: ["A HALF_FLOAT", "R HALF_FLOAT"] };
