import { fromFileUrl } from "@std/path";
import type { Library } from "../library.ts";

/**
 * UCP, the part of UCX that programs call. Only completions that a program asks for are listed: there are no callbacks.
 */
export const ucx: Library = {
  name: "ucx",
  interface: "UCP",
  headers: ["ucp/api/ucp.h"],
  folders: [fromFileUrl(new URL("../../../.ucx/include", import.meta.url))], // `deno task setup test` unpacks them
  defines: {},
  functions: [
    "ucp_get_version",
    "ucp_config_read",
    { name: "ucp_config_modify", address: ["config"] },
    { name: "ucp_config_release", address: ["config"] },
    { name: "ucp_init_version", address: ["config"] },
    "ucp_cleanup",
    "ucp_context_query",
    "ucp_worker_create",
    "ucp_worker_destroy",
    "ucp_worker_get_address",
    { name: "ucp_worker_release_address", address: ["address"] },
    "ucp_worker_progress",
    "ucp_worker_get_efd",
    "ucp_worker_arm",
    "ucp_ep_create",
    "ucp_ep_close_nbx",
    "ucp_mem_map",
    "ucp_mem_unmap",
    "ucp_rkey_pack",
    { name: "ucp_rkey_buffer_release", address: ["rkey_buffer"] },
    "ucp_ep_rkey_unpack",
    "ucp_rkey_destroy",
    { name: "ucp_get_nbx", address: ["buffer"] },
    { name: "ucp_put_nbx", address: ["buffer"] },
    "ucp_ep_flush_nbx",
    { name: "ucp_tag_send_nbx", address: ["buffer"] },
    "ucp_tag_probe_nb",
    { name: "ucp_tag_msg_recv_nbx", address: ["buffer"] },
    { name: "ucp_request_check_status", address: ["request"] },
    { name: "ucp_request_free", address: ["request"] },
  ],
  constants: [
    { type: "enum ucp_params_field", names: ["UCP_PARAM_FIELD_FEATURES"] },
    { type: "enum ucp_context_attr_field", names: ["UCP_ATTR_FIELD_MEMORY_TYPES"] },
    { type: "enum ucp_feature", names: ["UCP_FEATURE_RMA", "UCP_FEATURE_TAG", "UCP_FEATURE_WAKEUP"] },
    { type: "enum ucp_worker_params_field", names: ["UCP_WORKER_PARAM_FIELD_THREAD_MODE"] },
    { type: "ucs_thread_mode_t", names: ["UCS_THREAD_MODE_SINGLE"] },
    {
      type: "enum ucp_ep_params_field",
      names: ["UCP_EP_PARAM_FIELD_REMOTE_ADDRESS", "UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE"],
    },
    { type: "ucs_memory_type_t", names: ["UCS_MEMORY_TYPE_HOST", "UCS_MEMORY_TYPE_CUDA"] },
    { type: "ucp_err_handling_mode_t", names: ["UCP_ERR_HANDLING_MODE_PEER"] },
    {
      type: "enum ucp_mem_map_params_field",
      names: [
        "UCP_MEM_MAP_PARAM_FIELD_ADDRESS",
        "UCP_MEM_MAP_PARAM_FIELD_LENGTH",
        "UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE",
      ],
    },
    {
      type: "ucp_op_attr_t",
      names: ["UCP_OP_ATTR_FIELD_FLAGS", "UCP_OP_ATTR_FIELD_MEMORY_TYPE", "UCP_OP_ATTR_FIELD_MEMH"],
    },
    { type: "unsigned", names: ["UCP_EP_CLOSE_FLAG_FORCE"] },
  ],
  errors: {
    type: "ucs_status_t",
    names: ["UCS_OK", "UCS_INPROGRESS", "UCS_ERR_*", "!UCS_ERR_FIRST_*", "!UCS_ERR_LAST*"],
  },
  structs: [
    { type: "ucp_params_t", fields: ["field_mask", "features"] },
    { type: "ucp_context_attr_t", fields: ["field_mask", "memory_types"] },
    { type: "ucp_worker_params_t", fields: ["field_mask", "thread_mode"] },
    { type: "ucp_ep_params_t", fields: ["field_mask", "address", "err_mode"] },
    "ucp_mem_map_params_t",
    { type: "ucp_tag_recv_info_t", fields: ["sender_tag", "length"] },
    { type: "ucp_request_param_t", fields: ["op_attr_mask", "flags", "memory_type", "memh"] },
  ],
};
