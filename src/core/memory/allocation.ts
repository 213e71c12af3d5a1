import { messageOf } from "../errors.ts";
import type { Grant } from "./grant.ts";
import { ledger } from "../life/ledger.ts";
import { Ranges } from "./ranges.ts";
import type { Views } from "./view.ts";
import { warn } from "../warn.ts";

/**
 * Whether a block may be given back: `"unused"` (no view of it is left), `"escaped"` (somebody moved a view away, and
 * may be using it), `"unknown"` (its tensor was collected while views had not been revoked: they may have been moved).
 */
export type Fate = "unused" | "escaped" | "unknown";

/** Why the CPU may not use memory by its address alone, and what to do instead. */
export interface Closed {
  /** Why. */
  readonly reason: string;
  /** What to do instead. */
  readonly remedy: string;
}

/** How an allocation's memory is given back. */
export interface Block {
  /** What the ledger counts it as: `"host.block"`. */
  readonly kind: string;
  /** The host address of its first byte, where it has one. */
  readonly address?: bigint;
  /** Its length in bytes. */
  readonly byteLength: number;
  /** Set where it has an address that the CPU may not use as it is: `host.wrap` refuses it. */
  readonly closed?: Closed;
  /** Gives the memory back, or what is safe of it. Called once. */
  free(fate: Fate): void;
}

/** A failure that came too late to be thrown; kept on all bytes that it concerns, told once. */
export interface Failure {
  /** What was thrown. */
  readonly error: unknown;
  /** True once somebody was told. */
  told: boolean;
}

interface KeptFailure {
  readonly start: number;
  readonly end: number;
  readonly failure: Failure;
}

const NONE: readonly KeptFailure[] = [];
const NO_ENDS: readonly (() => void)[] = [];

/**
 * One block of memory as law 3 knows it: what is lent of it, which views of it exist, who shares it.
 *
 * Ranges are counted in bytes from its start. It is reached from the address index and from finalizers, so it holds
 * no buffer for good: a view keeps its tensor alive, and what is held here could never be collected.
 */
export class Allocation {
  /** The memory, and the way to give it back. */
  readonly block: Block;
  /** What is lent directly of this block, by whichever of its tensors: peers are judged together. */
  readonly lends: Ranges<Grant> = new Ranges();
  /** The grants of those tensors: whoever uses these bytes waits for what any of them has in flight. */
  readonly roots: Ranges<Grant> = new Ranges();
  /** These buffers; set when the first is handed out. */
  views: Views | undefined;
  /** How many buffers over these bytes have been handed out and not been revoked. */
  liveViews = 0;
  /** Set once a tracked view was found to have been moved away. */
  escaped = false;
  /** How many tensors own these bytes. */
  peers = 0;
  /** Is work on any byte work on all of them? So it is with managed memory that host and device use in turns. */
  indivisible = false;
  #failures: readonly KeptFailure[] = NONE;
  #attachments: WeakMap<object, unknown> | undefined;
  #ends: readonly (() => void)[] = NO_ENDS;

  /** Takes the block over: it is freed when the last peer leaves. */
  constructor(block: Block) {
    this.block = block;
    ledger.add(block.kind);
  }

  /** One more tensor owns these bytes. */
  join(): void {
    this.peers++;
  }

  /** One less; the last one gives the memory back. */
  leave(): void {
    if (--this.peers > 0) return;
    for (const { failure } of this.#failures) this.#warnOf(failure);
    const fate: Fate = this.escaped ? "escaped" : this.liveViews > 0 ? "unknown" : "unused";
    ledger.remove(this.block.kind);
    if (fate !== "unused") ledger.quarantine(this.block.byteLength);
    for (const end of this.#ends) end();
    this.block.free(fate);
  }

  /** What is to be forgotten with these bytes: called, whatever their fate, before the last peer gives them back. */
  beforeFree(end: () => void): void {
    this.#ends = [...this.#ends, end];
  }

  /** A view was found that cannot be revoked, and why: its bytes can never be given back. */
  markEscaped(how: string): void {
    if (this.escaped) return;
    this.escaped = true;
    warn(
      `a view of ${this.block.byteLength} bytes (${this.block.kind}) ${how}; ` +
        "its memory is kept for good. Copy the bytes instead, or use tensor.lend().",
    );
  }

  /** Keeps a failure until {@link takeFailure} is asked about these bytes; where nobody is left to ask, warns of it. */
  keepFailure(start: number, end: number, failure: Failure): void {
    if (this.peers === 0) this.#warnOf(failure);
    else this.#failures = [...this.#failures, { start, end, failure }];
  }

  /** Hands out, once, the oldest failure kept on any of these bytes. */
  takeFailure(start: number, end: number): Failure | undefined {
    if (this.#failures.length === 0) return undefined;
    const taken = this.#failures.find(({ failure, ...at }) => !failure.told && at.start < end && start < at.end)
      ?.failure;
    if (taken !== undefined) taken.told = true;
    this.#failures = this.#failures.filter(({ failure }) => !failure.told);
    return taken;
  }

  /** What one context keeps about these bytes (its live native objects over them), made on first use. */
  attachment<T>(context: object, make: () => T): T {
    const attachments = this.#attachments ??= new WeakMap();
    let kept = attachments.get(context) as T | undefined;
    if (kept === undefined) attachments.set(context, kept = make());
    return kept;
  }

  /** The same, only looked up. */
  findAttachment<T>(context: object): T | undefined {
    return this.#attachments?.get(context) as T | undefined;
  }

  #warnOf(failure: Failure): void {
    if (!failure.told) warn(`work on memory that nobody has any more failed: ${messageOf(failure.error)}`);
    failure.told = true;
  }
}
