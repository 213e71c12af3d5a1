import { fromFileUrl } from "@std/path";
import type { FunctionEntry, Library } from "../library.ts";

/** Objects are passed by their address; strings, structs and places for results are buffers. */
function taking(address: readonly string[], ...names: readonly string[]): FunctionEntry[] {
  return names.map((name) => ({ name, address }));
}

/** A property by its name, which other properties follow. */
const PAIR = { name: "const char *", value: "const char *" } as const;

/** A plane of a surface. Its number is a text, as the surface's is. */
const PLANE = { planeKey: "const char *", plane: "const char *" } as const;

const COMPILED = ["core", "model", "context", "compiled_model"];

/** OpenVINO's C API. `deno task setup inference` unpacks its headers. */
export const openvino: Library = {
  name: "openvino",
  interface: "OpenVINO",
  headers: ["openvino/c/openvino.h"],
  folders: [fromFileUrl(new URL("../../../.inference/openvino/openvino/include", import.meta.url))],
  defines: {},
  functions: [
    "ov_get_openvino_version",
    "ov_version_free",
    "ov_get_last_err_msg",
    ...taking(["content"], "ov_free"),
    "ov_core_create",
    ...taking(["core"], "ov_core_free", "ov_core_get_available_devices", "ov_core_get_property"),
    ...taking(["core"], "ov_core_get_default_context"),
    ...taking(["core", "model_str", "weights"], "ov_core_read_model_from_memory_buffer"),
    { name: "ov_core_set_property", address: ["core"], variadic: { key: "const char *", value: "const char *" } },
    { name: "ov_core_compile_model", address: ["core", "model", "device_name", "compiled_model"], variadic: {} },
    {
      ...{ name: "ov_core_compile_model", as: "ov_core_compile_modelAsync", nonblocking: true },
      ...{ address: ["core", "model", "device_name", "compiled_model"], variadic: {} },
    },
    {
      ...{ name: "ov_core_create_context", address: ["core"] },
      variadic: { ...PAIR, key: "const char *", handle: "uintptr_t" },
    },
    { name: "ov_core_compile_model_with_context", address: COMPILED, variadic: {} },
    {
      ...{ name: "ov_core_compile_model_with_context", as: "ov_core_compile_model_with_contextAsync" },
      ...{ nonblocking: true, address: COMPILED, variadic: {} },
    },
    {
      ...{ name: "ov_remote_context_create_tensor", address: ["context"] },
      variadic: { ...PAIR, key: "const char *", handle: "uintptr_t" },
    },
    {
      ...{ name: "ov_remote_context_create_tensor", as: "ov_remote_context_create_tensorOfSurface" },
      ...{ address: ["context"], variadic: { ...PAIR, key: "const char *", id: "const char *", ...PLANE } },
    },
    "ov_available_devices_free",
    ...taking(["context"], "ov_remote_context_free"),
    ...taking(["host_ptr"], "ov_tensor_create_from_host_ptr"),
    "ov_tensor_create",
    ...taking(["tensor"], "ov_tensor_get_element_type", "ov_tensor_get_shape", "ov_tensor_data", "ov_tensor_free"),
    "ov_shape_free",
    "ov_partial_shape_free",
    ...taking(["model"], "ov_model_free"),
    ...taking(
      ["compiled_model"],
      "ov_compiled_model_inputs_size",
      "ov_compiled_model_input_by_index",
      "ov_compiled_model_outputs_size",
      "ov_compiled_model_output_by_index",
      "ov_compiled_model_create_infer_request",
      "ov_compiled_model_get_property",
      "ov_compiled_model_free",
    ),
    ...taking(
      ["port"],
      "ov_port_get_any_name",
      "ov_port_get_partial_shape",
      "ov_port_get_element_type",
      "ov_output_const_port_free",
    ),
    ...taking(
      ["infer_request", "tensor"],
      "ov_infer_request_set_input_tensor_by_index",
      "ov_infer_request_set_output_tensor_by_index",
    ),
    ...taking(
      ["infer_request"],
      "ov_infer_request_infer",
      "ov_infer_request_start_async",
      "ov_infer_request_wait",
      "ov_infer_request_cancel",
      "ov_infer_request_set_callback",
      "ov_infer_request_free",
    ),
    "ov_layout_create",
    ...taking(["layout"], "ov_layout_free"),
    ...taking(["model"], "ov_preprocess_prepostprocessor_create"),
    ...taking(
      ["preprocess"],
      "ov_preprocess_prepostprocessor_free",
      "ov_preprocess_prepostprocessor_get_input_info_by_name",
      "ov_preprocess_prepostprocessor_build",
    ),
    ...taking(
      ["preprocess_input_info"],
      "ov_preprocess_input_info_free",
      "ov_preprocess_input_info_get_tensor_info",
      "ov_preprocess_input_info_get_preprocess_steps",
      "ov_preprocess_input_info_get_model_info",
    ),
    ...taking(
      ["preprocess_input_tensor_info"],
      "ov_preprocess_input_tensor_info_free",
      "ov_preprocess_input_tensor_info_set_element_type",
      "ov_preprocess_input_tensor_info_set_memory_type",
      "ov_preprocess_input_tensor_info_set_spatial_static_shape",
    ),
    {
      name: "ov_preprocess_input_tensor_info_set_color_format_with_subname",
      address: ["preprocess_input_tensor_info"],
      variadic: { y: "const char *", uv: "const char *" },
    },
    ...taking(["preprocess_input_tensor_info", "layout"], "ov_preprocess_input_tensor_info_set_layout"),
    ...taking(["preprocess_input_model_info"], "ov_preprocess_input_model_info_free"),
    ...taking(["preprocess_input_model_info", "layout"], "ov_preprocess_input_model_info_set_layout"),
    ...taking(
      ["preprocess_input_process_steps"],
      "ov_preprocess_preprocess_steps_free",
      "ov_preprocess_preprocess_steps_resize",
      "ov_preprocess_preprocess_steps_convert_element_type",
      "ov_preprocess_preprocess_steps_convert_color",
      "ov_preprocess_preprocess_steps_mean_multi_channels",
      "ov_preprocess_preprocess_steps_scale_multi_channels",
    ),
  ],
  constants: [
    {
      type: "ov_element_type_e",
      names: [
        ...["BOOLEAN", "BF16", "F16", "F32", "F64", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "STRING"],
      ],
    },
    { type: "ov_color_format_e", names: ["NV12_TWO_PLANES", "RGB", "BGR", "RGBX", "BGRX", "GRAY"] },
    { type: "ov_preprocess_resize_algorithm_e", names: ["RESIZE_LINEAR", "RESIZE_CUBIC", "RESIZE_NEAREST"] },
  ],
  errors: {
    type: "ov_status_e",
    names: [
      ...["GENERAL_ERROR", "NOT_IMPLEMENTED", "NETWORK_NOT_LOADED", "PARAMETER_MISMATCH", "NOT_FOUND"],
      ...["OUT_OF_BOUNDS", "UNEXPECTED", "REQUEST_BUSY", "RESULT_NOT_READY", "NOT_ALLOCATED", "INFER_NOT_STARTED"],
      ...["NETWORK_NOT_READ", "INFER_CANCELLED", "INVALID_C_PARAM", "UNKNOWN_C_ERROR", "NOT_IMPLEMENT_C_METHOD"],
      "UNKNOW_EXCEPTION",
    ],
  },
  structs: [
    "ov_version_t",
    "ov_available_devices_t",
    "ov_shape_t",
    "ov_dimension_t",
    { type: "ov_partial_shape_t", fields: [["rank_min", "rank.min"], ["rank_max", "rank.max"], "dims"] },
    "ov_callback_t",
  ],
  byValue: ["ov_shape_t"],
};
