/**
 * What an API implements: work, memory, images, and a queue's commands, in the order in which a backend is written. It is
 * mechanism only. The core checks arguments, liveness and access, waits, revokes views and keeps the records; nothing here
 * runs code of the program. Each member that may be left out says what holds without it.
 *
 * @module
 */
import type { Checks } from "./checks.ts";
import type { DeviceId } from "./device/device_id.ts";
import type { Fence, Gate } from "./device/fence.ts";
import type { ImageBlock, ImagePlane, ImagePort, KnownObject, MemoryKind, Port, SyncKind } from "./device/port.ts";
import type { Line, Usable, Use } from "./device/line.ts";
import type { FillValue } from "./device/pattern.ts";
import type { SampleClass, Verdict } from "./device/proofs.ts";
import type { Direction, HostBytes, Movable, Pixels } from "./device/queue.ts";
import type { Takes } from "./device/takes.ts";
import type { InteropError, Reason } from "./errors.ts";
import type { Target } from "./graph/context.ts";
import type { Transfer } from "./graph/route.ts";
import type { ImageInfo, PixelFormat } from "./layout/frame_info.ts";
import type { Layout, LayoutInit } from "./layout/layout.ts";
import type { Runs } from "./layout/runs.ts";
import type { GiveBack } from "./life/resource.ts";
import type { Access } from "./memory/access.ts";
import type { Allocation, Block } from "./memory/allocation.ts";
import type { AttachOptions } from "./tensors/adopt.ts";
import type { ByteRange, Described, PlacedPlane } from "./tensors/described.ts";
import type { Frame } from "./tensors/frame.ts";
import type { Mapped } from "./tensors/mapped.ts";
import type { Tensor, TensorInit } from "./tensors/tensor.ts";

// Work

/** One context or device of an API. */
export interface Driver<L = unknown> {
  /** The API, as errors name it. */
  readonly api: string;
  /** The error for a code other than 0. */
  error(code: number, fn: string): Error;
  /** Its in-order work. */
  readonly lines: Lines<L>;
  /** A command that only marks a point of the line. Left out, `queue.waitFor()` blocks the host. */
  marker?(): Call<L>;
}

/** One native call, as a line makes it. */
export interface Call<L = unknown> {
  /** The native function's name, for errors. */
  readonly fn: string;
  /** True if the call blocks until its work is done: it is refused behind an unsettled gate. */
  readonly blocks?: boolean;
  /** True if a failed call may have submitted work: it is recorded even then. */
  readonly partial?: boolean;
  /** Set if it submits commands that the lane does not see. A marker before and one behind it; `finish` blocks if that fails. */
  readonly opaque?: { finish(): void };
  /** Makes the call; returns its code, 0 for success, or throws. */
  call(lane: L): number;
}

/** In-order work. A lane is the driver's side of a line (a queue, a stream); a mark is how many commands were submitted. */
export interface Lines<L = unknown> {
  /** Releases the lane. All its work is over. @throws failures that were not reported yet. */
  close(lane: L): void;
  /** The driver accepted a call as `mark`, with the pending waits. Does not throw: `poll` or `close` reports failures. */
  submitted(lane: L, mark: number, fn: string): void;
  /** The driver refused a call: drops the pending device waits. Left out where there are none. */
  refused?(lane: L): void;
  /** Asks whether `mark` is over, without blocking; flushes if it must. Returns the newest mark known to be over. */
  poll(lane: L, mark: number): number;
  /** `poll` without a command to the device where it can be spared, for callers that ask again. Left out, it is `poll`. */
  glance?(lane: L, mark: number): number;
  /** Blocks this thread until `mark` is over. May return early: the core polls, and blocks again. */
  block(lane: L, mark: number): void;
  /** One nonblocking native call that ends at about the time `mark` is over. */
  waitElsewhere(lane: L, mark: number): Promise<void>;
  /** False if `waitElsewhere` takes no thread. Left out, the core bounds how many are in flight. */
  readonly takesThread?: false;
  /**
   * The same for an end in the background, which nothing awaits: it does not keep the process alive. For what other code
   * holds, and may hold for good. Left out, the process waits.
   */
  waitAside?(lane: L): Promise<void>;
  /** The next command waits for a mark of another lane of this driver. False, or left out, the host waits. */
  waitOnDevice?(lane: L, of: L, mark: number): boolean;
  /** Keeps what other lanes wait for on the device, past `close`, until the result is called. Left out where the API does. */
  keep?(lane: L): () => void;
  /** The next command waits for a gate, and fails if the gate does. False, or left out, the host waits. */
  waitOnHost?(lane: L, gate: Gate): boolean;
  /** Called as the line's end begins: fails the commands that still wait for gates. Left out where none can. */
  abandon?(lane: L): void;
  /** The unsettled gate that `mark` stands for, which no native call ends. Left out where no mark is a gate. */
  gate?(lane: L, mark: number): Gate | undefined;
  /** Marks and semaphores as file descriptors. Left out, the host waits between this driver and others. */
  readonly sync?: Sync<L>;
}

/** What a driver reports to the line of a lane. */
export interface LineEvents {
  /** The command at `mark` failed. `lost`: every later command fails too. */
  failed(mark: number, error: unknown, lost?: boolean): void;
}

/** Synchronization with other drivers. `I` is an imported sync file or semaphore, as the driver knows it. */
// deno-lint-ignore no-explicit-any -- each driver has its own
export interface Sync<L = unknown, I = any> {
  /** The kinds in which a lane exports its own marks, the best first. */
  readonly exports: readonly SyncKind[];
  /** The kinds it imports. */
  readonly imports: readonly SyncKind[];
  /** Why a lane does not take a kind that its driver imports, from another one's lane; every kind is taken if left out. */
  refuses?(lane: L, kind: SyncKind, from: unknown): string | undefined;
  /** The lane's device. Semaphores are made by a maker on the device of one of the two lanes; left out, by none here. */
  device?(lane: L): DeviceId;
  /**
   * Signals `mark` natively, flushes, and returns a port; for a timeline that the importer knows, one without an fd.
   * Undefined where the mark is over.
   */
  export?(lane: L, mark: number, kind: SyncKind, known: boolean): Port<SyncKind> | undefined;
  /** Takes the port's fd. A semaphore is kept for later waits and signals; a sync file is released after one wait. */
  import(port: Port<SyncKind>, lane: L): I;
  /** The next command waits for the import: a timeline reaches `value`, any other is signalled. */
  wait(lane: L, imported: I, value: bigint): void;
  /**
   * The same for several, by a command of its own. `isForeign`: other code signals, so the command may never end. Left out,
   * `wait` belongs to the next command.
   */
  waiting?(imported: readonly I[], values: readonly bigint[], isForeign?: boolean): Call<L>;
  /**
   * A command, handed to the device at once, that signals imported semaphores. Left out where no foreign one can be, else
   * `waiting` is there too.
   */
  signal?(imported: readonly I[], values: readonly bigint[], isForeign?: boolean): Call<L>;
  /** Releases an import, which no command uses. */
  release(imported: I): void;
}

// Memory

/** A target with ports, from which the graph makes edges. */
export interface MemoryTarget<T extends Tensor = Tensor> extends Target<T> {
  /** Its ports to and from other kinds of memory. */
  readonly ports: Memory<T>;
}

/** The ports of one kind of memory: `graph.map` has an edge wherever one kind exports a port that the other imports. */
// deno-lint-ignore no-explicit-any -- each kind has its own handles
export interface Memory<T extends Tensor = Tensor, H = any> {
  /** Its exports, the best first. */
  readonly exports: readonly Offer[];
  /** Its imports. */
  readonly imports: readonly Offer[];
  /** True where an object of it is one plane: a frame is mapped plane by plane. */
  readonly byPlane?: boolean;
  /** Its images, where they are more than bytes: pixels in the driver's own order, planes in several blocks. */
  readonly images?: Images<H>;
  /** The call that copies a tensor of it to new memory without gaps, for messages. Omitted if the API has no such call. */
  readonly denseCopy?: string;
  /** The line of the commands that move bytes. Left out by the host, which needs none. */
  readonly line?: Line;
  /** Why it cannot map this source now, without a native call. Left out, the offers decide. */
  refuse?(source: Described, access: Access): Reason | undefined;
  /**
   * A port to the first `byteLength` bytes, for the other side's access. `gaps` is true if some bytes must not change.
   */
  export?(tensor: T, kind: MemoryKind, byteLength: number, access: Access, gaps: boolean): Exported;
  /**
   * Memory over a port's bytes; takes its fd. `of` is the block of this process that they are a part of: the port's offset
   * counts from it, and an import of all of it may be kept until it is freed. A dma-buf comes without.
   */
  import?(port: Port, access: Access, of?: Allocation): Imported<H>;
  /** Copies all bytes by the API's own commands, blocking, even while they are lent: for experiments ({@link Offer.sample}). */
  readonly copies?: {
    write(tensor: T, bytes: Uint8Array): void;
    read(tensor: T, into: Uint8Array): void;
  };
  /** New zeroed memory of its own, for `allocateTensor`; `address` is its host address, if it has one. */
  allocate?(byteLength: number): { readonly handle: H; readonly address?: bigint; release(): void };
  /**
   * A tensor over imported or allocated memory. A plane of a frame has a `PlacedPlane` as its `init.resource`: one whose objects
   * have to end with it calls `ownResource`.
   */
  tensor?(init: TensorInit<H>): T;
  /**
   * The host address of the first element of such a tensor; undefined where the CPU does not see it. Where this is, `tensor`
   * makes no native object of a frame's plane and never fails: a frame makes its planes when they are first asked for, and
   * the core exports `"host-pointer"` by itself; it imports that, too, where there is no line: the address is the handle.
   */
  addressOf?(plane: PlacedPlane<H>): bigint | undefined;
}

/** A port that a kind of memory exports or imports, for bytes or for images. `refuse` and `judge` make no native call. */
export interface Offer<What = ByteRange> {
  /** The kind of the port. */
  readonly kind: MemoryKind;
  /** The device it is for; any device if left out. */
  readonly device?: DeviceId;
  /** An import: the one kind of memory that it takes; any kind if left out. */
  readonly from?: string;
  /** An import by fds: what they have to allow, whatever the map is for; the map's own access if left out. */
  readonly fdAccess?: Access | undefined;
  /** An export: true if the driver chooses address and pitches as it exports ({@link Exported.shown}). */
  readonly places?: boolean;
  /** How the bytes cross on this side; `"alias"` if left out. A `"copy"` that is not a stage counts its own bytes. */
  readonly transfer?: Transfer;
  /** An import: true if its commands block this thread while a promise holds up their line. The host waits for it then. */
  readonly blocks?: boolean;
  /** An import: true if its first command waits on the device for all that the exporter's line was given before. */
  readonly orders?: boolean;
  /** Which layouts it takes; all if left out. */
  readonly takes?: Takes;
  /** Why this machine has no such port. The first call may ask the kernel; the core keeps what it returns. */
  closed?(): Reason | undefined;
  /** Why the port does not take this memory, though it takes other memory. Left out, `takes` says it all. */
  refuse?(what: What): Reason | undefined;
  /** An import: what `import` would throw of a port of another process. It may ask the kernel. Left out, nothing. */
  refusePort?(port: Port): InteropError | undefined;
  /** An export: the class of these bytes, if an experiment by both sides' `copies` has to show that they cross in place. */
  sample?(what: What): SampleClass;
  /** Finds out, once and by native calls, what `refuse` and `judge` have to know; not for memory that is refused already. */
  prepare?(what: What): void;
  /** The verdict on this memory, where it is not the same for all; {@link verdict} if left out. */
  judge?(what: What): Verdict;
  /** The verdict on all memory; `transfer` if left out. */
  readonly verdict?: Verdict;
  /**
   * An export of bytes that the CPU cannot see, in place of `Memory.export`: host memory for a copy of the first `byteLength`
   * bytes, which the core makes and lends. Nothing in the result may reach the tensor, because the map keeps it.
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

/** One side of a step: what it holds while the map lasts, and its commands. Those that are left out are not needed. */
export interface StepSide {
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
  /** Hands the memory back, whatever the access, in place of `end` and `takeBack`. `release` does it where a map fails. */
  readonly giveBack?: GiveBack;
}

/** The exporter's side of a step, with the port to its memory or image. */
export interface Exported<P extends Port | ImagePort = Port> extends StepSide {
  /** The port that the other side imports. */
  readonly port: P;
  /** Where a driver shows each plane, in a block of its own choice that begins at the port. Left out, where it lay. */
  readonly shown?: { readonly block: Block; readonly layouts: readonly Layout[] };
}

/** The importer's side of a step: the same memory in another kind. */
export interface Imported<H = unknown> extends StepSide {
  /** The handle that its tensors are made with. */
  readonly handle: H;
  /** The host address of the port's first byte; left out where the CPU does not see it. */
  readonly address?: bigint;
  /** The block that the bytes lie in, where the API knows blocks itself: one that it knew, or a new one. */
  readonly allocation?: Allocation;
  /** Where the port begins in that block; 0 if left out. */
  readonly start?: number;
  /** For handles without an offset (an fd, a name): the object whose part the bytes are. Tensors count from its beginning. */
  readonly object?: KnownObject;
}

// Images

/** The image ports of one kind of memory. They take a frame as a whole, whether its planes lie in one block or several. */
export interface Images<H = unknown> {
  /** Its exports, the best first. */
  readonly exports: readonly Offer<Described>[];
  /** Its imports. */
  readonly imports: readonly Offer<Described>[];
  /** True where an image has one plane, as a target: frames are refused, unless there is `forPlane`. */
  readonly onePlane?: boolean;
  /** The images for a frame's plane `i`: this target for the first. Where this is, a frame is mapped plane by plane. */
  forPlane?(plane: Layout, i: number): Target | Reason;
  /** The pixels' format in its own image of one plane, where the driver knows it. */
  formatOf?(source: Described): PixelFormat | undefined;
  /** Why it cannot map this image now, without a native call. `format`: what the source's driver says of its pixels. */
  refuse?(source: Described, access: Access, format?: PixelFormat): Reason | undefined;
  /** A port to an image, for an access by the other side. */
  export?(source: Mapped, kind: MemoryKind, access: Access): Exported<ImagePort>;
  /**
   * The image of a port, which is the source's; an fd of a program's own comes without. It takes the fds that it uses; the
   * core closes the others.
   */
  import?(port: ImagePort, access: Access, source?: Described): ImportedImage<H>;
}

/** The importer's side of a step: the same image in another kind of memory. */
export interface ImportedImage<H = unknown> extends StepSide {
  /** What the tensor of each plane is made with. */
  readonly handles: readonly H[];
  /** The blocks of the planes, one for each object of the port. Left out where the image is one object: `release` frees it. */
  readonly blocks?: readonly ImageBlock[];
}

// Pictures by their native handles

/**
 * A context's pictures by the API's own handles, for a library that works in the same context and holds them so: the
 * hardware frames of FFmpeg's decoders and encoders.
 */
export interface Natives {
  /** The context's own handles, by names of this API's: `{ display }`, `{ device, context, queue }`. */
  handles(): Readonly<Record<string, bigint>>;
  /** A frame over the other library's picture, which keeps it until `options.owner` is called. Its fds stay its own. */
  attach(picture: NativePicture, info: ImageInfo, options: AttachOptions): Frame;
  /** What a frame of this context is. All of it, the fds too, stays the frame's. */
  pictureOf(frame: Frame): NativePicture;
  /**
   * The other library keeps the record of each object from now on: the frame's memory calls `release` for each as it ends.
   * Left out where objects have no record.
   */
  keepTurns?(frame: Frame, turns: readonly Turns[], release: () => void): void;
}

/** A picture: the objects that it lies in, and where in them its planes lie. */
export interface NativePicture {
  /** The objects, each once. */
  readonly objects: readonly PictureObject[];
  /** Where the planes lie; empty where only the driver knows. */
  readonly planes: readonly ImagePlane[];
  /** The DRM format modifier; left out where the API has none. */
  readonly modifier?: bigint;
  /** The queue on which its maker may still work on it; left out where the API finds that out by the object. */
  readonly queue?: bigint;
}

/** An object of a picture's: a surface, an image for each plane, an address, an fd. */
export interface PictureObject {
  /** Its handle. */
  readonly handle: bigint;
  /** Its length, where the API knows one. */
  readonly byteLength?: number;
  /** The handle of its memory, where that is another. */
  readonly memory?: bigint;
  /** How it is used by turns, where the API itself keeps no record of that. */
  readonly turns?: Turns;
}

/**
 * The record of an object that a context and another library use by turns: a command waits for the semaphore's value, and
 * signals the next. Vulkan keeps none.
 */
export interface Turns {
  /** A timeline semaphore. */
  readonly semaphore: bigint;
  /** The value that it has once the newest command is over. */
  value: bigint;
  /** How that command leaves the pixels: a `VkImageLayout`. */
  layout: number;
  /** What that command does with them: `VkAccessFlagBits`. */
  access: number;
}

// Arrays by their native handles

/** A context's tensors by the API's own handles, for libraries that name a device by a number: DLPack. */
export interface Arrays {
  /** The device's number among those of the API. */
  readonly ordinal: number;
  /** Where a tensor of this context lies. Undefined for memory of it that has no such handle. */
  placeOf(tensor: Tensor): ArrayPlace | undefined;
  /** A tensor over other code's memory. */
  attach(place: ArrayPlace, init: LayoutInit, options: AttachOptions): Tensor;
  /** Whether an address is unified shared memory of this context: no number says so. Left out where the API has none. */
  hasUnified?(address: bigint): boolean;
  /** A fence behind an event of the library's, by its handle. Left out where the API has none. */
  event?(handle: bigint): Fence;
  /** The library's stream by its handle, the same object each time. Left out where the API has none. */
  stream?(handle: bigint): ArrayStream;
  /** Calls a library with the device current on this thread, where that matters. */
  within?<T>(call: () => T): T;
}

/** Where an array lies. */
export interface ArrayPlace {
  /** An address, or the API's object. */
  readonly handle: bigint;
  /** Bytes from there to the first element. An address has none. */
  readonly byteOffset: number;
  /** What can read and write the memory: the device alone, the host too, both in turn; or unified shared memory. */
  readonly memory: "device" | "host" | "managed" | "unified";
  /**
   * True if a reference to the memory's owner is held, and the owner itself reported where it lies: then the kernel is not
   * asked whether it can be read and written. An address that a program passes may be wrong.
   */
  readonly isHeld?: boolean;
}

/** A stream of other code's. */
export interface ArrayStream {
  /** Its line here; the stream itself is other code's. */
  readonly line: Line;
  /** A fence behind all its commands so far; undefined where they are all over. */
  pending(): Fence | undefined;
  /** The same without a native call: behind those so far, and behind what comes until another line waits for it. */
  lazyFence(): Fence;
  /** Its later commands wait for these, on the device. */
  waitFor(fences: Fence | readonly Fence[]): unknown;
}

// A queue's commands

/** Native commands that move `M`, copy `C` and fill `F`. Each method checks all of its commands before it returns one. */
export interface Commands<L, M extends Movable, C extends Usable = M, F extends Usable = M> {
  /** The checks of the API's arguments. */
  readonly checks: Checks;
  /** True if bytes have moved when the native call returns. Left out, the line is waited for. */
  readonly movesAtOnce?: boolean;
  /** The use of memory. @throws {ArgumentError} for anything but memory of this API's and of this queue's context. */
  useOf(given: M | C | F, access: Access, argument: string): Use;
  /** Commands that fill elements, and leave the gaps alone. */
  fill(to: F, value: FillValue): Iterable<Call<L>>;
  /** Commands that copy elements, and leave the gaps alone. */
  copy(from: C, to: C): Iterable<Call<L>>;
  /** An image's pixels, which are read and written without gaps; undefined, or left out, for a tensor. */
  pixelsOf?(memory: M): Pixels | undefined;
  /** Commands that move all of the program's bytes, from a tensor's byte `begin` on. Each ends before the next is made. */
  move(direction: Direction, memory: M, host: HostBytes, begin: number): Iterable<Call<L>>;
  /**
   * The same for elements in rows; left out, or undefined, each row takes a command. `begins` are the first in the tensor
   * and the host.
   */
  moveRuns?(
    direction: Direction,
    memory: M,
    host: HostBytes,
    runs: Runs,
    begins: readonly number[],
  ): Iterable<Call<L>> | undefined;
}
