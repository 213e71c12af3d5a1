import { type Address, NULL } from "../../../ffi/address.ts";
import { UCS_INPROGRESS } from "../../../ffi/ucx/errors.ts";
import { readUcpTagRecvInfo, ucp_tag_recv_info_t } from "../../../ffi/ucx/structs.ts";
import { badMessage } from "../../channel/errors.ts";
import { addressOf } from "../../core/native/pin.ts";
import { codeIn, PLAIN } from "../endpoint.ts";
import { API, check, ucp } from "../library.ts";
import type { UcpWorker } from "../worker.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

const EXACTLY = 2n ** 64n - 1n;

const info = new DataView(new ArrayBuffer(ucp_tag_recv_info_t.size));

/** A message on its way into memory of this side's. */
interface Coming {
  readonly into: Bytes;
  readonly length: number;
  readonly request: Address;
}

/** Messages that had not come whole when nobody waited for them any more: UCX may still write there. */
const abandoned = new Set<Coming>();

/** The messages of one tag, which come one at a time. UCX calls nothing back: they are asked for. */
export class Messages {
  readonly #worker: UcpWorker;
  readonly #tag: bigint;
  #coming: Coming | undefined;

  constructor(worker: UcpWorker, tag: bigint) {
    this.#worker = worker;
    this.#tag = tag;
  }

  /**
   * The next one, once it is whole; undefined until then. `placeFor` says into which bytes one of so many comes.
   *
   * @throws {MessageError} if it does not fill them.
   */
  next(placeFor: (length: number) => Bytes): Bytes | undefined {
    const coming = this.#coming ??= this.#begin(placeFor);
    const code = this.#codeOf(coming);
    if (coming === undefined || code === UCS_INPROGRESS) return undefined;
    const { into, length } = coming;
    if (length !== into.length) throw badMessage("message", `expected ${into.length} bytes, got ${length}.`);
    check(code, "ucp_tag_msg_recv_nbx");
    return into;
  }

  /** Does UCX write into this side's memory no more? */
  get isIdle(): boolean {
    return this.#codeOf(this.#coming) !== UCS_INPROGRESS;
  }

  /** Nobody waits for more. */
  end(): void {
    if (!this.isIdle) abandoned.add(this.#coming!);
  }

  #begin(placeFor: (length: number) => Bytes): Coming | undefined {
    const { handle } = this.#worker;
    const message = ucp().ucp_tag_probe_nb(handle, this.#tag, EXACTLY, 1, info);
    if (message === 0n) return undefined;
    const length = Number(readUcpTagRecvInfo(info, 0).length);
    const into = placeFor(length);
    const count = BigInt(into.length);
    return {
      ...{ into, length },
      request: ucp().ucp_tag_msg_recv_nbx(handle, addressOf(into, API), count, message, PLAIN),
    };
  }

  #codeOf(coming: Coming | undefined): number {
    if (coming === undefined) return 0;
    const { request } = coming;
    const isRequest = request !== NULL && codeIn(request) === undefined;
    const code = isRequest ? ucp().ucp_request_check_status(request) : codeIn(request) ?? 0;
    if (code === UCS_INPROGRESS) return code;
    if (isRequest) ucp().ucp_request_free(request);
    this.#coming = undefined;
    return code;
  }
}
