import { asNumber } from "../../../ffi/address.ts";
import { messageOf, warn } from "../errors.ts";
import type { Grant } from "./grant.ts";
import { ledger } from "../life/ledger.ts";
import { type Undo, undoAll } from "../life/undo.ts";
import { Ranges } from "./ranges.ts";
import type { Views } from "./view.ts";

/**
 * Whether a block may be freed: `"unused"` (no view is left), `"escaped"` (a view was moved away, and may be in use),
 * `"unknown"` (its tensor was collected before its views were revoked: they may have been moved).
 */
export type Fate = "unused" | "escaped" | "unknown";

/** Why memory may not be taken over by its address, and what to do instead. */
export interface Closed {
  /** The reason. */
  readonly reason: string;
  /** The hint. */
  readonly remedy: string;
}

/** What to do where the host can have memory by a copy alone. */
export const COPY_INSTEAD = 'Copy it: graph.map(tensor, host, { copy: "allow" }).';

/** @param of what has the memory: `"cuda 0: NVIDIA H100"` */
export function closedToHost(of: string, orElse: string = ""): Closed {
  return { reason: `it is memory of ${of}, which the CPU cannot reach.`, remedy: `${COPY_INSTEAD}${orElse}` };
}

/** A block of memory that its owner frees. */
export interface OwnedBlock {
  /** Its kind in the ledger: `"host.block"`. */
  readonly kind: string;
  /** The host address of its first byte, if it has one. */
  readonly address?: bigint;
  /** Its length in bytes. */
  readonly byteLength: number;
  /** How many of its bytes this process keeps where it cannot free them, if not all: the mapped ones of a file. */
  readonly keptLength?: number;
  /** Set if `host.wrap` must refuse its address. */
  readonly closed?: Closed;
}

/** What frees a block of memory. */
export interface BlockOwner {
  /** Frees the memory, as far as its fate allows. Called once. */
  free(fate: Fate): void;
}

/** A block of memory, and the way to free it. */
export interface Block extends OwnedBlock, BlockOwner {}

/** A failure that came too late to be thrown. All its bytes keep it, and it is reported once. */
export interface Failure {
  /** The error. */
  readonly error: unknown;
  /** True once it was reported. */
  reported: boolean;
}

interface KeptFailure {
  readonly start: number;
  readonly end: number;
  readonly failure: Failure;
}

const NONE: readonly KeptFailure[] = [];

/**
 * One block of memory under law 3: its lends, its views, its owners. Ranges are in bytes from its start.
 *
 * The address index and finalizers reach it, so it must not hold buffers for good: a buffer keeps its tensor alive, and
 * that tensor could never be collected.
 */
export class Allocation {
  /** The memory. */
  readonly block: OwnedBlock;
  /** Its host address as a number, for the index of addresses; 0 without one. */
  readonly at: number;
  /** The lends of all tensors that own this block: peers are judged together. */
  readonly lends: Ranges<Grant> = new Ranges();
  /** The grants of those tensors: a use of these bytes waits for the work of them all. */
  readonly roots: Ranges<Grant> = new Ranges();
  /** Those of them that have work in flight, and their parts, as far as was seen; kept where there are several roots. */
  readonly busy: Ranges<Grant> = new Ranges();
  /** Its buffers; set when the first is handed out. */
  views: Views | undefined;
  /** The number of buffers handed out and not revoked. */
  liveViews = 0;
  /** True once a view was found moved away. */
  escaped = false;
  /** True once a tensor was collected before its views were revoked: they may have been moved away. */
  unseen = false;
  /** The number of tensors and frames that own these bytes. */
  peers = 0;
  /** True if work on any byte is work on all, as with managed memory that host and device use in turns. */
  indivisible = false;
  #failures: readonly KeptFailure[] = NONE;
  #attachments: WeakMap<object, unknown> | undefined;
  #ends: ((fate: Fate) => void)[] | undefined;
  readonly #owner: BlockOwner;
  #isFreed = false;

  /** Takes the block over, and frees it when the last peer leaves. */
  constructor(block: Block);
  /** Takes a part of an object over, and has that freed when the last peer leaves. */
  constructor(block: OwnedBlock, owner: BlockOwner);
  constructor(block: OwnedBlock, owner: BlockOwner = block as Block) {
    this.block = block;
    this.at = block.address === undefined ? 0 : asNumber(block.address);
    this.#owner = owner;
    ledger.add(block.kind);
  }

  /** Adds a peer. */
  join(): void {
    this.peers++;
  }

  /** Adds a peer that leaves when `undo` runs. */
  joinUntil(undo: Undo): this {
    this.join();
    undo.push(() => this.leave());
    return this;
  }

  /** Removes a peer; the last one frees the memory. */
  leave(): void {
    if (--this.peers > 0) return;
    for (const { failure } of this.#failures) this.#warnOf(failure);
    this.free();
  }

  /**
   * Frees the memory: it has no owner left; or what it is made of ends, and tensors that own it still have it by
   * objects of their own. Only the first call does.
   */
  free(): void {
    if (this.#isFreed) return;
    this.#isFreed = true;
    const fate: Fate = this.escaped ? "escaped" : this.liveViews > 0 ? "unknown" : "unused";
    ledger.remove(this.block.kind);
    if (fate !== "unused") ledger.quarantine(keptLengthOf(this.block));
    const ends = this.#ends;
    if (ends === undefined) this.#owner.free(fate);
    else undoAll([() => this.#owner.free(fate), ...ends.map((end) => () => end(fate))], "freeing memory");
  }

  /** Calls `end` before the bytes are freed, whatever their fate. */
  beforeFree(end: (fate: Fate) => void): void {
    (this.#ends ??= []).push(end);
  }

  /** A view cannot be revoked; `how` says why. The bytes can never be freed. */
  markEscaped(how: string): void {
    if (this.escaped) return;
    this.escaped = true;
    warn(
      `a view of ${keptLengthOf(this.block)} bytes (${this.block.kind}) ${how}; ` +
        "its memory is kept for good. Copy the bytes instead, or use tensor.lend().",
    );
  }

  /** Keeps a failure until {@link takeFailure} asks for these bytes; warns of it if no peer is left to ask. */
  keepFailure(start: number, end: number, failure: Failure): void {
    if (this.peers === 0) this.#warnOf(failure);
    else this.#failures = [...this.#failures, { start, end, failure }];
  }

  /** Takes the oldest failure kept on any of these bytes. */
  takeFailure(start: number, end: number): Failure | undefined {
    if (this.#failures.length === 0) return undefined;
    const taken = this.#failures.find(({ failure, ...at }) => !failure.reported && at.start < end && start < at.end)
      ?.failure;
    if (taken !== undefined) taken.reported = true;
    this.#failures = this.#failures.filter(({ failure }) => !failure.reported);
    return taken;
  }

  /** The native objects of one context over these bytes, made on first use. */
  attachment<T>(context: object, make: () => T): T {
    const attachments = this.#attachments ??= new WeakMap();
    let kept = attachments.get(context) as T | undefined;
    if (kept === undefined) attachments.set(context, kept = make());
    return kept;
  }

  /** The same, if it was made. */
  findAttachment<T>(context: object): T | undefined {
    return this.#attachments?.get(context) as T | undefined;
  }

  #warnOf(failure: Failure): void {
    if (!failure.reported) warn(`work on memory without an owner failed: ${messageOf(failure.error)}`);
    failure.reported = true;
  }
}

function keptLengthOf({ keptLength, byteLength }: OwnedBlock): number {
  return keptLength ?? byteLength;
}
