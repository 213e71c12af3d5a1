import type { Address } from "../../ffi/address.ts";
import * as ze from "../../ffi/levelzero/constants.ts";
import type { ZeDeviceHandle } from "../../ffi/levelzero/handles.ts";
import * as layouts from "../../ffi/levelzero/structs.ts";
import type { Checks } from "../core/checks.ts";
import type { Call, Memory } from "../core/contract.ts";
import { owned } from "../core/life/ledger.ts";
import { allOrNothing, undoAll } from "../core/life/undo.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import {
  closedTo,
  type PointerFacts,
  type UnifiedBlock,
  UnifiedMemory,
  unifiedPorts,
  type UsmKind,
} from "../core/tensors/unified.ts";
import type { LevelZeroContext } from "./context.ts";
import { dmaBufPorts } from "./dmabuf.ts";
import { check, made } from "./errors.ts";
import { copyCall } from "./commands.ts";
import { checks, levelZero } from "./library.ts";
import type { OpenContext } from "./open_context.ts";
import { struct } from "./struct.ts";
import { LevelZeroTensor } from "./tensor.ts";

const UNIFIED = "levelzero.usm";

/** A block of a context's. */
export interface LevelZeroBlock extends UnifiedBlock {
  /** The context that it belongs to. */
  readonly owner: OpenContext;
}

const KINDS: ReadonlyMap<number, UsmKind> = new Map([
  [ze.ZE_MEMORY_TYPE_HOST, "host"],
  [ze.ZE_MEMORY_TYPE_DEVICE, "device"],
  [ze.ZE_MEMORY_TYPE_SHARED, "shared"],
]);

/** Unified shared memory of one context: `levelZero.usm`. Device memory leaves and comes as a dma-buf, where the device can. */
export class LevelZeroUsm extends UnifiedMemory<LevelZeroTensor, LevelZeroContext> {
  /** The kind of memory. */
  override readonly kind = "levelzero.usm";
  /** The host has its own address of host and shared memory. Device memory is copied, or shared by its dma-buf. */
  override readonly ports: Memory<LevelZeroTensor, Address>;
  /** The checks of Level Zero's arguments. */
  protected override readonly checks: Checks = checks;

  /** Made by the context. */
  constructor(context: LevelZeroContext) {
    super(context);
    this.ports = unifiedPorts<LevelZeroTensor>(this, (init) => new LevelZeroTensor(init), dmaBufPorts(this));
  }

  /** True for tensors of this memory. */
  override is(value: Mapped): value is LevelZeroTensor {
    return value instanceof LevelZeroTensor && value.target === this;
  }

  /** The block of an allocation of this context; undefined for other memory. For mappers. */
  override blockOf({ block }: Allocation): LevelZeroBlock | undefined {
    return block.kind === UNIFIED && (block as LevelZeroBlock).owner === this.context.openContext
      ? block as LevelZeroBlock
      : undefined;
  }

  /** zeCommandListAppendMemoryCopy. For mappers. */
  override copyCall(to: Address, from: Address, byteLength: number): Call {
    return copyCall(to, from, byteLength);
  }

  /** Throws unless the device has a kind of memory. */
  protected override assertHas(kind: UsmKind): void {
    const { name, usm } = this.context.device;
    const reports = usm.host || usm.device || usm.shared; // of a driver that reports none, the allocator decides
    if (reports && !usm[kind]) {
      throw checks.wrong("kind", `${name} has no ${kind} memory.`, "levelZero.device.usm says what it has.");
    }
  }

  /** A new block. */
  protected override newBlock(kind: UsmKind, byteLength: number, align: number): LevelZeroBlock {
    const { name, maxAllocation } = this.context.device;
    if (maxAllocation > 0 && byteLength > maxAllocation) {
      const what = `${byteLength} bytes are more than the ${maxAllocation} that ${name} takes in one piece.`;
      throw checks.unfit("shape", what, "Allocate it in parts.", ALLOCATORS[kind].fn);
    }
    const { openContext: open } = this.context;
    return allOrNothing("allocating memory", (undo) => {
      undo.push(open.hold());
      const { fn, allocate } = ALLOCATORS[kind];
      const size = [BigInt(byteLength), BigInt(align)] as const;
      const address = made<Address>(fn, (out) => allocate(open, ...size, out));
      owned("levelzero.usm", undo, () => open.free(address));
      return {
        ...this.about(kind),
        address,
        byteLength,
        // An escaped view may be used for ever: then the memory must not be freed.
        free: (fate) => fate === "unused" ? undoAll(undo, "freeing memory") : undefined,
      };
    });
  }

  /** What every block of a kind has in this context. */
  protected override about(kind: UsmKind): Pick<LevelZeroBlock, "kind" | "usm" | "closed" | "owner"> {
    return { kind: UNIFIED, usm: kind, owner: this.context.openContext, ...closedTo(kind, this.context) };
  }

  /** What the driver reports of an address (zeMemGetAllocProperties, zeMemGetAddressRange). */
  protected override find(pointer: Address): PointerFacts {
    const { name, openContext: { handle, deviceHandle } } = this.context;
    const facts = struct("ze_memory_allocation_properties_t");
    const device = new BigUint64Array(1);
    check(levelZero().zeMemGetAllocProperties(handle, pointer, facts, device), "zeMemGetAllocProperties");
    const usm = KINDS.get(facts.number(layouts.ze_memory_allocation_properties_t.fields.type));
    if (usm === undefined) throw checks.wrong("pointer", `it is no unified memory of ${name}.`);
    if (usm !== "host" && device[0] !== 0n && device[0] as ZeDeviceHandle !== deviceHandle) {
      throw checks.wrong("pointer", `it is ${usm} memory of another device than ${name}.`);
    }
    const [base, size] = [new BigUint64Array(1), new BigUint64Array(1)];
    check(levelZero().zeMemGetAddressRange(handle, pointer, base, size), "zeMemGetAddressRange");
    return { base: base[0] as Address, byteLength: Number(size[0]), usm };
  }
}

interface Allocator {
  readonly fn: string;
  allocate(context: OpenContext, size: bigint, align: bigint, out: BigUint64Array<ArrayBuffer>): number;
}

const ALLOCATORS: { readonly [K in UsmKind]: Allocator } = {
  host: {
    fn: "zeMemAllocHost",
    allocate: ({ handle }, size, align, out) =>
      levelZero().zeMemAllocHost(handle, struct("ze_host_mem_alloc_desc_t"), size, align, out),
  },
  device: {
    fn: "zeMemAllocDevice",
    allocate: ({ handle, device, deviceHandle }, size, align, out) => {
      const exported = struct("ze_external_memory_export_desc_t", { flags: ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF });
      const desc = struct("ze_device_mem_alloc_desc_t", device.dmaBuf.exports ? { pNext: exported } : {});
      return levelZero().zeMemAllocDevice(handle, desc, size, align, deviceHandle, out);
    },
  },
  shared: {
    fn: "zeMemAllocShared",
    allocate: ({ handle, deviceHandle }, size, align, out) => {
      const [device, host] = [struct("ze_device_mem_alloc_desc_t"), struct("ze_host_mem_alloc_desc_t")];
      return levelZero().zeMemAllocShared(handle, device, host, size, align, deviceHandle, out);
    },
  },
};
