import type { Address } from "../../ffi/address.ts";
import * as ze from "../../ffi/levelzero/constants.ts";
import type { ZeDeviceHandle } from "../../ffi/levelzero/handles.ts";
import * as layouts from "../../ffi/levelzero/structs.ts";
import type { Checks } from "../core/checks.ts";
import type { Call, Memory } from "../core/contract.ts";
import { type PointerFacts, unifiedPorts, type UsmKind } from "../core/tensors/unified.ts";
import { UnifiedDeviceMemory, UnifiedTensor, type UnifiedTensors } from "../core/tensors/unified_device.ts";
import type { LevelZeroContext } from "./context.ts";
import { dmaBufPorts } from "./dmabuf.ts";
import { signalling } from "./lane.ts";
import { check, checks, levelZero, made } from "./library.ts";
import { struct } from "./struct.ts";

const COPY = "zeCommandListAppendMemoryCopy";
const FILL = "zeCommandListAppendMemoryFill";

const KINDS: ReadonlyMap<number, UsmKind> = new Map([
  [ze.ZE_MEMORY_TYPE_HOST, "host"],
  [ze.ZE_MEMORY_TYPE_DEVICE, "device"],
  [ze.ZE_MEMORY_TYPE_SHARED, "shared"],
]);

/** Unified shared memory of Level Zero. Made by `levelZero.usm.allocate()`; its handle is its address. */
export class LevelZeroTensor extends UnifiedTensor {
  /** The memory that it belongs to. */
  declare readonly target: LevelZeroUsm;
}

/** The target of maps, as programs name it. */
export const LEVELZERO_USM = { tensors: LevelZeroTensor, title: "levelZero.usm" } as const;

/**
 * Unified shared memory of one context: `levelZero.usm`. Device memory is exported and imported as dma-bufs if the
 * device can.
 */
export class LevelZeroUsm extends UnifiedDeviceMemory<LevelZeroTensor, LevelZeroContext> {
  /** The kind of memory. */
  override readonly kind = "levelzero.usm";
  /** The host uses host and shared memory at its own address. Device memory is copied, or shared by its dma-buf. */
  override readonly ports: Memory<LevelZeroTensor, Address>;
  /** Its tensors. For mappers. */
  override readonly tensors: UnifiedTensors<LevelZeroTensor> = LEVELZERO_USM.tensors;
  /** How programs name it. */
  override readonly title: string = LEVELZERO_USM.title;
  /** The checks of Level Zero's arguments. */
  protected override readonly checks: Checks = checks;
  /** The native function that reports where an address lies. */
  protected override readonly finder = "zeMemGetAllocProperties";
  /** The native function that allocates a kind. */
  protected override readonly allocators: Readonly<Record<UsmKind, string>> = ALLOCATORS;

  /** Made by the context. */
  constructor(context: LevelZeroContext) {
    super(context, "levelzero.usm");
    this.ports = unifiedPorts<LevelZeroTensor>(this, (init) => new LevelZeroTensor(init), dmaBufPorts(this));
  }

  /** zeCommandListAppendMemoryCopy. For mappers. */
  override copyCall(to: Address, from: Address, byteLength: number): Call {
    const length = BigInt(byteLength);
    return signalling(
      COPY,
      ({ handle, waitCount, waits }, signal) => levelZero()[COPY](handle, to, from, length, signal, waitCount, waits),
    ) as Call;
  }

  /** zeCommandListAppendMemoryFill. For mappers. */
  override fillCall(at: Address, pattern: Uint8Array<ArrayBuffer>, byteLength: number): Call {
    const [size, length] = [BigInt(pattern.length), BigInt(byteLength)];
    return signalling(
      FILL,
      ({ handle, waitCount, waits }, signal) =>
        levelZero()[FILL](handle, at, pattern, size, length, signal, waitCount, waits),
    ) as Call;
  }

  /** Calls a kind's allocator. Device memory is made exportable if the device can. */
  protected override allocateNative(kind: UsmKind, byteLength: number, align: number): Address {
    const { handle, device: { dmaBuf, handle: deviceHandle } } = this.context.native;
    const [size, multiple] = [BigInt(byteLength), BigInt(align)];
    const exported = kind === "device" && dmaBuf.exports
      ? { pNext: struct("ze_external_memory_export_desc_t", { flags: ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF }) }
      : {};
    const [host, device] = [struct("ze_host_mem_alloc_desc_t"), struct("ze_device_mem_alloc_desc_t", exported)];
    return made<Address>(ALLOCATORS[kind], (out) => {
      const { zeMemAllocHost, zeMemAllocDevice, zeMemAllocShared } = levelZero();
      if (kind === "host") return zeMemAllocHost(handle, host, size, multiple, out);
      if (kind === "device") return zeMemAllocDevice(handle, device, size, multiple, deviceHandle, out);
      return zeMemAllocShared(handle, device, host, size, multiple, deviceHandle, out);
    });
  }

  /** The driver's report on an address (zeMemGetAllocProperties, zeMemGetAddressRange). */
  protected override find(pointer: Address): PointerFacts | undefined {
    const { handle, device } = this.context.native;
    const facts = struct("ze_memory_allocation_properties_t");
    const owner = new BigUint64Array(1);
    check(levelZero().zeMemGetAllocProperties(handle, pointer, facts, owner), this.finder);
    const usm = KINDS.get(facts.number(layouts.ze_memory_allocation_properties_t.fields.type));
    if (usm === undefined) return undefined;
    if (usm !== "host" && owner[0] !== 0n && owner[0] as ZeDeviceHandle !== device.handle) return undefined;
    const [base, size] = [new BigUint64Array(1), new BigUint64Array(1)];
    check(levelZero().zeMemGetAddressRange(handle, pointer, base, size), "zeMemGetAddressRange");
    return { base: base[0] as Address, byteLength: Number(size[0]), usm };
  }
}

const ALLOCATORS = {
  host: "zeMemAllocHost",
  device: "zeMemAllocDevice",
  shared: "zeMemAllocShared",
} as const satisfies Record<UsmKind, string>;
