import type { Address } from "../../ffi/address.ts";
import { DPCTL_USM_DEVICE, DPCTL_USM_HOST, DPCTL_USM_SHARED } from "../../ffi/sycl/constants.ts";
import type { DPCTLSyclUSMRef } from "../../ffi/sycl/handles.ts";
import type { Checks } from "../core/checks.ts";
import type { Call, Memory, Offer } from "../core/contract.ts";
import { SAME_ADDRESS } from "../core/graph/mapper.ts";
import { allOrNothing, undoAll } from "../core/life/undo.ts";
import { owned } from "../core/life/ledger.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import type { ByteRange } from "../core/tensors/described.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { PointerTensor } from "../core/tensors/pointer.ts";
import type { Part } from "../core/tensors/tensor.ts";
import {
  closedTo,
  type PointerFacts,
  type UnifiedBlock,
  UnifiedMemory,
  unifiedPorts,
  type UsmKind,
} from "../core/tensors/unified.ts";
import type { SyclContext } from "./context.ts";
import { command, type SyclLane } from "./lane.ts";
import { checks, made, sycl } from "./library.ts";

const KIND = "sycl.usm";

/** A block, and the context that it belongs to, by an object that does not reach that. */
export interface SyclBlock extends UnifiedBlock {
  /** The context's. */
  readonly owner: SyclContext["raw"];
}

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
export class SyclTensor extends PointerTensor {
  /** Its target. */
  declare readonly target: SyclUsm;

  /** Where it lies; `"system"` for memory of the host's. */
  get usm(): UsmKind | "system" {
    return this.target.blockOf(this.grant.allocation)?.usm ?? "system";
  }

  /** Its address, if the host reaches it. */
  protected override get hostAddress(): bigint | undefined {
    return this.usm === "device" ? undefined : this.address;
  }

  /** A tensor over a part of its bytes. */
  protected override derive(part: Part): SyclTensor {
    return new SyclTensor(this.initOf(part));
  }
}

/**
 * Unified shared memory of one context: `sycl.usm`. Kernels get its tensors as pointers. Where the device uses all of the
 * host's memory in place (`sycl.device.usm.system`), the host's tensors are mapped to it as well.
 */
export class SyclUsm extends UnifiedMemory<SyclTensor, SyclContext> {
  /** The kind of memory. */
  override readonly kind = "sycl.usm";
  /** What it gives to the host, and takes from it. */
  override readonly ports: Memory<SyclTensor, Address>;
  /** The checks of SYCL's arguments. */
  protected override readonly checks: Checks = checks;

  /** Made by the context. */
  constructor(context: SyclContext) {
    super(context);
    const unified = unifiedPorts<SyclTensor>(this, (init) => new SyclTensor(init));
    this.ports = {
      ...unified,
      line: context.queue.line,
      exports: [...unified.exports, systemOf(this)],
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
    };
  }

  /** True for tensors of this memory. */
  override is(value: Mapped): value is SyclTensor {
    return value instanceof SyclTensor && value.target === this;
  }

  /** The block of an allocation of this context; undefined for other memory. For mappers. */
  override blockOf({ block }: Allocation): UnifiedBlock | undefined {
    return block.kind === KIND && (block as SyclBlock).owner === this.context.raw ? block as SyclBlock : undefined;
  }

  /** A command that copies bytes. For mappers. */
  override copyCall(to: Address, from: Address, byteLength: number, blocks: boolean): Call {
    return copyCall(to, from, byteLength, blocks) as Call;
  }

  /** Throws unless the device has a kind of memory: SYCL ends the process for one that it lacks. */
  protected override assertHas(kind: UsmKind): void {
    const { name, usm } = this.context.device;
    if (!usm[kind]) throw checks.wrong("kind", `${name} has no ${kind} memory.`, "sycl.device.usm says what it has.");
  }

  /** A new block, which keeps the context. */
  protected override newBlock(usm: UsmKind, byteLength: number, align: number): SyclBlock {
    const { name, maxAllocation } = this.context.device;
    const fn = ALLOCATORS[usm];
    if (byteLength > maxAllocation) {
      const what = `${byteLength} bytes are more than the ${maxAllocation} that ${name} takes in one piece.`;
      throw checks.unfit("shape", what, "Allocate it in parts.", fn);
    }
    const { queue } = this.context.queue.line.lane;
    return allOrNothing(`allocating ${usm} memory`, (undo) => {
      const { DPCTLContext_Copy, DPCTLContext_Delete, DPCTLfree_with_context } = sycl();
      const context = made(DPCTLContext_Copy(this.context.raw.context), "DPCTLContext_Copy");
      owned("sycl.context", undo, () => DPCTLContext_Delete(context));
      const memory = made(sycl()[fn](BigInt(align), BigInt(byteLength), queue), fn);
      owned("sycl.usm", undo, () => DPCTLfree_with_context(memory, context));
      return {
        ...this.about(usm),
        address: memory as bigint as Address,
        byteLength,
        // An escaped view may be used for ever: then the memory must not be freed.
        free: (fate) => fate === "unused" ? undoAll(undo, `freeing ${usm} memory`) : undefined,
      };
    });
  }

  /** What every block of a kind has in this context. */
  protected override about(usm: UsmKind): Omit<SyclBlock, "address" | "byteLength" | "free"> {
    return { kind: KIND, usm, owner: this.context.raw, ...closedTo(usm, this.context) };
  }

  /** SYCL reports neither where a block begins nor where it ends: the first byte and the last one are of one kind. */
  protected override find(pointer: Address, reach: number): PointerFacts {
    const { device, name, raw: { context } } = this.context;
    const fn = "DPCTLUSM_GetPointerType";
    const last = pointer + BigInt(Math.max(reach, 1) - 1);
    // SYCL ends the process where the device has no such memory.
    const [usm, end] = !device.usm.host && !device.usm.device && !device.usm.shared
      ? []
      : [pointer, last].map((at) => KINDS.get(sycl()[fn](at as DPCTLSyclUSMRef, context)));
    if (usm === undefined) throw checks.wrong("pointer", `it is no unified memory of ${name}.`, undefined, fn);
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
    block.kind === KIND ? { reason: `it is unified memory of ${usm.context.name}.` } : undefined;
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
