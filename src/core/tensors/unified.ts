import type { Address } from "../../../ffi/address.ts";
import { type Names, object } from "../argument.ts";
import type { Checks } from "../checks.ts";
import type { Arrays, Call, Memory, Offer, Staged } from "../contract.ts";
import { Port } from "../device/port.ts";
import { MemoryClass, type Proofs, UNPROVEN, unseen, verdictOf } from "../device/proofs.ts";
import type { Line } from "../device/line.ts";
import type { Direction } from "../device/queue.ts";
import type { Reason } from "../errors.ts";
import type { Context } from "../graph/context.ts";
import { SAME_ADDRESS, whyEnded } from "../graph/mapper.ts";
import type { DType } from "../layout/dtype.ts";
import { type Layout, LAYOUT_NAMES, layoutIn, type LayoutInit, powerOfTwo } from "../layout/layout.ts";
import { Allocation, type Closed, closedToHost, COPY_INSTEAD } from "../memory/allocation.ts";
import { mapBlock, PAGE } from "../native/blocks.ts";
import { bytesAt, pinned } from "../native/pin.ts";
import { adoptTensor, attaching, type AttachOptions } from "./adopt.ts";
import type { ByteRange } from "./described.ts";
import { type PointerBlock, PointerMemory, type PointerTensor } from "./pointer.ts";
import type { TensorInit } from "./tensor.ts";

/** `"host"`: the device reaches host memory. `"device"`: the host cannot reach it. `"shared"`: the driver moves it. */
export type UsmKind = "host" | "device" | "shared";

export const USM_KINDS: { readonly [K in UsmKind]: true } = { host: true, device: true, shared: true };

/** Options of `usm.allocate()`, in every API that has unified shared memory. */
export interface UsmAllocation<D extends DType = DType> extends LayoutInit<D> {
  /** Where it lies. */
  readonly kind: UsmKind;
  /** The alignment of the address in bytes, a power of two; the driver's choice by default. */
  readonly align?: number;
}

const NAMES: Names<UsmAllocation & Layout> = { ...LAYOUT_NAMES, kind: true, align: true };

/** A block of unified shared memory. */
export interface UnifiedBlock extends PointerBlock {
  /** Where it lies. */
  readonly usm: UsmKind;
  /** The native context that it belongs to. @see Home */
  readonly owner: unknown;
}

/** What blocks of a native context have in common, in whichever API's name: two APIs may share one context. */
export interface Home {
  /** The blocks' kind. */
  readonly kind: string;
  /** The native context: its handle, or an object that stands for it. */
  readonly owner: unknown;
}

/** What a driver reports of an address. */
export interface PointerFacts {
  /** The address of the first byte of its block. */
  readonly base: Address;
  /** The length of the block in bytes. */
  readonly byteLength: number;
  /** Where it lies. */
  readonly usm: UsmKind;
}

/** A context that has such memory. */
export interface UnifiedContext extends Context {
  /** Its queue. */
  readonly queue: { readonly line: Line };
  /** What is proven of its devices. */
  // deno-lint-ignore no-explicit-any -- each API has its own experiments
  readonly proofs: Pick<Proofs<any>, "judge" | "tryToProve">;
}

/**
 * Unified shared memory of one context, as a target. An API says how it allocates and copies, and how it finds out what
 * an address is.
 */
export abstract class UnifiedMemory<T extends PointerTensor, C extends UnifiedContext = UnifiedContext>
  extends PointerMemory<T, C> {
  /** The checks of the API's arguments. */
  protected abstract readonly checks: Checks;
  /** The native function that reports where an address lies. */
  protected abstract readonly finder: string;
  /** What its blocks are known by. For mappers. */
  abstract readonly home: Home;
  /** True if host and device take turns in the experiment: what fails it then is not shared, and no driver moves it. */
  readonly takesTurns: boolean = true;
  readonly #turns = { host: this.#classOf("host"), shared: this.#classOf("shared") };

  /**
   * Allocates unified shared memory, not initialised.
   *
   * @throws {LayoutError} for a wrong shape, dtype, stride or alignment, or more than the device takes in one piece.
   * @throws {ArgumentError} if the device lacks it, or this kind of it.
   * @throws {NativeCallError} if there is too little memory.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * if (cl.usm.available) {
   *   using samples = cl.usm.allocate({ kind: "shared", shape: [1024], dtype: "f32" });
   *   console.log(samples.handle % 4n); // 0n
   * }
   * ```
   */
  allocate(init: UsmAllocation): T {
    const { kind, align } = object(init, "init");
    this.checks.nameIn(kind, USM_KINDS, "kind");
    this.assertHas(kind);
    const multiple = align === undefined ? 0 : powerOfTwo(align, "align");
    const at = layoutIn(init, NAMES);
    this.context.resource?.assertLive();
    return this.own(this.newBlock(kind, at.byteOffset + at.byteLength, multiple), at);
  }

  /**
   * A tensor over memory that other code allocated in this context. The driver reports where it begins and ends, and of
   * which kind it is.
   *
   * @param pointer the address that the layout counts from, anywhere in the allocation
   * @throws {ArgumentError} if the driver does not know the address, or knows it as memory of another device.
   * @throws {LayoutError} if the layout ends behind the allocation.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * if (cl.usm.available) {
   *   using samples = cl.usm.allocate({ kind: "host", shape: [1024], dtype: "f32" });
   *   using half = cl.usm.attach(samples.handle, { shape: [512], dtype: "f32" });
   *   console.log(half.handle === samples.handle); // true
   * }
   * ```
   */
  attach(pointer: bigint, init: LayoutInit, options: AttachOptions = {}): T {
    return attaching(options, (access) => {
      const handle = this.checks.handleIn<Address>(pointer, "pointer");
      const at = layoutIn(init, LAYOUT_NAMES);
      this.context.resource?.assertLive();
      const found = this.find(handle, at.byteOffset + at.byteLength);
      if (found === undefined) {
        throw this.checks.wrong("pointer", `it is not unified memory of ${this.context.name}.`, undefined, this.finder);
      }
      const { base, byteLength, usm } = found;
      const start = Number(handle - base);
      this.checks.assertWithin({ byteOffset: start + at.byteOffset, byteLength: at.byteLength }, byteLength, "init");
      const block = { ...this.about(usm), address: base, byteLength };
      return adoptTensor<T>(this, { handle, release() {} }, { handle, layout: at, block, start }, { access });
    });
  }

  /** Whether an address is memory of this context, as its driver reports. For mappers. */
  has(address: bigint): boolean {
    return this.context.resource?.isLive !== false && this.find(address as Address, 1) !== undefined;
  }

  /** The block of an allocation of its native context; undefined for other memory. For mappers. */
  blockOf({ block }: Allocation): UnifiedBlock | undefined {
    const { kind, owner } = this.home;
    return block.kind === kind && (block as UnifiedBlock).owner === owner ? block as UnifiedBlock : undefined;
  }

  /** Keeps the native context until the result is called: its memory may outlive the program's context. For mappers. */
  abstract hold(): () => void;

  /** The class of memory that the host reaches. For mappers. */
  // deno-lint-ignore no-explicit-any -- each API has its own experiments
  classOf(kind: Exclude<UsmKind, "device">): MemoryClass<any> {
    return this.#turns[kind];
  }

  /** A command that copies bytes. For mappers. */
  abstract copyCall(to: Address, from: Address, byteLength: number, blocks: boolean): Call;

  /** Throws an ArgumentError if the device has no memory of a kind. */
  protected abstract assertHas(kind: UsmKind): void;

  /** A new block. `align` is a power of two, or 0 for the driver's choice. */
  protected abstract newBlock(kind: UsmKind, byteLength: number, align: number): UnifiedBlock;

  /** What every block of a kind has in this context. */
  protected about(kind: UsmKind): Omit<UnifiedBlock, "address" | "byteLength" | "free"> {
    return { ...this.home, usm: kind, ...closedTo(kind, this.context) };
  }

  /**
   * What the driver reports of an address; undefined if it does not know it as memory of this context. One that reports no
   * length has to know the last of `reach` bytes as well.
   */
  protected abstract find(pointer: Address, reach: number): PointerFacts | undefined;

  #classOf(kind: Exclude<UsmKind, "device">): MemoryClass<UnifiedContext> {
    const name = `${kind} memory, unified`;
    return new MemoryClass(name, ({ api }, undo) => {
      const block = this.newBlock(kind, SAMPLE, 0);
      new Allocation(block).joinUntil(undo);
      const host = bytesAt(block.address, SAMPLE, api, undo);
      const missed = unseen({
        name: "the host",
        write: (bytes) => host.set(bytes),
        read: (into) => into.set(host),
      }, {
        name: this.context.name,
        write: (bytes) => moveBytes(this, block.address, bytes, "write"),
        read: (into) => moveBytes(this, block.address, into, "read"),
      }, SAMPLE);
      return verdictOf(missed, name);
    });
  }
}

/** Copies JavaScript's bytes to or from an address, for experiments: they do not count, and are over when it returns. */
function moveBytes(usm: UnifiedMemory<PointerTensor>, address: Address, bytes: Uint8Array, direction: Direction): void {
  const { api, queue: { line } } = usm.context;
  pinned(bytes, api, (host) => {
    const [to, from] = direction === "read" ? [host, address] : [address, host];
    line.submitRaw(usm.copyCall(to, from, bytes.length, true)).waitSync();
  });
}

/** The bytes of an experiment. */
const SAMPLE = 4096;

/** Why the CPU cannot reach device memory, as a block says it; nothing for memory of another kind. */
export function closedTo(kind: UsmKind, { name }: { readonly name: string }): { closed?: Closed } {
  return kind === "device" ? { closed: closedToHost(name) } : {};
}

const FAR = "memory of the device, which the CPU cannot reach";

/** The ports that an API's unified memory has besides: what it shares by fds. */
export type OtherPorts<T extends PointerTensor> = Partial<
  Pick<Memory<T, Address>, "exports" | "imports" | "export" | "import">
>;

/**
 * Host and shared memory by its address; device memory by a copy.
 *
 * @param also the API's own ports: what it shares by fds
 * @param peer the kind of memory that is the same where its context is over the same native one
 */
export function unifiedPorts<T extends PointerTensor>(
  usm: UnifiedMemory<T>,
  tensor: (init: TensorInit<Address>) => T,
  also: OtherPorts<T> = {},
  peer?: string,
): Memory<T, Address> {
  const { context } = usm;
  const { exports = [], imports = [], export: exportOther, import: importOther } = also;
  const refuseOther = ({ allocation }: ByteRange) =>
    usm.blockOf(allocation) === undefined ? { reason: `it is not memory of ${context.name}.` } : undefined;
  const refuseFar = ({ allocation }: ByteRange) =>
    usm.blockOf(allocation) === undefined
      ? { reason: `it is memory of another native context than that of ${context.name}.`, remedy: OPEN_ON }
      : undefined;
  /** Only for memory that is not refused. */
  const classOf = ({ allocation }: ByteRange) => {
    const { usm: kind } = usm.blockOf(allocation)!;
    return usm.classOf(kind as Exclude<UsmKind, "device">);
  };
  const byAddress: Offer = {
    kind: "host-view",
    refuse: (range) => refuseOther(range) ?? refuseHost(usm, usm.blockOf(range.allocation)!),
    prepare: (range) => context.proofs.tryToProve(classOf(range)),
    judge: (range) => context.proofs.judge(classOf(range)),
  };
  const byCopy: Offer = {
    kind: "host-view",
    transfer: "copy",
    refuse: refuseOther,
    judge: ({ allocation }) => ({ aliases: false, evidence: whyCopied(usm, usm.blockOf(allocation)!) }),
    stage: (tensor, byteLength) => staged(usm, (tensor as PointerTensor).address, byteLength),
  };
  const toPeer: Offer = { kind: POINTER, refuse: refuseOther, verdict: SAME_ADDRESS };
  const fromPeer = (from: string): Offer => ({ kind: POINTER, from, refuse: refuseFar, verdict: SAME_ADDRESS });
  return {
    denseCopy: "queue.copy(tensor, usm.allocate({ kind, shape, dtype }))",
    exports: [byAddress, byCopy, ...exports, ...peer === undefined ? [] : [toPeer]],
    imports: [...imports, ...peer === undefined ? [] : [fromPeer(peer)]],
    get line() {
      return context.queue.line;
    },
    refuse: () => whyEnded(context),
    tensor,
    copies: {
      write: (tensor, bytes) => moveBytes(usm, tensor.address, bytes, "write"),
      read: (tensor, into) => moveBytes(usm, tensor.address, into, "read"),
    },
    export: (tensor, kind, byteLength, access, gaps) =>
      kind === "host-view" || kind === POINTER
        ? { port: new Port(kind, { value: tensor.address, byteLength }) }
        : exportOther!(tensor, kind, byteLength, access, gaps),
    import: (port, access, of) =>
      port.kind === POINTER ? { handle: port.value as Address } : importOther!(port, access, of),
  };
}

/** An address that device code of one native context may use. */
const POINTER = "usm-pointer";

const OPEN_ON = "Open the second context on the first: SyclContext.open({ on: cl }).";

/** Why the host does not use a block in place. */
function refuseHost(usm: UnifiedMemory<PointerTensor>, block: UnifiedBlock): Reason | undefined {
  if (block.usm === "device") return { reason: `it is ${FAR}.` };
  const verdict = usm.context.proofs.judge(usm.classOf(block.usm));
  if (!usm.takesTurns || verdict === UNPROVEN || verdict.aliases) return undefined;
  return { reason: `${verdict.evidence}: they do not share it.`, remedy: COPY_INSTEAD };
}

/** What a copy for the host has as its evidence. */
function whyCopied(usm: UnifiedMemory<PointerTensor>, { usm: kind }: UnifiedBlock): string {
  return kind === "device" ? FAR : usm.context.proofs.judge(usm.classOf(kind)).evidence;
}

function staged(usm: UnifiedMemory<PointerTensor>, address: Address, byteLength: number): Staged {
  const block = mapBlock({ byteLength, align: PAGE, sharable: false, guard: false });
  return {
    block,
    there: () => usm.copyCall(block.address, address, byteLength, true),
    back: () => usm.copyCall(address, block.address, byteLength, false),
  };
}

/** Arrays by their addresses in such memory. Only the driver knows which native context an address belongs to. */
export function usmArrays<T extends PointerTensor>(usm: UnifiedMemory<T>): Arrays {
  return {
    ordinal: 0,
    placeOf(tensor) {
      if (tensor.target !== usm) return undefined;
      return { handle: (tensor as T).address, byteOffset: 0, memory: "unified" };
    },
    attach: ({ handle, byteOffset }, init, options) => usm.attach(handle + BigInt(byteOffset), init, options),
    hasUnified: (address) => usm.has(address),
  };
}
