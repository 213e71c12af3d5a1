import { type Address, NULL } from "../../../ffi/address.ts";
import { UCS_ERR_TIMED_OUT, UCS_INPROGRESS } from "../../../ffi/ucx/errors.ts";
import { badMessage } from "../../channel/errors.ts";
import { LONGEST_BODY, type Look, NO_FDS } from "../../channel/packet.ts";
import { Changes } from "../../channel/ring/changes.ts";
import type { Fetch, Link } from "../../channel/ring/link.ts";
import { isEnd, NOTICE_BYTES } from "../../channel/ring/notice.ts";
import { NativeCallError } from "../../core/errors.ts";
import { Resource } from "../../core/life/resource.ts";
import { allOrNothing, type Undo, undoAll } from "../../core/life/undo.ts";
import { nextTurn } from "../../core/pace.ts";
import type { Readiness } from "../../core/native/poller.ts";
import { codeIn, Endpoint, PLAIN } from "../endpoint.ts";
import { ucp, ucxError } from "../library.ts";
import type { Advancing, UcpWorker } from "../worker.ts";
import { type Bytes, type MessagePlace, Messages, type Place, placeFor, reuse } from "./messages.ts";
import type { Stream } from "./stream.ts";

/** Frames of at most this many bytes come inside their notices; larger ones are messages of their own. */
const MAX_INSIDE = 16_384;

/** What is known of a frame follows its notice, and then the frame. */
export const LONGEST_NOTICE: number = NOTICE_BYTES + LONGEST_BODY + MAX_INSIDE;

/** Releases that go in one message have so many bytes at most. */
const MAX_TOGETHER = 64 * NOTICE_BYTES;

/** So many messages that were not taken keep the places to which they came. The others are copied: most are short. */
const MAX_KEPT = 8;

/** How often each side lets the other know that it is there, in the shorter of their timeouts. */
const BEATS = 4;

/** How many frames this program has published over UCX. */
let published = 0;

const BEAT = new Uint8Array(); // as a message: four bytes of zeros

/** How much later than UCX the stream may report the other side's end: it has to cross the same network. */
const VERDICT_MS = 1_000;

/** The tags of messages, as one side sees them. Only the two sides know them. */
export interface Tags {
  /** For this side's notices. */
  readonly sends: bigint;
  /** For the other side's notices. */
  readonly takes: bigint;
  /** For the writer's frames. */
  readonly frames: bigint;
}

export interface LinkInit {
  readonly name: string;
  readonly worker: UcpWorker;
  /** Where the other side's worker is. */
  readonly address: Bytes;
  readonly stream: Stream;
  readonly tags: Tags;
  /** Milliseconds after which this side gives the other one up. */
  readonly timeout: number;
  /** Milliseconds after which the other side gives this one up. */
  readonly theirTimeout: number;
  /** How many bytes of each frame come inside its notice: {@link insideOf}. */
  readonly inside: number;
  /** The frames that this side sends; none for a reader. */
  readonly sent?: readonly Place[];
  /** The places for frames that this side gets; none for a writer. */
  readonly places?: readonly Place[];
  /** How many frames the writer fills in turns, where it waits for its readers; 1 if it needs each release at once. */
  readonly slots?: number;
}

/** A message that has come. */
interface Arrived {
  readonly into: MessagePlace;
  readonly length: number;
}

/** A call that goes on in UCX. */
interface Flight {
  readonly fn: string;
  readonly request: Address;
  readonly land: () => void;
}

/** The frame that was announced last. */
interface Awaited {
  readonly since: number;
  hasCome: boolean;
}

/**
 * The other side of a ring over UCX. Notices and frames are tagged messages: UCX sends small ones at once, and others when
 * the other side has a place for them. The stream shows that it has ended: over that, both sides send a few signs of
 * life in each timeout.
 */
export class UcxLink implements Link, Fetch, Advancing {
  readonly resource: Resource;
  readonly who: string;
  readonly #init: LinkInit;
  readonly #endpoint: Endpoint;
  readonly #notices: Messages<MessagePlace>;
  readonly #frames: Messages<Place>;
  #flights: Flight[] = [];
  /** What this side has released. It is said when UCX is asked for more: what the program does with a frame comes first. */
  #unsent: MessagePlace | undefined;
  /** How many bytes that is. */
  #owed = 0;
  /** Releases are sent once they have so many bytes. */
  #enough = 0;
  /** How many frames this program had published when it released the last one. */
  #publishedBefore = 0;
  /** The next turn of the event loop, where it is waited for. */
  #next: Promise<void> | undefined;
  readonly #inbox: Arrived[] = [];
  readonly #changes: Changes = new Changes();
  /** The message that is being taken, or has the frame of the notice that was taken last. */
  #taken: Arrived | undefined;
  /** How many of its bytes were taken. */
  #at = 0;
  #awaited: Awaited | undefined;
  /** Where the bytes of the next frames go, in order. */
  #places: readonly Place[] = [];
  #hasEnded = false;
  #failure: unknown;
  #heard: number = performance.now();
  #isSending = false;
  /** How many notices this side has sent, and how many have come. */
  #said = 0;
  #heardOf = 0;
  /** True if UCX has lost the other side. */
  #isLost = false;
  /** True if UCX may still write to a place after the connection's end. */
  #isComing = false;
  #verdict: ReturnType<typeof setTimeout> | undefined;
  #beats: ReturnType<typeof setInterval> | undefined;

  /** Takes the stream over, and the places, which the list releases. */
  constructor(init: LinkInit, undo: Undo) {
    const { name, worker, address, stream, tags } = init;
    this.who = name;
    this.#init = init;
    this.#notices = new Messages(worker, tags.takes);
    this.#frames = new Messages(worker, tags.frames);
    [this.#endpoint, this.resource] = allOrNothing("reaching the other side of a ring", () => {
      const places = undo.splice(0);
      undo.push(() => {
        if (!this.#isComing) return undoAll(places, "releasing the places of a ring's frames");
        worker.keep([...places, () => void this]); // a notice's place is this link's
      });
      const endpoint = new Endpoint(worker, address, undo);
      undo.push(() => clearTimeout(this.#verdict)); // the connection's end may begin it
      undo.push(() => [this.#notices, this.#frames].forEach((messages) => messages.end()));
      const isOver = () => this.#hasLanded() && !this.#notices.isComing && !this.#frames.isComing;
      undo.push(() => void (this.#isComing = !endpoint.end(isOver)));
      worker.join(this);
      undo.push(() => worker.leave(this));
      undo.push(() => clearInterval(this.#beats));
      undo.push(() => stream.close());
      undo.push(() => this.#changes.wake());
      return [endpoint, new Resource({ name: `ring's link to ${name}`, undo })];
    }, undo);
  }

  /**
   * Waits until the two workers have met. UCX 1.13 ends the process where one of them closes a connection while that is
   * being made (`wireup_ep.c`, an assertion on `pending_count`).
   */
  async met(signal: AbortSignal): Promise<void> {
    let hasMet = false;
    this.#fly("ucp_ep_flush_nbx", ucp().ucp_ep_flush_nbx(this.#endpoint.handle, PLAIN), () => {
      hasMet = true;
      this.#changes.wake();
    });
    while (!hasMet && this.#failure === undefined) await this.#change(signal);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** From now on, both sides send signs of life on the stream, and nothing else. */
  begin(): this {
    this.#heard = performance.now();
    this.#beats = setInterval(() => this.#beat(), this.#patience / BEATS);
    void this.#listen();
    return this;
  }

  take<T>(look: Look<T>): T | "later" | "ended" {
    this.resource.assertLive();
    if (!this.#hasMore && this.#inbox.length === 0) this.#init.worker.ask();
    if (this.#hasEnded) return "ended"; // what was announced and not brought has gone with it
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#hasMore && !this.#open(this.#inbox.shift())) return "later";
    const { into: { bytes, data }, length } = this.#taken!;
    const at = this.#at;
    const rest = length - at;
    const own = this.#isReader ? rest - this.#init.inside : Math.min(rest, NOTICE_BYTES);
    if (own < 0) throw badMessage("notice", `there is no frame in its ${length} bytes.`);
    this.#at += own;
    return look(at === 0 ? data : new DataView(bytes.buffer, at), own, NO_FDS);
  }

  /** Begins with the next message, if there is one. */
  #open(message: Arrived | undefined): boolean {
    if (message === undefined) return false;
    if (this.#taken !== undefined) reuse(this.#taken.into);
    this.#taken = message;
    this.#at = 0;
    return true;
  }

  /** True while there are notices in the message that is being taken: only readers' releases come several at a time. */
  get #hasMore(): boolean {
    return !this.#isReader && this.#taken !== undefined && this.#at < this.#taken.length;
  }

  get #isReader(): boolean {
    return this.#init.places !== undefined;
  }

  async ready(readiness: Readiness, signal: AbortSignal | undefined): Promise<void> {
    while (!this.#isReady(readiness)) await this.#change(signal);
  }

  sendNow(bytes: Uint8Array, index?: number): boolean {
    this.resource.assertLive();
    if (index !== undefined) this.#notify(bytes, this.#init.sent?.[index]);
    else this.#owe(bytes);
    return true;
  }

  #owe(bytes: Uint8Array): void {
    if (this.#owed + bytes.length > MAX_TOGETHER) this.#catchUp();
    const place = this.#unsent ??= placeFor(bytes.length);
    place.bytes.set(bytes, this.#owed);
    this.#owed += bytes.length;
    this.#enough = this.#mostKept() * NOTICE_BYTES;
    this.#next ??= this.#catchUpLater();
  }

  /**
   * How many releases go together. The other side still has half of its frames to fill. If this program sends a frame for
   * each that it takes, the other side waits for those and not for releases, so one frame to fill is enough.
   */
  #mostKept(): number {
    const { slots = 1 } = this.#init;
    const replies = published > this.#publishedBefore;
    this.#publishedBefore = published;
    return replies ? slots - 1 : slots >> 1;
  }

  async #catchUpLater(): Promise<void> {
    await nextTurn();
    this.#next = undefined;
    if (this.resource.isLive) this.#catchUp();
  }

  /** Sends the notices that could wait. */
  #catchUp(): void {
    const place = this.#unsent;
    if (place === undefined) return;
    const length = this.#owed;
    this.#unsent = undefined;
    this.#owed = 0;
    this.#send(place, length, this.#init.tags.sends, place);
  }

  #notify(bytes: Uint8Array, whole: Place | undefined): void {
    const inside = whole === undefined ? 0 : this.#init.inside;
    const place = placeFor(bytes.length + inside);
    place.bytes.set(bytes);
    if (inside > 0) place.bytes.set(whole!.bytes!, bytes.length);
    this.#send(place, bytes.length + inside, this.#init.tags.sends, place);
    if (whole !== undefined && inside === 0) this.#send(whole, whole.byteLength, this.#init.tags.frames);
    this.#said++;
    published++;
  }

  async send(bytes: Uint8Array): Promise<void> {
    await Promise.resolve(this.sendNow(bytes));
  }

  /** Puts the frame that came inside the last notice to a place. Returns false if its bytes come by themselves. */
  unpack(index: number): boolean {
    const { places, inside } = this.#init;
    if (inside === 0) return false;
    const { into, length } = this.#taken!;
    places![index].bytes!.set(into.bytes.subarray(length - inside, length));
    return true;
  }

  /**
   * Brings the frame that was announced last to the first of these places, and has the one after it begin to come to
   * the second. Returns false where the other side has ended before it was there.
   *
   * @throws the signal's reason if it is aborted. The frames still come, so the next call has to name the same places.
   */
  async bring(indexes: readonly number[], signal: AbortSignal | undefined): Promise<boolean> {
    const places = indexes.map((index) => this.#init.places![index]);
    const awaited = this.#awaited ??= { since: performance.now(), hasCome: false };
    this.#places = awaited.hasCome ? places.slice(1) : places;
    const isOver = () => awaited.hasCome || this.#isReady("hang-up") || signal?.aborted === true;
    await this.#init.worker.poll(isOver);
    while (!awaited.hasCome && !this.#isReady("hang-up")) await this.#change(signal);
    if (!awaited.hasCome && this.#hasEnded) return false;
    if (this.#failure !== undefined) throw this.#failure;
    // The other side has given up a side that was away for so long, and has filled its frame again.
    if (this.#isLate(this.#heard, this.#patience)) throw this.#late();
    this.#awaited = undefined;
    return true;
  }

  /** Each frame that a reader was notified of is at the writer's until the reader has released it. */
  async sent(signal: AbortSignal | undefined): Promise<void> {
    const isOver = () => this.#failure !== undefined || this.#hasEnded || !this.resource.isLive;
    while (this.#heardOf < this.#said && !isOver()) await this.#changes.next(signal);
  }

  /** Takes what has come, and ends what is over. */
  look(): void {
    this.#hasLanded();
    if (this.#owed >= this.#enough) this.#catchUp();
    try {
      for (;;) {
        this.#notices.begin(placeForNotice);
        const notice = this.#notices.next();
        if (notice === undefined) break;
        this.#heardOf += this.#isReader ? 1 : notice.length / NOTICE_BYTES;
        this.#inbox.push(this.#inbox.length < MAX_KEPT ? notice : copied(notice));
        this.#changes.wake();
      }
      if (this.#isLost) return;
      this.#beginFrame();
      const awaited = this.#awaited;
      const frame = awaited?.hasCome === false ? this.#frames.next() : undefined;
      if (awaited === undefined || frame === undefined) return;
      this.#places = this.#places.slice(1);
      const { into: { byteLength }, length } = frame;
      if (length !== byteLength) throw badMessage("frame", `expected ${byteLength} bytes, got ${length}.`);
      awaited.hasCome = true;
      this.#beginFrame(); // the program has work to do first
      this.#changes.wake();
    } catch (error) {
      if (error instanceof NativeCallError) this.#suspect(error);
      else this.#lose(error);
    }
  }

  /** One at a time: over shared memory, UCX moves two in turns of small parts, and takes longer for both. */
  #beginFrame(): void {
    const [into] = this.#places;
    if (into !== undefined) this.#frames.begin(() => into);
  }

  /** The place must stay as it is until UCX has sent it. */
  #send({ address, param }: Place, length: number, tag: bigint, spare?: MessagePlace): void {
    const request = ucp().ucp_tag_send_nbx(this.#endpoint.handle, address, BigInt(length), tag, param);
    if (request === NULL) {
      if (spare !== undefined) reuse(spare);
    } else this.#fly("ucp_tag_send_nbx", request, () => spare && reuse(spare));
  }

  /** Keeps what a call has begun, and calls `land` once that is over. */
  #fly(fn: string, request: Address, land: () => void): void {
    const code = request === NULL ? 0 : codeIn(request);
    if (code === undefined) this.#flights.push({ fn, request, land });
    else if (code === 0) land();
    else this.#suspect(ucxError(code, fn));
  }

  /** Ends each call that is over. True if none goes on. */
  #hasLanded(): boolean {
    const flights = this.#flights;
    if (flights.length === 0) return true;
    this.#flights = flights.filter(({ fn, request, land }) => {
      const code = ucp().ucp_request_check_status(request);
      if (code === UCS_INPROGRESS) return true;
      ucp().ucp_request_free(request);
      if (code !== 0) this.#suspect(ucxError(code, fn));
      land();
      return false;
    });
    return this.#flights.length === 0;
  }

  #isReady(readiness: Readiness): boolean {
    return this.#failure !== undefined || this.#hasEnded ||
      (readiness === "read" && (this.#hasMore || this.#inbox.length > 0));
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
    this.#init.stream.close();
    this.#changes.wake();
  }

  async #change(signal: AbortSignal | undefined): Promise<void> {
    this.resource.assertLive(); // what ends it has reported its last change
    await this.#changes.next(signal);
    this.resource.assertLive();
  }

  /** After so many milliseconds one of the two sides gives the other up. */
  get #patience(): number {
    return Math.min(this.#init.timeout, this.#init.theirTimeout);
  }

  #isLate(since: number, limit: number = this.#init.timeout): boolean {
    return performance.now() - since > limit;
  }

  #late(): Error {
    return ucxError(UCS_ERR_TIMED_OUT, "a ring's link");
  }

  async #listen(): Promise<void> {
    try {
      for (let some; (some = await this.#init.stream.some()) !== undefined;) {
        if (some.some((byte) => byte !== 0)) throw badMessage("stream", "expected signs of life alone.");
        this.#heard = performance.now();
      }
      this.#hasEnded = this.#failure === undefined;
      this.#changes.wake();
    } catch (error) {
      if (this.#failure !== undefined || !this.resource.isLive) return; // this side has closed it
      if (isEnd(error)) this.#hasEnded = true;
      else this.#lose(error);
      this.#changes.wake();
    }
  }

  #beat(): void {
    const isFrameLate = this.#awaited?.hasCome === false && this.#isLate(this.#awaited.since);
    if (isFrameLate || this.#isLate(this.#heard)) return this.#lose(this.#late());
    if (this.#isSending) return;
    this.#isSending = true;
    const sent = this.#init.stream.send(BEAT).catch(() => {}); // its reader finds out why
    sent.then(() => this.#isSending = false);
  }
}

/** How many bytes of a ring's frames come inside their notices: all of them, or none. */
export function insideOf([{ byteLength }]: readonly Place[], isApart: boolean): number {
  return isApart || byteLength > MAX_INSIDE ? 0 : byteLength;
}

/** The same message, in no more bytes than it has. One that fills its place stays there: its copy would look like a spare. */
function copied(message: Arrived): Arrived {
  const { into, length } = message;
  if (length === into.byteLength) return message;
  const bytes = into.bytes.slice(0, length);
  reuse(into);
  return { into: { ...into, bytes, byteLength: length, data: new DataView(bytes.buffer) }, length };
}

function placeForNotice(length: number): MessagePlace {
  return placeFor(Math.min(length, LONGEST_NOTICE));
}
