import type { Address } from "../../ffi/address.ts";
import { DPCTL_USM_DEVICE, DPCTL_USM_HOST, DPCTL_USM_SHARED } from "../../ffi/sycl/constants.ts";
import type { DPCTLSyclUSMRef } from "../../ffi/sycl/handles.ts";
import type { Checks } from "../core/checks.ts";
import type { Call, Memory, Offer } from "../core/contract.ts";
import { SAME_ADDRESS } from "../core/graph/mapper.ts";
import type { ByteRange } from "../core/tensors/described.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { Part } from "../core/tensors/tensor.ts";
import { type Home, type PointerFacts, unifiedPorts, type UsmKind } from "../core/tensors/unified.ts";
import { UnifiedDeviceMemory, UnifiedTensor } from "../core/tensors/unified_device.ts";
import type { SyclContext } from "./context.ts";
import { command, type SyclLane } from "./lane.ts";
import { checks, made, sycl } from "./library.ts";

const ALLOCATORS = {
  host: "DPCTLaligned_alloc_host",
  device: "DPCTLaligned_alloc_device",
  shared: "DPCTLaligned_alloc_shared",
} as const satisfies Record<UsmKind, string>;

const KINDS: ReadonlyMap<number, UsmKind> = new Map([
  [DPCTL_USM_HOST, "host"],
  [DPCTL_USM_DEVICE, "device"],
  [DPCTL_USM_SHARED, "shared"],
]);

/** Unified shared memory, or the host's own where the device uses that. Its handle is its address. */
export class SyclTensor extends UnifiedTensor {
  /** Its target. */
  declare readonly target: SyclUsm;

  /** A tensor over a part of its bytes. */
  protected override derive(part: Part): SyclTensor {
    return new SyclTensor(this.initOf(part));
  }
}

/**
 * Unified shared memory of one context: `sycl.usm`. Kernels get its tensors as pointers. Where the device uses all of the
 * host's memory in place (`sycl.device.usm.system`), the host's tensors are mapped to it as well.
 */
export class SyclUsm extends UnifiedDeviceMemory<SyclTensor, SyclContext> {
  /** The kind of memory. */
  override readonly kind = "sycl.usm";
  /** What it gives to the host, and takes from it. */
  override readonly ports: Memory<SyclTensor, Address>;
  /** What its blocks are known by: OpenCL's, over one of its contexts. For mappers. */
  override readonly home: Home;
  /** The checks of SYCL's arguments. */
  protected override readonly checks: Checks = checks;
  /** The native function that reports where an address lies. */
  protected override readonly finder = "DPCTLUSM_GetPointerType";
  /** The native function that allocates a kind. */
  protected override readonly allocators: Readonly<Record<UsmKind, string>> = ALLOCATORS;

  /** Made by the context. */
  constructor(context: SyclContext, home?: Home) {
    super(context);
    this.home = home ?? { kind: this.kind, owner: context.raw };
    this.ports = unifiedPorts<SyclTensor>(this, (init) => new SyclTensor(init), {
      exports: [systemOf(this)],
      imports: [{
        kind: "host-pointer",
        from: "host",
        judge: () => SAME_ADDRESS,
        refuse: () =>
          context.device.usm.system ? undefined : {
            reason: `${context.name} does not use the host's own memory in place (usm_system_allocations).`,
            remedy: 'Allocate it by sycl.usm.allocate({ kind: "host", … }), and map that to the host.',
          },
      }],
      import: ({ value }) => ({ handle: value as Address }),
    }, "opencl.usm");
  }

  /** True for tensors of this memory. */
  override is(value: Mapped): value is SyclTensor {
    return value instanceof SyclTensor && value.target === this;
  }

  /** Keeps the native context. For mappers. */
  override hold(): () => void {
    return this.context.raw.hold();
  }

  /** A command that copies bytes. For mappers. */
  override copyCall(to: Address, from: Address, byteLength: number, blocks: boolean): Call {
    return copyCall(to, from, byteLength, blocks) as Call;
  }

  /** Calls a kind's allocator. */
  protected override allocateNative(kind: UsmKind, byteLength: number, align: number): Address {
    const fn = ALLOCATORS[kind];
    const { queue } = this.context.queue.line.lane;
    return made(sycl()[fn](BigInt(align), BigInt(byteLength), queue), fn) as bigint as Address;
  }

  /** DPCTLfree_with_context. */
  protected override freeing(address: Address): () => void {
    const { raw: { context } } = this.context;
    return () => sycl().DPCTLfree_with_context(address as bigint as DPCTLSyclUSMRef, context);
  }

  /** SYCL reports neither where a block begins nor where it ends: the first byte and the last one are of one kind. */
  protected override find(pointer: Address, reach: number): PointerFacts | undefined {
    const { device, name, raw: { context } } = this.context;
    const fn = this.finder;
    const last = pointer + BigInt(Math.max(reach, 1) - 1);
    // SYCL ends the process where the device has no such memory.
    const [usm, end] = !device.usm.host && !device.usm.device && !device.usm.shared
      ? []
      : [pointer, last].map((at) => KINDS.get(sycl()[fn](at as DPCTLSyclUSMRef, context)));
    if (usm === undefined) return undefined;
    if (usm === end) return { base: pointer, byteLength: reach, usm };
    throw checks.unfit(
      "init",
      `its last byte is no ${usm} memory of ${name}: the allocation ends before.`,
      undefined,
      fn,
    );
  }
}

/** The host's own memory, mapped here before, and mapped back. */
function systemOf(usm: SyclUsm): Offer {
  const refuse = ({ allocation: { block } }: ByteRange) =>
    block.kind === usm.home.kind ? { reason: `it is unified memory of ${usm.context.name}.` } : undefined;
  return { kind: "host-view", refuse, judge: () => SAME_ADDRESS };
}

/** A command that copies bytes. */
export function copyCall(to: Address, from: Address, byteLength: number, blocks = false): Call<SyclLane> {
  return command(
    "DPCTLQueue_Memcpy",
    ({ queue }) => sycl().DPCTLQueue_Memcpy(queue, to, from, BigInt(byteLength)),
    blocks,
  );
}
