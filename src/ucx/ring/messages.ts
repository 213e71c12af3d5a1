import { type Address, NULL } from "../../../ffi/address.ts";
import { UCS_INPROGRESS } from "../../../ffi/ucx/errors.ts";
import { readUcpTagRecvInfo, ucp_tag_recv_info_t } from "../../../ffi/ucx/structs.ts";
import { badMessage } from "../../channel/errors.ts";
import { addressOf } from "../../core/native/pin.ts";
import { codeIn, PLAIN } from "../endpoint.ts";
import { API, check, ucp } from "../library.ts";
import type { UcpWorker } from "../worker.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** Where a message is, or comes to. The address is kept, because finding it takes longer than sending a few bytes. */
export interface Place {
  readonly address: Address;
  readonly byteLength: number;
  /** Its bytes, if the CPU sees them. */
  readonly bytes?: Bytes;
  /** How UCX is called with it. It knows the memory of frames, which it would else register for each transfer. */
  readonly param: DataView<ArrayBuffer>;
}

/** Most messages are at most this long; their places are used again. */
const SPARE_BYTES = 20_480;
const MAX_SPARES = 16;
const spares: MessagePlace[] = [];

/** A place of JavaScript's own. To make a view or a buffer for each message takes longer than to send it. */
export interface MessagePlace extends Place {
  readonly bytes: Bytes;
  readonly data: DataView<ArrayBuffer>;
}

/** A place for a message of up to so many bytes, or more. */
export function placeFor(length: number): MessagePlace {
  const spare = length <= SPARE_BYTES ? spares.pop() : undefined;
  if (spare !== undefined) return spare;
  const bytes = new Uint8Array(new ArrayBuffer(Math.max(length, SPARE_BYTES)));
  const { byteLength } = bytes;
  return { bytes, byteLength, data: new DataView(bytes.buffer), address: addressOf(bytes, API), param: PLAIN };
}

/** Keeps a place for later messages. Neither UCX nor its caller may still use it. */
export function reuse(place: MessagePlace): void {
  if (place.byteLength === SPARE_BYTES && spares.length < MAX_SPARES) spares.push(place);
}

const EXACTLY = 2n ** 64n - 1n;

const info = new DataView(new ArrayBuffer(ucp_tag_recv_info_t.size));

/** A message of so many bytes, on its way into memory of this side's. */
interface Coming<P extends Place> {
  readonly into: P;
  readonly length: number;
  readonly request: Address;
}

/** Where a message comes that is dropped: none of its bytes is copied. */
const NOWHERE: Place = { address: NULL, byteLength: 0, param: PLAIN };

/**
 * The messages that each worker ended last. The other side may send more for a moment. UCX keeps what is not received until
 * the worker's end, so the next end on that worker drops it.
 */
const ended = new WeakMap<UcpWorker, readonly Messages<Place>[]>();
const MAX_ENDED = 64;

/** The messages of one tag, which come one at a time. UCX calls nothing back: they are asked for. */
export class Messages<P extends Place> {
  readonly #worker: UcpWorker;
  readonly #tag: bigint;
  #coming: Coming<P> | undefined;

  constructor(worker: UcpWorker, tag: bigint) {
    this.#worker = worker;
    this.#tag = tag;
  }

  /**
   * Has UCX bring the next one, if there is one and none is on its way. `placeOf` returns the place for a message of so
   * many bytes.
   */
  begin(placeOf: (length: number) => P): void {
    this.#coming ??= this.#begin(placeOf);
  }

  /**
   * The one that was begun, once it is whole; undefined until then.
   *
   * @throws {MessageError} if it is longer than its place.
   */
  next(): Omit<Coming<P>, "request"> | undefined {
    const coming = this.#coming;
    if (coming === undefined) return undefined;
    const code = codeOf(coming);
    if (code === UCS_INPROGRESS) return undefined;
    this.#coming = undefined;
    const { length, into: { byteLength } } = coming;
    if (length > byteLength) throw badMessage("message", `expected at most ${byteLength} bytes, got ${length}.`);
    check(code, "ucp_tag_msg_recv_nbx");
    return coming;
  }

  /** Does UCX still write to the place of a message? */
  get isComing(): boolean {
    if (this.#coming !== undefined && codeOf(this.#coming) !== UCS_INPROGRESS) this.#coming = undefined;
    return this.#coming !== undefined;
  }

  /** No further message is taken. The place of one that is on its way has to stay. */
  end(): void {
    const late = [...ended.get(this.#worker) ?? [], this].slice(-MAX_ENDED);
    for (const messages of late) messages.#drop();
    ended.set(this.#worker, late);
  }

  #drop(): void {
    for (let one; (one = this.#begin(() => NOWHERE)) !== undefined;) {
      if (codeOf(one) === UCS_INPROGRESS) ucp().ucp_request_free(one.request); // once it is over
    }
  }

  #begin<Q extends Place>(placeOf: (length: number) => Q): Coming<Q> | undefined {
    const { handle } = this.#worker;
    const message = ucp().ucp_tag_probe_nb(handle, this.#tag, EXACTLY, 1, info);
    if (message === 0n) return undefined;
    const length = Number(readUcpTagRecvInfo(info, 0).length);
    const into = placeOf(length);
    const count = BigInt(Math.min(length, into.byteLength));
    return { into, length, request: ucp().ucp_tag_msg_recv_nbx(handle, into.address, count, message, into.param) };
  }
}

/** The message's state in UCX. Frees the request of one that is over. */
function codeOf({ request }: Coming<Place>): number {
  const isRequest = request !== NULL && codeIn(request) === undefined;
  const code = isRequest ? ucp().ucp_request_check_status(request) : codeIn(request) ?? 0;
  if (isRequest && code !== UCS_INPROGRESS) ucp().ucp_request_free(request);
  return code;
}
