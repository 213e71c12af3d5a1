import { fromFileUrl } from "@std/path";
import type { Library } from "../library.ts";

/** Arrow's C data and C device interface, which are structs, and no functions. pyarrow's wheel has their header. */
export const arrow: Library = {
  name: "arrow",
  interface: "Arrow",
  headers: ["arrow/c/abi.h"],
  folders: [fromFileUrl(new URL("../../../.arrow/pyarrow/include", import.meta.url))],
  defines: {},
  functions: [],
  constants: [
    { type: "int64_t", names: ["ARROW_FLAG_*"] },
    { type: "ArrowDeviceType", names: ["ARROW_DEVICE_CPU", "ARROW_DEVICE_CUDA*"] },
  ],
  structs: [
    "struct ArrowSchema",
    "struct ArrowArray",
    {
      type: "struct ArrowDeviceArray",
      fields: [["array", "array.length"], "device_id", "device_type", "sync_event", ["reserved", "reserved[0]"]],
    },
  ],
};
