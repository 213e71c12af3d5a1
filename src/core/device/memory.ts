import type { Refusal } from "../errors.ts";
import type { DeviceId, Target } from "../graph/context.ts";
import type { Verdict } from "../graph/plan.ts";
import type { Transfer } from "../graph/route.ts";
import type { Access } from "../memory/access.ts";
import type { ByteRange, Described } from "../tensors/described.ts";
import type { Tensor, TensorInit } from "../tensors/tensor.ts";
import type { Call } from "./driver.ts";
import type { Line } from "./line.ts";
import type { MemoryKind, Port } from "./port.ts";

/** One way in or out of a kind of memory. Data, and an experiment where only that can tell. */
export interface Offer {
  /** What crosses. */
  readonly kind: MemoryKind;
  /** The device that it holds for; any, where it is left out. */
  readonly device?: DeviceId;
  /** What happens to the bytes on this side: nothing (`"alias"`), unless it says something else. */
  readonly transfer?: Transfer;
  /** Finds out, once, whether the device uses these bytes in place. A failure means "not proven". */
  prove?(range: ByteRange): void;
  /** What came of that. Left out where `transfer` says it all. */
  judge?(range: ByteRange): Verdict;
}

/** What one side of a map holds meanwhile, and the commands by which the bytes come and go. */
export interface Crossing {
  /** Releases what is held. The work on it is over, and the bytes have gone back. */
  release?(): void;
  /** The command that brings the bytes, where they have to be brought. */
  bring?(): Call;
  /** The commands that take them back, as those of {@link GiveBack}; asked for where something may have been written. */
  takeBack?(step: number): Call | undefined;
}

/** Memory on its way out of one kind. */
export interface Exported extends Crossing {
  /** What the other side imports. */
  readonly port: Port;
}

/** The same memory in another kind. */
export interface Imported<H = unknown> extends Crossing {
  /** What its tensors are made with. */
  readonly handle: H;
}

/**
 * What one kind of memory gives to other kinds and takes from them. Mechanism only: it checks nothing, lends nothing and
 * records nothing. `graph.map` has an edge wherever one kind exports what the other imports.
 */
// deno-lint-ignore no-explicit-any -- each kind has its own handles
export interface Memory<T extends Tensor = Tensor, H = any> {
  /** What it exports, the best first. */
  readonly exports: readonly Offer[];
  /** What it imports. */
  readonly imports: readonly Offer[];
  /** The line of the commands by which bytes come and go; undefined where there are none, as on the host. */
  readonly line?: Line;
  /** Why it takes or gives nothing of this kind just now. No native call. */
  refuse?(source: Described, access: Access): Omit<Refusal, "edge"> | undefined;
  /** A port to so many bytes, from the tensor's first on. `access` is what the other side does with them. */
  export?(tensor: T, kind: MemoryKind, byteLength: number, access: Access): Exported;
  /** Memory over a port's bytes. It takes the port's fd, where there is one. */
  import?(port: Port, access: Access): Imported<H>;
  /** New memory of its own, zeroed. `address` is where the CPU sees it. */
  allocate?(byteLength: number): { readonly handle: H; readonly address?: bigint; release(): void };
  /** A tensor of this kind, of memory that was imported or allocated. */
  tensor?(init: TensorInit<H>): T;
}

/** A target with ports: the graph makes edges of them. */
export interface MemoryTarget<T extends Tensor = Tensor> extends Target<T> {
  /** What it gives to other kinds of memory, and what it takes from them. */
  readonly ports: Memory<T>;
}

/** The ports of a target, where it has any. */
export function portsOf(target: Target): Memory | undefined {
  return (target as Partial<MemoryTarget>).ports;
}
