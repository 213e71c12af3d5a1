import type { InteropError, Refusal } from "../errors.ts";
import type { DeviceId } from "./device_id.ts";
import type { Target } from "../graph/context.ts";
import type { Transfer } from "../graph/route.ts";
import type { Access } from "../memory/access.ts";
import type { Allocation, Block } from "../memory/allocation.ts";
import type { ByteRange, Described } from "../tensors/described.ts";
import type { GiveBack } from "../life/resource.ts";
import type { Undo } from "../life/undo.ts";
import type { Tensor, TensorInit } from "../tensors/tensor.ts";
import type { Call } from "./driver.ts";
import type { Images } from "./image_port.ts";
import type { Line } from "./line.ts";
import type { MemoryKind, Port } from "./port.ts";
import type { Verdict } from "./proofs.ts";
import type { Takes } from "./takes.ts";

/** A class of memory, of which all or none crosses in place: an experiment on a sample shows which. */
export interface SampleClass<T extends Tensor = Tensor> {
  /** What its memory has in common: `"device memory by its fd"`. */
  readonly name: string;
  /** Makes a sample of so many bytes, which the experiment maps to the other API; its dispose goes on the undo list. */
  make(byteLength: number, undo: Undo): T;
}

/** One way in or out of a kind of memory: of ranges of bytes, or of images. */
export interface Offer<What = ByteRange> {
  /** The kind of the port. */
  readonly kind: MemoryKind;
  /** The device it is for; any device if left out. */
  readonly device?: DeviceId;
  /** An import: the one kind of memory that it takes; any kind if left out. */
  readonly from?: string;
  /**
   * An import by fds: what they have to allow, whatever the map is for. A driver on the CPU maps what it imports, for
   * reading and writing. Left out, the map's own access is enough.
   */
  readonly fdAccess?: Access | undefined;
  /** How the bytes cross on this side; `"alias"` if left out. */
  readonly transfer?: Transfer;
  /** An import: true if its commands block this thread while a promise holds up their line. The host waits for it then. */
  readonly blocks?: boolean;
  /**
   * An import: true if its first command waits on the device for all that the exporter's line was given before, as
   * cudaGraphicsMapResources does for OpenGL's.
   */
  readonly orders?: boolean;
  /** Which layouts it takes; all if left out. The core refuses others, before {@link Offer.refuse} is asked. */
  readonly takes?: Takes;
  /** Why no bytes can go this way on this machine. The first call may ask the kernel; the result is kept. */
  closed?(): Omit<Refusal, "edge"> | undefined;
  /** Why this memory cannot go this way; it may go another. No native call. */
  refuse?(what: What): Omit<Refusal, "edge"> | undefined;
  /**
   * An import: what `import` would throw of a port that has just come from another process, where another kind of memory may
   * take it. It may ask the kernel.
   */
  refusePort?(port: Port): InteropError | undefined;
  /**
   * An export: the class of these bytes, if an experiment has to show that the importing API uses them in place. Both sides
   * write to a sample by turns, and read, by their `copies`. No native call.
   */
  sample?(what: What): SampleClass;
  /**
   * Finds out, once, what `refuse` and `judge` have to know of this memory: whether the CPU can map it, or by an experiment
   * whether the device uses it in place ({@link Proofs.tryToProve}). Not called for memory that is refused already.
   */
  prepare?(what: What): void;
  /** The verdict on this memory; leave it out if `transfer` says enough. No native call. */
  judge?(what: What): Verdict;
  /**
   * An export of bytes that the CPU cannot see: makes host memory for a copy of the tensor's first `byteLength` bytes. The
   * graph calls it instead of `export`. It allows, counts and submits the copies, lends the copy, and frees it. Nothing in
   * the result may reach the tensor, because the map keeps it.
   */
  stage?(tensor: Tensor, byteLength: number): Staged;
}

/** Host memory for a copy of bytes that the CPU cannot see. */
export interface Staged {
  /** The memory. The graph frees it. */
  readonly block: Block & { readonly address: bigint };
  /** The command that copies the bytes there. */
  there(): Call;
  /** The command that copies them back. */
  back(): Call;
}

/** What one side of a map holds while it lasts, and its commands: those that hand the memory over, and that move bytes. */
export interface Crossing {
  /** Releases what it holds. The work is over, and the bytes are back. */
  release?(): void;
  /** The first command on this side, whatever the access: an acquire, a barrier to another queue family. */
  begin?(): Call | undefined;
  /** The last one, after all work: a release. */
  end?(): Call | undefined;
  /** The command that brings the bytes, if they have to be brought. */
  bring?(): Call;
  /** The commands that take them back, one per step as in {@link GiveBack}; only after a possible write. */
  takeBack?(step: number): Call | undefined;
  /** True if `takeBack` has at most one command, and `end` is left out: see {@link GiveBack}. */
  readonly once?: boolean;
  /**
   * The commands that hand the memory back, whatever the access, in place of `end` and `takeBack`. If the map fails,
   * `release` hands it back.
   */
  readonly giveBack?: GiveBack;
}

/** Memory on its way out of one kind. */
export interface Exported extends Crossing {
  /** The port that the other side imports. */
  readonly port: Port;
}

/** A native object that may come again under another handle, as a dma-buf does under another fd. */
export interface KnownObject {
  /** The handle's name space, because handles of different kinds may be equal. For an fd, the kind of its port. */
  readonly kind: string;
  /** The handle: no other object of its kind that is alive has it. For an fd, device and inode: {@link FileStatus}. */
  readonly handle: bigint;
  /** Its length in bytes. */
  readonly byteLength: number;
  /** Where the port's bytes begin in it. */
  readonly start: number;
}

/** The same memory in another kind. */
export interface Imported<H = unknown> extends Crossing {
  /** The handle that its tensors are made with. */
  readonly handle: H;
  /** The host address of the port's first byte, if the CPU sees the memory. */
  readonly address?: bigint;
  /** The block that the bytes lie in, if the API distinguishes blocks by itself: one that it knew, or a new one. */
  readonly allocation?: Allocation;
  /** Where the port begins in that block; 0 if left out. */
  readonly start?: number;
  /**
   * The object that the bytes are a part of, where the handle is the whole object: tensors count from its beginning, and
   * bringing the object again finds the same allocation.
   */
  readonly object?: KnownObject;
}

/**
 * The ports of one kind of memory. Mechanism only: it checks nothing, lends nothing and records nothing. `graph.map` has
 * an edge wherever one kind exports a port that the other imports.
 */
// deno-lint-ignore no-explicit-any -- each kind has its own handles
export interface Memory<T extends Tensor = Tensor, H = any> {
  /** Its exports, the best first. */
  readonly exports: readonly Offer[];
  /** Its imports. */
  readonly imports: readonly Offer[];
  /** Its images, where they are more than bytes: pixels in an order of the driver's, planes in several blocks. */
  readonly images?: Images<H>;
  /** The line of the commands that move bytes; the host has none. */
  readonly line?: Line;
  /** Why it cannot map this source now. Makes no native call. */
  refuse?(source: Described, access: Access): Omit<Refusal, "edge"> | undefined;
  /**
   * A port to the tensor's first `byteLength` bytes, for an access by the other side. `gaps`: there are bytes between its
   * elements, which have to come back as they are.
   */
  export?(tensor: T, kind: MemoryKind, byteLength: number, access: Access, gaps: boolean): Exported;
  /**
   * Memory over a port's bytes. Takes the port's fd, if it has one. `of` is the block that they are a part of, if it is of
   * this process: the port's offset counts from it, and an import of all of it may be kept until it is freed
   * ({@link Imports}). A dma-buf may show a part of a block, and comes without.
   */
  import?(port: Port, access: Access, of?: Allocation): Imported<H>;
  /**
   * Copies all bytes of a tensor by the API's own commands, and blocks: for experiments on memory that crosses. The tensor
   * may be lent. Not counted.
   */
  readonly copies?: {
    write(tensor: T, bytes: Uint8Array): void;
    read(tensor: T, into: Uint8Array): void;
  };
  /** New zeroed memory of its own. `address` is its host address, if it has one. */
  allocate?(byteLength: number): { readonly handle: H; readonly address?: bigint; release(): void };
  /** A tensor over imported or allocated memory. */
  tensor?(init: TensorInit<H>): T;
}

/** A target with ports, from which the graph makes edges. */
export interface MemoryTarget<T extends Tensor = Tensor> extends Target<T> {
  /** Its ports to and from other kinds of memory. */
  readonly ports: Memory<T>;
}

export function portsOf(target: Target): Memory | undefined {
  return (target as Partial<MemoryTarget>).ports;
}
