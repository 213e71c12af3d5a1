import {
  cudaMemAttachGlobal,
  cudaMemAttachHost,
  cudaMemAttachSingle,
  cudaStreamLegacy,
} from "../../../ffi/cuda_runtime/constants.ts";
import type { Address } from "../../../ffi/address.ts";
import { isMade, literal, type Names, object, optionsIn } from "../../core/argument.ts";
import { type Layout, LAYOUT_NAMES, layoutIn, type LayoutInit } from "../../core/layout/layout.ts";
import { checks } from "../check.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { checkDriver } from "../errors.ts";
import { cudart, newerDriver } from "../library.ts";
import { CudaStream, type CudaStreamContext } from "../stream.ts";
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
import { type ManagedTurns, turnsOf } from "./managed_turns.ts";
import { CudaMemory } from "./memory.ts";
import { assertAllowed } from "./rules.ts";

/** The users of managed memory: all streams, only the host, or one stream. */
export type ManagedAttachment = "global" | "host" | "single";

/** Options of {@link CudaManaged.allocate}. */
export interface ManagedAllocation extends LayoutInit {
  /** Its first users; `"global"` by default. */
  readonly attach?: "global" | "host";
}

const NAMES: Names<ManagedAllocation & Layout> = { ...LAYOUT_NAMES, attach: true };

/** Options of {@link CudaManaged.advise}. */
export interface AdviseOptions {
  /** The processor that the advice is about: the context's device by default. Ignored for `"read-mostly"`. */
  readonly location?: ManagedPlace;
  /** True to withdraw the advice. False by default. */
  readonly unset?: boolean;
}

const OPTIONS: Names<AdviseOptions> = { location: true, unset: true };

const ATTACH: { readonly [A in ManagedAttachment]: number } = {
  global: cudaMemAttachGlobal,
  host: cudaMemAttachHost,
  single: cudaMemAttachSingle,
};

/**
 * Managed ("unified") memory. Host and devices use one address, and the driver moves the pages to their current user.
 *
 * Without concurrentManagedAccess the process crashes if the CPU touches it while a device runs anything. So commands revoke
 * the host's views, and new views wait for the commands. An isolate does not see the work of others: on such a device, use
 * managed memory only in the isolate that submits the device's work.
 */
export class CudaManaged extends CudaMemory {
  /** The kind of memory. */
  readonly kind = "cuda.managed";
  /** Its context. */
  declare readonly context: CudaStreamContext;
  /** The turns of host and device, on a device without concurrentManagedAccess. */
  readonly turns: ManagedTurns | undefined;

  /** Made by the context. */
  constructor(context: CudaStreamContext) {
    super(context);
    this.turns = turnsOf(context.device);
  }

  /**
   * Allocates managed memory (cudaMallocManaged), which the system zeroes.
   *
   * @throws {ArgumentError} if the device has no managed memory (managedMemory is 0).
   * @throws {NativeCallError} if memory runs out.
   */
  allocate(init: ManagedAllocation): CudaTensor {
    const { attach = "global" } = object(init, "init");
    if (attach !== "global" && attach !== "host") {
      throw checks.wrong("attach", `expected "global" or "host", got ${literal(attach)}.`);
    }
    assertAllowed("managed", "kernel-write", this.context.device, "device");
    const at = layoutIn(init, NAMES);
    this.context.resource.assertLive();
    const tensor = this.own(managedBlock(this.context, at.byteOffset + at.byteLength, attach), at);
    this.turns?.track(tensor.grant.allocation, attach);
    return tensor;
  }

  /**
   * Sets the users of a whole block, in a stream's order (cudaStreamAttachMemAsync). This is a hint on systems that move
   * memory at each launch; without concurrentManagedAccess it allows the other side to use the block.
   *
   * @param to the users; `"single"` is `stream`, which is required then
   * @throws {ArgumentError} unless `tensor` is a managed tensor that owns its block.
   * @throws {AccessError} if its bytes are lent; without concurrentManagedAccess, if any bytes of its block are.
   */
  attach(tensor: CudaTensor, to: ManagedAttachment, stream?: CudaStream): void {
    if (typeof to !== "string" || !Object.hasOwn(ATTACH, to)) {
      throw checks.wrong("to", `expected "global", "host" or "single", got ${literal(to)}.`);
    }
    if (to === "single" && stream === undefined) throw checks.wrong("stream", "expected the stream to attach it to.");
    const { context: { device, stream: ours } } = this;
    const order = stream ?? ours;
    this.#assertOurs(order);
    if (to === "single" && order.rawHandle === cudaStreamLegacy) {
      throw checks.wrong(
        "stream",
        "the legacy default stream stands for all streams: memory cannot be attached to it alone.",
      );
    }
    this.#assertManaged(tensor, "attach");
    const { grant: { allocation } } = tensor;
    assertAllowed("managed", "attach", device);
    if (tensor.parent !== undefined) {
      throw checks.wrong("tensor", "it is a part, and only whole blocks can be attached.");
    }
    const attachment = onStream("cudaStreamAttachMemAsync", (handle) => {
      if (to !== "host") this.turns?.takeViews(allocation);
      return cudart().cudaStreamAttachMemAsync(handle, tensor.rawHandle, 0n, ATTACH[to]);
    });
    order.line.submit([{ tensor, access: tensor.access, argument: "tensor" }], attachment);
    this.turns?.attached(allocation, to === "single" ? order.line.lane : to);
  }

  /**
   * Moves a tensor's bytes to their next user, in a stream's order (cuMemPrefetchAsync). A wrong hint only costs time.
   * Returns at once.
   *
   * @throws {ArgumentError} if a device has no concurrentManagedAccess, such as a Tegra: attach the tensor instead.
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
   * Advises the driver how a tensor's bytes will be used (cuMemAdvise): mostly read, in a preferred place, or by a remote
   * user.
   *
   * @throws {ArgumentError} if a device has no concurrentManagedAccess.
   */
  advise(tensor: CudaTensor, advice: ManagedAdvice, options: AdviseOptions = {}): void {
    const { location = "device", unset = false } = optionsIn(options, OPTIONS);
    setAdvice(this.context, tensor, advice, this.#placed(tensor, location, "advise"), unset);
  }

  /** The advice that all of a tensor's bytes have in common. */
  adviceOn(tensor: CudaTensor): ManagedHints {
    this.#assertManaged(tensor, "advise");
    tensor.resource.assertLive();
    return hintsOn(this.context, tensor);
  }

  /** The last prefetch of all of a tensor's bytes: a device's ordinal, the host, or undefined. */
  lastPrefetch(tensor: CudaTensor): number | "host" | undefined {
    return this.adviceOn(tensor).lastPrefetch;
  }

  /** Revokes the host's views of managed memory, if the device cannot run while the CPU uses them. */
  revokeViews(): void {
    this.turns?.before(this.context.stream.line.lane);
  }

  /** The context of a place that managed memory can move to. */
  #placed(tensor: CudaTensor, to: ManagedPlace, operation: "prefetch" | "advise"): CudaPrimaryContext | "host" {
    this.#assertManaged(tensor, operation);
    tensor.resource.assertLive();
    assertAllowed("managed", operation, this.context.device);
    if (to === "host") return to;
    if (to === "device") return this.context;
    const managed: unknown = (to as { readonly managed?: unknown } | null)?.managed;
    if (!(managed instanceof CudaManaged) || managed.context !== to) {
      throw checks.wrong("to", `expected "device", "host" or a CudaContext, got ${literal(to)}.`);
    }
    assertAllowed("managed", operation, to.device, "to");
    return to;
  }

  #assertOurs(stream: CudaStream): void {
    checks.assertInstance(stream, CudaStream, "stream");
    checks.assertHere(stream.context, this.context, "stream");
  }

  #assertManaged(tensor: CudaTensor, operation: "attach" | "prefetch" | "advise"): void {
    if (!isMade(tensor, CudaTensor)) throw checks.wrongKind("tensor", "a tensor of managed memory", tensor);
    if (tensor.target === this) return;
    assertAllowed(tensor.memory, operation, this.context.device);
    throw checks.wrong("tensor", "it is another context's.");
  }
}

function managedBlock(context: CudaPrimaryContext, byteLength: number, attach: "global" | "host"): CudaBlock {
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
