import type { Address } from "../../../ffi/address.ts";
import { elsewhere } from "../checks.ts";
import { isMade, type Maker } from "../argument.ts";
import { type Pointee, PointerParameter } from "../device/pointer.ts";
import type { ParameterPlace } from "../device/parameter.ts";
import { Shared } from "../life/shared.ts";
import { type Undo, undoAll, undone } from "../life/undo.ts";
import type { Closed, Fate } from "../memory/allocation.ts";
import type { Call } from "../contract.ts";
import type { Mapped } from "./mapped.ts";
import { PointerTensor } from "./pointer.ts";
import type { TensorInit } from "./tensor.ts";
import { type Home, type UnifiedBlock, type UnifiedContext, UnifiedMemory, type UsmKind } from "./unified.ts";

/** Unified shared memory, as an API has all of its memory; a tensor's handle is its address. For backends. */
export abstract class UnifiedTensor extends PointerTensor {
  /** Its target. */
  declare readonly target: UnifiedDeviceMemory<UnifiedTensor, UnifiedDeviceContext>;

  /** Where it lies; `"system"` for memory of the host's own. */
  get usm(): UsmKind | "system" {
    return this.target.blockOf(this.grant.allocation)?.usm ?? "system";
  }

  /** Its address, if the host reaches it. */
  protected override get hostAddress(): bigint | undefined {
    return this.usm === "device" ? undefined : this.address;
  }
}

/** What memory is allocated in, and holds: it may outlive the context of the program, which it does not reach. */
export interface NativeContext {
  /** Holds it until the result is called. */
  hold(): () => void;
  /** Frees memory that was allocated in it. */
  free(address: Address): void;
}

/** A native context with a count of its holders: it ends with the last of them. For backends. */
export class SharedContext<H> implements NativeContext {
  /** The native handle. */
  readonly handle: H;
  /** Frees memory that was allocated in it. For mappers. */
  readonly free: (address: Address) => void;
  readonly #shared: Shared;

  /** `beneath` ends it, and what it stands on. */
  constructor(handle: H, beneath: Undo, free: (address: Address) => void) {
    this.handle = handle;
    this.free = free;
    this.#shared = new Shared(() => undoAll(beneath, "releasing a native context"));
  }

  /** Holds it until the returned function is called. For mappers. */
  hold(): () => void {
    return this.#shared.hold();
  }
}

/** A block that a native context has allocated. A class, because blocks of many closures cost as much as the rest. */
class NativeBlock implements UnifiedBlock {
  readonly kind: string;
  readonly owner: unknown;
  readonly usm: UsmKind;
  readonly closed?: Closed;
  readonly address: Address;
  readonly byteLength: number;
  readonly #native: NativeContext;
  readonly #leave: () => void;

  constructor(
    { kind, owner, usm, closed }: Pick<UnifiedBlock, "kind" | "owner" | "usm" | "closed">,
    address: Address,
    byteLength: number,
    native: NativeContext,
    leave: () => void,
  ) {
    this.kind = kind;
    this.owner = owner;
    this.usm = usm;
    if (closed !== undefined) this.closed = closed;
    this.address = address;
    this.byteLength = byteLength;
    this.#native = native;
    this.#leave = leave;
  }

  free(fate: Fate): void {
    if (fate !== "unused") return; // an escaped view may be used for ever: then the memory must not be freed
    undoAll([this.#leave, () => this.#native.free(this.address)], `freeing ${this.usm} memory`);
  }
}

/** A context of one device, whose own query says which memory that has. */
export interface UnifiedDeviceContext extends UnifiedContext {
  /** Its native context. */
  readonly native: NativeContext;
  /** Its device. */
  readonly device: {
    readonly name: string;
    /** The most bytes of one allocation; 0 where the driver reports none. */
    readonly maxAllocation: number;
    readonly usm: Readonly<Record<UsmKind, boolean>>;
  };
}

/** The class of an API's tensors. */
export type UnifiedTensors<T> = Maker<T> & (new (init: TensorInit<Address>) => T);

/** Unified shared memory of one device. An API says how a kind is allocated, and freed. For backends. */
export abstract class UnifiedDeviceMemory<T extends UnifiedTensor, C extends UnifiedDeviceContext>
  extends UnifiedMemory<T, C> {
  /** Its tensors. For mappers. */
  abstract readonly tensors: UnifiedTensors<T>;
  /** How programs name it: `"sycl.usm"`. */
  abstract readonly title: string;
  /** What its blocks are known by. For mappers. */
  override readonly home: Home;
  /** The native function that allocates a kind. */
  protected abstract readonly allocators: Readonly<Record<UsmKind, string>>;

  /** `home` is another API's, over whose native context this is. */
  constructor(context: C, kind: string, home: Home = { kind, owner: context.native }) {
    super(context);
    this.home = home;
  }

  /** True for tensors of this memory. */
  override is(value: Mapped): value is T {
    return value instanceof this.tensors && value.target === this;
  }

  /** Keeps the native context. For mappers. */
  override hold(): () => void {
    return this.context.native.hold();
  }

  /** A command that fills bytes with a pattern, of which they are a multiple. For mappers. */
  abstract fillCall(at: Address, pattern: Uint8Array<ArrayBuffer>, byteLength: number): Call;

  /** Calls that function. `align` is a power of two, or 0 for the driver's choice. @throws {NativeCallError} */
  protected abstract allocateNative(kind: UsmKind, byteLength: number, align: number): Address;

  /** Throws unless the device has a kind of memory. */
  protected override assertHas(kind: UsmKind): void {
    const { name, usm } = this.context.device;
    if (usm[kind]) return;
    throw this.checks.wrong("kind", `${name} has no ${kind} memory.`, "The context's device.usm says what it has.");
  }

  /** A new block, which keeps the native context. */
  protected override newBlock(kind: UsmKind, byteLength: number, align: number): UnifiedBlock {
    const { name, maxAllocation } = this.context.device;
    if (maxAllocation > 0 && byteLength > maxAllocation) {
      const what = `${byteLength} bytes are more than the ${maxAllocation} that ${name} takes in one piece.`;
      throw this.checks.unfit("shape", what, "Allocate it in parts.", this.allocators[kind]);
    }
    const { native } = this.context;
    const leave = native.hold();
    try {
      const address = this.allocateNative(kind, byteLength, align);
      return new NativeBlock(this.about(kind), address, byteLength, native, leave); // its allocation counts it
    } catch (error) {
      throw undone(error, [leave], `allocating ${kind} memory`);
    }
  }
}

/** A kernel's pointer to such memory: its argument is a tensor of the kernel's context. For backends. */
export class UnifiedParameter<T extends UnifiedTensor, C extends UnifiedDeviceContext> extends PointerParameter<T, C> {
  protected override readonly mapping: string;
  readonly #tensors: Maker<T>;

  constructor(
    place: ParameterPlace,
    pointee: Pointee,
    { tensors, title }: Pick<UnifiedDeviceMemory<T, never>, "tensors" | "title">,
  ) {
    super(place, pointee);
    this.#tensors = tensors;
    this.mapping = `graph.map(tensor, ${title})`;
  }

  protected override tensorIn(value: unknown): T | undefined {
    return isMade(value, this.#tensors) ? value : undefined;
  }

  protected override checkPlace({ target, name }: T, _value: unknown, context: C): void {
    if (target.context === context) return;
    throw this.wrong(`${name} ${elsewhere(target.context, context)}.`, `Map it here first: ${this.mapping}.`);
  }

  protected override addressOf({ address }: T): bigint {
    return address;
  }
}
