import { fromFileUrl } from "@std/path";
import type { Library } from "../library.ts";

/** The fields of a DLTensor, where it lies in another struct. */
const TENSOR: readonly (readonly [name: string, designator: string])[] = [
  ["data", "dl_tensor.data"],
  ["device_type", "dl_tensor.device.device_type"],
  ["device_id", "dl_tensor.device.device_id"],
  ["ndim", "dl_tensor.ndim"],
  ["code", "dl_tensor.dtype.code"],
  ["bits", "dl_tensor.dtype.bits"],
  ["lanes", "dl_tensor.dtype.lanes"],
  ["shape", "dl_tensor.shape"],
  ["strides", "dl_tensor.strides"],
  ["byte_offset", "dl_tensor.byte_offset"],
];

/** DLPack: structs and constants, and no library. */
export const dlpack: Library = {
  name: "dlpack",
  interface: "DLPack",
  headers: ["dlpack/dlpack.h"],
  folders: [fromFileUrl(new URL("../../../.dlpack/tvm_ffi/include", import.meta.url))],
  defines: {},
  functions: [],
  constants: [
    { type: "uint32_t", names: ["DLPACK_MAJOR_VERSION", "DLPACK_MINOR_VERSION"] },
    { type: "uint64_t", names: ["DLPACK_FLAG_BITMASK_READ_ONLY", "DLPACK_FLAG_BITMASK_IS_COPIED"] },
    { type: "DLDeviceType", names: ["kDLCPU", "kDLCUDA*", "kDLOpenCL", "kDLVulkan", "kDLMetal", "kDLVPI", "kDLROCM*"] },
    { type: "DLDeviceType", names: ["kDLExtDev", "kDLOneAPI", "kDLWebGPU", "kDLHexagon", "kDLMAIA", "kDLTrn"] },
    {
      type: "DLDataTypeCode",
      names: ["kDLInt", "kDLUInt", "kDLFloat", "kDLOpaqueHandle", "kDLBfloat", "kDLComplex", "kDLBool", "kDLFloat*_*"],
    },
  ],
  structs: [
    { type: "DLManagedTensor", fields: [...TENSOR, "manager_ctx", "deleter"] },
    {
      type: "DLManagedTensorVersioned",
      fields: [["major", "version.major"], ["minor", "version.minor"], "manager_ctx", "deleter", "flags", ...TENSOR],
    },
  ],
};
