import { type Address, NULL } from "../../ffi/address.ts";
import {
  UCP_EP_CLOSE_FLAG_FORCE,
  UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
  UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
  UCP_ERR_HANDLING_MODE_PEER,
  UCP_OP_ATTR_FIELD_FLAGS,
  UCP_OP_ATTR_FIELD_MEMORY_TYPE,
  UCS_MEMORY_TYPE_CUDA,
  UCS_MEMORY_TYPE_HOST,
} from "../../ffi/ucx/constants.ts";
import { UCS_INPROGRESS } from "../../ffi/ucx/errors.ts";
import type { UcpEpH, UcpMemH } from "../../ffi/ucx/handles.ts";
import {
  ucp_ep_params_t,
  ucp_request_param_t,
  type UcpRequestParam,
  writeUcpEpParams,
  writeUcpRequestParam,
} from "../../ffi/ucx/structs.ts";
import { blockingPause } from "../core/device/asking.ts";
import { owned } from "../core/life/ledger.ts";
import type { Undo } from "../core/life/undo.ts";
import { pinned } from "../core/native/pin.ts";
import { API, check, made, ucp } from "./library.ts";
import type { UcpWorker } from "./worker.ts";

/** UCX's results from here on are negative codes, as addresses: `UCS_ERR_LAST`. Others are requests. */
const FIRST_CODE = 2n ** 64n - 100n;

/** The code in what a call returned; undefined for a request. */
export function codeIn(result: Address): number | undefined {
  return result >= FIRST_CODE ? Number(BigInt.asIntN(64, result)) : undefined;
}

/** How long the end of a connection waits for what is in flight. */
const GOODBYE_MS = 250;

/** Parameters of a UCX call that may go on. They name the kind of memory, for which UCX would otherwise ask CUDA's driver. */
export function how(
  fields: number,
  { flags = 0, memory_type = UCS_MEMORY_TYPE_HOST, memh = 0n as UcpMemH }: Partial<UcpRequestParam>,
): DataView<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(ucp_request_param_t.size));
  const op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE | fields;
  writeUcpRequestParam(view, 0, { op_attr_mask, flags, memory_type, memh });
  return view;
}

/** A call on the CPU's memory. */
export const PLAIN: DataView<ArrayBuffer> = how(0, {});

/** Calls on memory of each kind. */
export const PLAIN_FOR: Readonly<Record<number, DataView<ArrayBuffer>>> = {
  [UCS_MEMORY_TYPE_HOST]: PLAIN,
  [UCS_MEMORY_TYPE_CUDA]: how(0, { memory_type: UCS_MEMORY_TYPE_CUDA }),
};

const BY_FORCE = how(UCP_OP_ATTR_FIELD_FLAGS, { flags: UCP_EP_CLOSE_FLAG_FORCE });

/** A connection to another process's worker. */
export class Endpoint {
  readonly handle: UcpEpH;
  readonly #worker: UcpWorker;
  #isClosed = false;

  /** Connects; the other side notices with the first call. Its end goes on the list. */
  constructor(worker: UcpWorker, address: Uint8Array<ArrayBuffer>, undo: Undo) {
    this.#worker = worker;
    const params = new DataView(new ArrayBuffer(ucp_ep_params_t.size));
    const field_mask = BigInt(UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE);
    this.handle = pinned(address, API, (at) => {
      writeUcpEpParams(params, 0, { field_mask, address: at, err_mode: UCP_ERR_HANDLING_MODE_PEER });
      return made<UcpEpH>("ucp_ep_create", (out) => ucp().ucp_ep_create(worker.handle, params, out));
    });
    owned("ucx.endpoint", undo, () => this.disconnect());
  }

  /**
   * Ends the connection, and waits until what is in flight has failed by that, for UCX may use its memory until then:
   * `isOver` asks. UCX ends it within milliseconds, also where the other side hangs. Returns false for what UCX does not
   * end: a message that it receives in pieces, of which some never come.
   */
  end(isOver: () => boolean): boolean {
    this.disconnect();
    const until = performance.now() + GOODBYE_MS;
    this.#advanceUntil(() => isOver() || performance.now() > until);
    return isOver();
  }

  disconnect(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const request = ucp().ucp_ep_close_nbx(this.handle, BY_FORCE);
    if (request === NULL) return;
    const code = codeIn(request);
    if (code !== undefined) return check(code, "ucp_ep_close_nbx");
    this.#advanceUntil(() => ucp().ucp_request_check_status(request) !== UCS_INPROGRESS);
    ucp().ucp_request_free(request);
  }

  #advanceUntil(isOver: () => boolean): void {
    for (const pause = blockingPause("the end of a connection over UCX"); !isOver();) {
      if (ucp().ucp_worker_progress(this.#worker.handle) === 0) pause();
    }
  }
}
