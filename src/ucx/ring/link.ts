import { type Address, NULL } from "../../../ffi/address.ts";
import { UCS_ERR_TIMED_OUT, UCS_INPROGRESS } from "../../../ffi/ucx/errors.ts";
import { readUcpTagRecvInfo, ucp_tag_recv_info_t } from "../../../ffi/ucx/structs.ts";
import { badMessage } from "../../channel/errors.ts";
import { LONGEST_BODY, type Look, NO_FDS } from "../../channel/packet.ts";
import { Changes } from "../../channel/ring/changes.ts";
import type { Link } from "../../channel/ring/link.ts";
import { Resource } from "../../core/life/resource.ts";
import { allOrNothing, type Undo, undone } from "../../core/life/undo.ts";
import { libc } from "../../core/native/libc.ts";
import { addressOf } from "../../core/native/pin.ts";
import type { Readiness } from "../../core/native/poller.ts";
import { codeIn, FLUSH, PLAIN, type Step, UcxLane } from "../endpoint.ts";
import { API, ucp, ucxError } from "../library.ts";
import { advanceAll, type Advancing, type UcpWorker } from "../worker.ts";
import type { Stream } from "./stream.ts";

/** A notice has 24 bytes, and what is known of a frame follows them. */
const LONGEST = LONGEST_BODY + 24;

const EXACTLY = 2n ** 64n - 1n;

/** How often each side lets the other know that it is there, in a timeout. */
const BEATS = 4;

const BEAT = new Uint8Array(); // as a message: four bytes of zeros

const info = new DataView(new ArrayBuffer(ucp_tag_recv_info_t.size));

export interface LinkInit {
  readonly name: string;
  readonly worker: UcpWorker;
  /** Where the other side's worker is. */
  readonly address: Uint8Array<ArrayBuffer>;
  readonly stream: Stream;
  /** The tags of the notices that this side sends, and of those that it takes. */
  readonly sends: bigint;
  readonly takes: bigint;
  readonly timeout: number;
}

/** How long a step is polled for before it is waited for, which takes about as long. */
const POLLING_MS = 0.2;

/** How much later than UCX the stream may report the other side's end: it has to cross the same network. */
const VERDICT_MS = 500;

/** A message on its way into memory of this side's. */
interface Receiving {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly request: Address;
}

/** Messages that had not come whole at the end of their link: UCX may still write there. */
const abandoned = new Set<Receiving>();

/**
 * The other side of a ring over UCX. Notices are tagged messages, by tags that only the two sides know. Its end is seen
 * by the stream, over which both sides say a few times in each timeout that they are there.
 */
export class UcxLink implements Link, Advancing {
  readonly resource: Resource;
  readonly who: string;
  readonly lane: UcxLane;
  readonly #worker: UcpWorker;
  readonly #stream: Stream;
  readonly #takes: bigint;
  readonly #sends: bigint;
  readonly #timeout: number;
  readonly #inbox: DataView<ArrayBuffer>[] = [];
  readonly #changes: Changes = new Changes();
  #receiving: Receiving | undefined;
  #hasEnded = false;
  #failure: unknown;
  #heard: number = performance.now();
  #isSending = false;
  /** How many notices this side has sent, and how many have come. */
  #said = 0;
  #heardOf = 0;
  /** Has UCX lost the other side? */
  #isLost = false;
  #verdict: ReturnType<typeof setTimeout> | undefined;
  #beats: ReturnType<typeof setInterval> | undefined;

  /** Takes the stream over. */
  constructor({ name, worker, address, stream, sends, takes, timeout }: LinkInit, undo: Undo) {
    this.who = name;
    this.#worker = worker;
    this.#stream = stream;
    this.#takes = takes;
    this.#sends = sends;
    this.#timeout = timeout;
    [this.lane, this.resource] = allOrNothing("reaching the other side of a ring", () => {
      const lane = new UcxLane(worker, address, timeout, { failed: (_mark, error) => this.#suspect(error) });
      undo.push(() => clearTimeout(this.#verdict)); // closing the lane may begin it
      undo.push(() => lane.close());
      worker.join(this);
      undo.push(() => this.#leave());
      undo.push(() => clearInterval(this.#beats));
      undo.push(() => stream.close());
      undo.push(() => this.#changes.tell());
      return [lane, new Resource({ name: `ring's link to ${name}`, undo })];
    }, undo);
  }

  /** From now on, both sides say on the stream that they are there, and nothing else. */
  begin(): this {
    this.#heard = performance.now();
    this.#beats = setInterval(() => this.#beat(), this.#timeout / BEATS);
    void this.#listen();
    return this;
  }

  /** Does UCX write into this side's memory no more? */
  get isIdle(): boolean {
    return this.lane.poll(this.lane.given) >= this.lane.given;
  }

  take<T>(look: Look<T>): T | "later" | "ended" {
    this.resource.assertLive();
    advanceAll(); // this program may be the other side of another ring
    if (this.#hasEnded) return "ended"; // what was announced and not brought has gone with it
    if (this.#failure !== undefined) throw this.#failure;
    const notice = this.#inbox.shift();
    return notice === undefined ? "later" : look(notice, notice.byteLength, NO_FDS);
  }

  async ready(readiness: Readiness, signal: AbortSignal | undefined): Promise<void> {
    while (!this.#isReady(readiness)) await this.#change(signal);
  }

  sendNow(bytes: Uint8Array): boolean {
    this.resource.assertLive();
    const copy = new Uint8Array(new ArrayBuffer(bytes.length));
    copy.set(bytes);
    this.#begin({
      fn: "ucp_tag_send_nbx",
      start: (endpoint, param) =>
        ucp().ucp_tag_send_nbx(endpoint, addressOf(copy, API), BigInt(copy.length), this.#sends, param),
    });
    this.#said++;
    return true;
  }

  async send(bytes: Uint8Array): Promise<void> {
    await Promise.resolve(this.sendNow(bytes));
  }

  /**
   * Carries out a step behind all others. Returns false where the other side has ended before it was over.
   *
   * @throws the signal's reason where it is aborted: the step goes on.
   */
  async carryOut(step: Step, signal: AbortSignal | undefined): Promise<boolean> {
    const mark = this.#begin(step);
    for (const end = performance.now() + POLLING_MS; this.lane.poll(mark) < mark && performance.now() < end;) {
      libc().sched_yield(); // the other side may need this core
    }
    this.lane.waitElsewhere(mark).then(() => this.#changes.tell());
    while (this.lane.poll(mark) < mark) await this.#change(signal);
    this.resource.assertLive();
    while (this.#isLost && !this.#isReady("hang-up")) await this.#change(signal);
    if (this.#hasEnded) return false;
    if (this.#failure !== undefined) throw this.#failure;
    // Who was away for so long was given up by the other side, whose memory is in use by others now.
    if (this.#isLate) throw this.#late();
    return true;
  }

  /** Each frame that a reader was notified of is at the writer's until the reader has released it. */
  async sent(signal: AbortSignal | undefined): Promise<void> {
    const isOver = () => this.#failure !== undefined || this.#hasEnded || !this.resource.isLive;
    while (this.#heardOf < this.#said && !isOver()) await this.#changes.next(signal);
  }

  /** Takes what has come: UCX calls nothing back. */
  look(): void {
    for (;;) {
      this.#receiving ??= this.#next();
      if (this.#receiving === undefined) return;
      const { bytes, request } = this.#receiving;
      const code = request === NULL ? 0 : codeIn(request) ?? ucp().ucp_request_check_status(request);
      if (code === UCS_INPROGRESS) return;
      if (request !== NULL && codeIn(request) === undefined) ucp().ucp_request_free(request);
      this.#receiving = undefined;
      if (code !== 0) return this.#lose(ucxError(code, "ucp_tag_msg_recv_nbx"));
      this.#heardOf++;
      this.#inbox.push(new DataView(bytes.buffer));
      this.#changes.tell();
    }
  }

  #next(): Receiving | undefined {
    const { handle } = this.#worker;
    const message = ucp().ucp_tag_probe_nb(handle, this.#takes, EXACTLY, 1, info);
    if (message === 0n) return undefined;
    const length = Number(readUcpTagRecvInfo(info, 0).length);
    const bytes = new Uint8Array(new ArrayBuffer(Math.min(length, LONGEST)));
    if (length > LONGEST) this.#lose(badMessage("notice", `expected at most ${LONGEST} bytes, got ${length}.`));
    const at = addressOf(bytes, API);
    return { bytes, request: ucp().ucp_tag_msg_recv_nbx(handle, at, BigInt(bytes.length), message, PLAIN) };
  }

  #begin(step: Step): number {
    const code = this.lane.give([step]);
    if (code !== 0) this.#suspect(ucxError(code, step.fn));
    return this.lane.given;
  }

  #isReady(readiness: Readiness): boolean {
    return this.#failure !== undefined || this.#hasEnded || (readiness === "read" && this.#inbox.length > 0);
  }

  /** UCX has lost the other side: it is a failure unless the stream says, a moment later, that the other side has ended. */
  #suspect(error: unknown): void {
    if (this.#isLost) return;
    this.#isLost = true;
    if (this.#beats === undefined) return this.#lose(error);
    this.#verdict = setTimeout(() => this.#hasEnded || this.#lose(error), VERDICT_MS);
  }

  /** A side that cannot go on leaves, though its program may not look at the ring: the other one sees the stream's end. */
  #lose(error: unknown): void {
    this.#failure ??= error;
    clearInterval(this.#beats);
    this.#stream.close();
    this.#changes.tell();
  }

  async #change(signal: AbortSignal | undefined): Promise<void> {
    await this.#changes.next(signal);
    this.resource.assertLive();
  }

  get #isLate(): boolean {
    return performance.now() - this.#heard > this.#timeout;
  }

  #late(): Error {
    return ucxError(UCS_ERR_TIMED_OUT, "a ring's link");
  }

  async #listen(): Promise<void> {
    try {
      for (let some; (some = await this.#stream.some()) !== undefined;) {
        if (some.some((byte) => byte !== 0)) throw badMessage("stream", "expected signs of life alone.");
        this.#heard = performance.now();
      }
      this.#hasEnded = this.#failure === undefined;
      this.#changes.tell();
    } catch (error) {
      if (this.#failure !== undefined) return; // this side has closed it
      if (error instanceof Deno.errors.ConnectionReset) this.#hasEnded = true;
      else this.#lose(error);
      this.#changes.tell();
    }
  }

  #beat(): void {
    if (this.#isLate) return this.#lose(this.#late());
    if (this.#isSending) return;
    this.#isSending = true;
    const sent = this.#stream.send(BEAT).catch(() => {}); // its reader finds out why
    sent.then(() => this.#isSending = false);
  }

  #leave(): void {
    this.#worker.leave(this);
    if (this.#receiving !== undefined) abandoned.add(this.#receiving);
  }
}

/**
 * Waits until the two workers have met. UCX 1.13 ends the process where one of them closes a connection while that is being
 * made (`wireup_ep.c`, an assertion on `pending_count`).
 */
export async function met(link: UcxLink): Promise<void> {
  try {
    await link.carryOut(FLUSH, undefined); // it has not begun: where the other side ends, this throws
  } catch (error) {
    throw undone(error, [() => link.resource.dispose()], "meeting the other side of a ring");
  }
}
