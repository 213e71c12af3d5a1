import type { Address } from "../../ffi/address.ts";
import type { ClPlatformId } from "../../ffi/opencl/handles.ts";
import { infoString, type Query } from "./info.ts";
import { opencl } from "./library.ts";

/** cl_icdl_info of the extension cl_loader_info in the OpenCL registry (cl.xml). Debian 12's headers lack it. */
const LOADER_INFO = { CL_ICDL_OCL_VERSION: 1, CL_ICDL_VERSION: 2, CL_ICDL_NAME: 3, CL_ICDL_VENDOR: 4 } as const;

export type LoaderInfo = keyof typeof LOADER_INFO;

export const LOADER_INFOS = Object.keys(LOADER_INFO) as readonly LoaderInfo[];

const FN = "clGetICDLoaderInfoOCLICD";

/** `cl_int clGetICDLoaderInfoOCLICD(cl_icdl_info, size_t, void *, size_t *)` */
const SIGNATURE = { parameters: ["u32", "usize", "buffer", "buffer"], result: "i32" } as const;

export function loaderInfo(name: LoaderInfo): string | undefined {
  const address = opencl().clGetExtensionFunctionAddress?.(new TextEncoder().encode(`${FN}\0`)) ?? 0n;
  const pointer: Deno.PointerValue<typeof SIGNATURE> = Deno.UnsafePointer.create(address);
  if (pointer === null) return undefined;
  const call = new Deno.UnsafeFnPointer(pointer, SIGNATURE);
  const query: Query = (...args) => call.call(...args);
  return infoString(FN, query, LOADER_INFO[name]);
}

/** The address of clIcdGetPlatformIDsKHR, which every driver has to export (cl_khr_icd). 0 if it does not. */
export function addressInDriver(platform: ClPlatformId): Address {
  const name = new TextEncoder().encode("clIcdGetPlatformIDsKHR\0");
  return opencl().clGetExtensionFunctionAddressForPlatform(platform, name);
}
