import {
  cudaMemAttachGlobal,
  cudaMemAttachHost,
  cudaMemAttachSingle,
  cudaStreamLegacy,
} from "../../../ffi/cuda_runtime/constants.ts";
import type { Address } from "../../../ffi/address.ts";
import { isMade, type Names, object, optionsIn, shown } from "../../core/argument.ts";
import { type Layout, LAYOUT_NAMES, layoutIn, type LayoutInit } from "../../core/layout/layout.ts";
import { checks } from "../check.ts";
import type { CudaContext } from "../context.ts";
import { checkDriver } from "../errors.ts";
import { cudart, newerDriver } from "../library.ts";
import { CudaStream } from "../stream.ts";
import { onStream } from "../stream_lane.ts";
import { CudaTensor } from "../tensor.ts";
import { allocatedBy, freeDevice } from "./allocate.ts";
import type { CudaBlock } from "./block.ts";
import {
  hintsOn,
  locationOf,
  type ManagedAdvice,
  type ManagedHints,
  type ManagedPlace,
  setAdvice,
} from "./managed_advice.ts";
import { type ManagedTurns, managedTurns } from "./managed_turns.ts";
import { CudaMemory } from "./memory.ts";
import { assertAllowed } from "./rules.ts";

/** Who may use managed memory: every stream, the host alone, or one stream. */
export type ManagedAttachment = "global" | "host" | "single";

/** How managed memory is allocated. */
export interface ManagedAllocation extends LayoutInit {
  /** Who may use it to begin with; `"global"` by default. */
  readonly attach?: "global" | "host";
}

const NAMES: Names<ManagedAllocation & Layout> = { ...LAYOUT_NAMES, attach: true };

/** Options of {@link CudaManaged.advise}. */
export interface AdviseOptions {
  /** Which processor it is about: the context's device by default. For `"read-mostly"` it says nothing. */
  readonly location?: ManagedPlace;
  /** Takes the advice back. False by default. */
  readonly unset?: boolean;
}

const OPTIONS: Names<AdviseOptions> = { location: true, unset: true };

const ATTACH: { readonly [A in ManagedAttachment]: number } = {
  global: cudaMemAttachGlobal,
  host: cudaMemAttachHost,
  single: cudaMemAttachSingle,
};

/**
 * Managed ("unified") memory: host and devices call it by one address, and the driver moves it to whoever uses it.
 *
 * Without concurrentManagedAccess a touch by the CPU while a device runs anything ends the process: commands take the
 * host's views away, and new ones wait for them. What the workers of a program do, no other isolate knows: on such a device
 * use managed memory in the isolate alone that submits its work.
 */
export class CudaManaged extends CudaMemory {
  /** The kind of memory. */
  readonly kind = "cuda.managed";
  /** Who may use which block when, on a device without concurrentManagedAccess; others need no turns. */
  readonly turns: ManagedTurns | undefined;

  /** Made by the context. */
  constructor(context: CudaContext) {
    super(context);
    const { managedMemory, concurrentManagedAccess } = context.device.attributes;
    if (managedMemory === 1 && concurrentManagedAccess !== 1) {
      this.turns = managedTurns;
    }
  }

  /**
   * Allocates managed memory (cudaMallocManaged), zeroed by the system.
   *
   * @throws {ArgumentError} where the device has none (managedMemory is 0).
   * @throws {NativeCallError} where there is not enough memory.
   */
  allocate(init: ManagedAllocation): CudaTensor {
    const { attach = "global" } = object(init, "init");
    if (attach !== "global" && attach !== "host") {
      throw checks.wrong("attach", `${shown(attach)} is none.`, 'Use "global" or "host".');
    }
    assertAllowed("managed", "kernel-write", this.context.device, "device");
    const at = layoutIn(init, NAMES);
    this.context.resource.assertLive();
    const tensor = this.own(managedBlock(this.context, at.byteOffset + at.byteLength, attach), at);
    this.turns?.track(tensor.grant.allocation, attach);
    return tensor;
  }

  /**
   * Says, on a stream, who uses a whole block from there on (cudaStreamAttachMemAsync): a hint to move it, on systems that
   * move it at each launch, and on those without concurrentManagedAccess what allows the other side to use it.
   *
   * @param to `"single"` is the stream, which has to be given then
   * @throws {ArgumentError} for what is no managed tensor that owns its block.
   * @throws {AccessError} where its bytes are lent; without concurrentManagedAccess, where any of its block are.
   */
  attach(tensor: CudaTensor, to: ManagedAttachment, stream?: CudaStream): void {
    if (typeof to !== "string" || !Object.hasOwn(ATTACH, to)) {
      throw checks.wrong("to", `${shown(to)} is none.`, 'Use "global", "host" or "single".');
    }
    if (to === "single" && stream === undefined) throw checks.wrong("stream", "which one is it to be attached to?");
    const { context: { device, stream: ours } } = this;
    const order = stream ?? ours;
    this.#assertOurs(order);
    if (to === "single" && order.rawHandle === cudaStreamLegacy) {
      throw checks.wrong("stream", "the default stream is all streams: memory cannot be attached to it alone.");
    }
    this.#assertManaged(tensor, "attach");
    const { grant: { allocation } } = tensor;
    assertAllowed("managed", "attach", device);
    if (tensor.parent !== undefined) throw checks.wrong("tensor", "it is a part: a block is attached as a whole.");
    const attachment = onStream("cudaStreamAttachMemAsync", (handle) => {
      if (to !== "host") this.turns?.takeViews(allocation);
      return cudart().cudaStreamAttachMemAsync(handle, tensor.rawHandle, 0n, ATTACH[to]);
    });
    order.line.submit([{ tensor, access: tensor.access, argument: "tensor" }], attachment);
    this.turns?.attached(allocation, to === "single" ? order.line.lane : to);
  }

  /**
   * Moves a tensor's bytes, in the order of a stream, to who is about to use them (cuMemPrefetchAsync): a hint that costs
   * nothing but time where it is wrong. Returns.
   *
   * @throws {ArgumentError} where a device has no concurrentManagedAccess (as no Tegra has): attach it instead.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * using tensor = cuda.managed.allocate({ shape: [1 << 20], dtype: "f32" });
   * cuda.managed.prefetch(tensor, "device");
   * cuda.stream.finish();
   * console.log(cuda.managed.lastPrefetch(tensor)); // 0
   * ```
   */
  prefetch(tensor: CudaTensor, to: ManagedPlace, stream: CudaStream = this.context.stream): void {
    const location = locationOf(this.#placed(tensor, to, "prefetch"));
    this.#assertOurs(stream);
    const prefetched = newerDriver("cuMemPrefetchAsync_v2");
    const { address, layout: { byteLength } } = tensor;
    const call = onStream("cuMemPrefetchAsync", (handle) => {
      checkDriver(prefetched(address, BigInt(byteLength), location, 0, handle as never), "cuMemPrefetchAsync");
      return 0;
    });
    stream.submit([{ tensor, access: "read", argument: "tensor" }], call);
  }

  /**
   * Tells the driver how a tensor's bytes will be used (cuMemAdvise), from now on and at once: that they are mostly read,
   * where they had best lie, or who will use them from afar.
   *
   * @throws {ArgumentError} where a device has no concurrentManagedAccess.
   */
  advise(tensor: CudaTensor, advice: ManagedAdvice, options: AdviseOptions = {}): void {
    const { location = "device", unset = false } = optionsIn(options, OPTIONS);
    setAdvice(this.context, tensor, advice, this.#placed(tensor, location, "advise"), unset);
  }

  /** What a tensor's bytes were advised: all of them alike. */
  adviceOn(tensor: CudaTensor): ManagedHints {
    this.#assertManaged(tensor, "advise");
    tensor.resource.assertLive();
    return hintsOn(this.context, tensor);
  }

  /** Where all of a tensor's bytes were last asked to move: a device's ordinal, the host, or nowhere in particular. */
  lastPrefetch(tensor: CudaTensor): number | "host" | undefined {
    return this.adviceOn(tensor).lastPrefetch;
  }

  /** Takes the host's views of managed memory away where the device cannot run anything beside them; elsewhere nothing. */
  revokeViews(): void {
    this.turns?.before(this.context.stream.line.lane);
  }

  /** The context of a place, where managed memory may move there. */
  #placed(tensor: CudaTensor, to: ManagedPlace, operation: "prefetch" | "advise"): CudaContext | "host" {
    this.#assertManaged(tensor, operation);
    tensor.resource.assertLive();
    assertAllowed("managed", operation, this.context.device);
    if (to === "host") return to;
    if (to === "device") return this.context;
    const managed: unknown = (to as Partial<CudaContext> | null)?.managed;
    if (!(managed instanceof CudaManaged) || managed.context !== to) {
      throw checks.wrong("to", `${shown(to)} is none.`, 'Use "device", "host" or a CudaContext.');
    }
    assertAllowed("managed", operation, to.device, "to");
    return to;
  }

  #assertOurs(stream: CudaStream): void {
    checks.assertInstance(stream, CudaStream, "stream");
    if (stream.context !== this.context) throw checks.wrong("stream", "it is another context's.");
  }

  #assertManaged(tensor: CudaTensor, operation: "attach" | "prefetch" | "advise"): void {
    if (!isMade(tensor, CudaTensor)) throw checks.wrongKind("tensor", "a tensor of managed memory", tensor);
    if (tensor.target === this) return;
    assertAllowed(tensor.memory, operation, this.context.device);
    throw checks.wrong("tensor", "it is another context's.");
  }
}

function managedBlock(context: CudaContext, byteLength: number, attach: "global" | "host"): CudaBlock {
  const address: Address = allocatedBy(
    context,
    "cudaMallocManaged",
    (out) => cudart().cudaMallocManaged(out, BigInt(byteLength), ATTACH[attach]),
  );
  return {
    kind: "cuda.managed",
    memory: "managed",
    address,
    deviceAddress: address,
    hostAddress: address,
    byteLength,
    ordinal: context.device.ordinal,
    flags: [attach === "host" ? "cudaMemAttachHost" : "cudaMemAttachGlobal"],
    free: freeDevice(context, address),
  };
}
