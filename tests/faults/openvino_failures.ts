/**
 * How the functions of OpenVINO fail: by a code.
 *
 * @module
 */
import type { OpenVINO } from "../../ffi/openvino/functions.ts";
import { GENERAL_ERROR } from "../../ffi/openvino/errors.ts";
import type { Failures } from "./failures.ts";

const failed = { answer: GENERAL_ERROR };

/** It gives something back, and fails then. */
const release = { ...failed, release: true } as const;

export const OPENVINO: Failures<OpenVINO> = {
  ov_get_openvino_version: failed,
  ov_version_free: undefined,
  ov_get_last_err_msg: undefined,
  ov_free: undefined,
  ov_core_create: failed,
  ov_core_free: undefined,
  ov_core_get_available_devices: failed,
  ov_core_get_property: failed,
  ov_core_get_default_context: failed,
  ov_core_read_model_from_memory_buffer: failed,
  ov_core_set_property: failed,
  ov_core_compile_model: failed,
  ov_core_compile_modelAsync: failed,
  ov_available_devices_free: undefined,
  ov_remote_context_free: undefined,
  ov_tensor_create_from_host_ptr: failed,
  ov_tensor_create: failed,
  ov_tensor_get_element_type: failed,
  ov_tensor_get_shape: failed,
  ov_tensor_data: failed,
  ov_tensor_free: undefined,
  ov_shape_free: release,
  ov_partial_shape_free: undefined,
  ov_model_free: undefined,
  ov_compiled_model_inputs_size: failed,
  ov_compiled_model_input_by_index: failed,
  ov_compiled_model_outputs_size: failed,
  ov_compiled_model_output_by_index: failed,
  ov_compiled_model_create_infer_request: failed,
  ov_compiled_model_get_property: failed,
  ov_compiled_model_free: undefined,
  ov_port_get_any_name: failed,
  ov_port_get_partial_shape: failed,
  ov_port_get_element_type: failed,
  ov_output_const_port_free: undefined,
  ov_infer_request_set_input_tensor_by_index: failed,
  ov_infer_request_set_output_tensor_by_index: failed,
  ov_infer_request_infer: failed,
  ov_infer_request_start_async: failed,
  ov_infer_request_wait: failed,
  ov_infer_request_cancel: failed,
  ov_infer_request_set_callback: failed,
  ov_infer_request_free: undefined,
  ov_layout_create: failed,
  ov_layout_free: undefined,
  ov_preprocess_prepostprocessor_create: failed,
  ov_preprocess_prepostprocessor_free: undefined,
  ov_preprocess_prepostprocessor_get_input_info_by_name: failed,
  ov_preprocess_prepostprocessor_build: failed,
  ov_preprocess_input_info_free: undefined,
  ov_preprocess_input_info_get_tensor_info: failed,
  ov_preprocess_input_info_get_preprocess_steps: failed,
  ov_preprocess_input_info_get_model_info: failed,
  ov_preprocess_input_tensor_info_free: undefined,
  ov_preprocess_input_tensor_info_set_element_type: failed,
  ov_preprocess_input_tensor_info_set_spatial_static_shape: failed,
  ov_preprocess_input_tensor_info_set_color_format_with_subname: failed,
  ov_preprocess_input_tensor_info_set_layout: failed,
  ov_preprocess_input_model_info_free: undefined,
  ov_preprocess_input_model_info_set_layout: failed,
  ov_preprocess_preprocess_steps_free: undefined,
  ov_preprocess_preprocess_steps_resize: failed,
  ov_preprocess_preprocess_steps_convert_element_type: failed,
  ov_preprocess_preprocess_steps_convert_color: failed,
  ov_preprocess_preprocess_steps_mean_multi_channels: failed,
  ov_preprocess_preprocess_steps_scale_multi_channels: failed,
};
