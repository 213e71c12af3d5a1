/**
 * How UCX's functions fail.
 *
 * @module
 */
import { UCS_ERR_NO_MEMORY } from "../../ffi/ucx/errors.ts";
import type { UCP } from "../../ffi/ucx/functions.ts";
import type { Failure, Failures } from "./failures.ts";

const code: Failure = { result: UCS_ERR_NO_MEMORY };
/** A code as an address. */
const status: Failure = { result: BigInt.asUintN(64, BigInt(UCS_ERR_NO_MEMORY)) };

export const UCX: Failures<UCP> = {
  ucp_get_version: undefined,
  ucp_config_read: code,
  ucp_config_modify: code,
  ucp_config_release: undefined,
  ucp_init_version: code,
  ucp_cleanup: undefined,
  ucp_context_query: code,
  ucp_worker_create: code,
  ucp_worker_destroy: undefined,
  ucp_worker_get_address: code,
  ucp_worker_release_address: undefined,
  ucp_worker_progress: undefined,
  ucp_worker_get_efd: code,
  ucp_worker_arm: code,
  ucp_ep_create: code,
  ucp_ep_close_nbx: { ...status, release: true },
  ucp_mem_map: code,
  ucp_mem_unmap: { ...code, release: true },
  ucp_rkey_pack: code,
  ucp_rkey_buffer_release: undefined,
  ucp_ep_rkey_unpack: code,
  ucp_rkey_destroy: undefined,
  ucp_get_nbx: status,
  ucp_put_nbx: status,
  ucp_ep_flush_nbx: status,
  ucp_tag_send_nbx: status,
  ucp_tag_probe_nb: undefined,
  ucp_tag_msg_recv_nbx: status,
  ucp_request_check_status: undefined, // it reports a request's own failure
  ucp_request_free: undefined,
};
