import type { Address } from "../../ffi/address.ts";
import { DPCTL_USM_DEVICE, DPCTL_USM_HOST, DPCTL_USM_SHARED } from "../../ffi/sycl/constants.ts";
import type { Sycl } from "../../ffi/sycl/functions.ts";
import type { DPCTLSyclEventRef, DPCTLSyclQueueRef, DPCTLSyclUSMRef } from "../../ffi/sycl/handles.ts";
import type { Checks } from "../core/checks.ts";
import type { Call, Memory, Offer } from "../core/contract.ts";
import { SAME_ADDRESS } from "../core/graph/mapper.ts";
import type { ByteRange } from "../core/tensors/described.ts";
import { type Home, type PointerFacts, unifiedPorts, type UsmKind } from "../core/tensors/unified.ts";
import { UnifiedDeviceMemory, UnifiedTensor, type UnifiedTensors } from "../core/tensors/unified_device.ts";
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

/** Unified shared memory, or host memory that the device uses in place. Its handle is its address. */
export class SyclTensor extends UnifiedTensor {
  /** The memory that it belongs to. */
  declare readonly target: SyclUsm;
}

/** The target of maps, as programs name it. */
export const SYCL_USM = { tensors: SyclTensor, title: "sycl.usm" } as const;

/**
 * Unified shared memory of one context: `sycl.usm`. Kernels get its tensors as pointers. If the device uses all host
 * memory in place (`sycl.device.usm.system`), host tensors can be mapped to it as well.
 */
export class SyclUsm extends UnifiedDeviceMemory<SyclTensor, SyclContext> {
  /** The kind of memory. */
  override readonly kind = "sycl.usm";
  /** Exports unified memory to the host at its own address, and imports host memory if the device uses that in place. */
  override readonly ports: Memory<SyclTensor, Address>;
  /** Its tensors. For mappers. */
  override readonly tensors: UnifiedTensors<SyclTensor> = SYCL_USM.tensors;
  /** How programs name it. */
  override readonly title: string = SYCL_USM.title;
  /** The checks of SYCL's arguments. */
  protected override readonly checks: Checks = checks;
  /** The native function that reports where an address lies. */
  protected override readonly finder = "DPCTLUSM_GetPointerType";
  /** The native function that allocates a kind. */
  protected override readonly allocators: Readonly<Record<UsmKind, string>> = ALLOCATORS;

  /** Made by the context. */
  constructor(context: SyclContext, home?: Home) {
    super(context, "sycl.usm", home);
    this.ports = unifiedPorts<SyclTensor>(this, (init) => new SyclTensor(init), {
      exports: [systemOf(this)],
      imports: [{
        kind: "host-pointer",
        from: "host",
        verdict: SAME_ADDRESS,
        refuse: () =>
          context.device.usm.system ? undefined : {
            reason: `${context.name} does not use the host's own memory in place (usm_system_allocations).`,
            remedy: 'Allocate it by sycl.usm.allocate({ kind: "host", … }), and map that to the host.',
          },
      }],
      import: ({ value }) => ({ handle: value as Address }),
    }, "opencl.usm");
  }

  /** DPCTLQueue_Memcpy. For mappers. */
  override copyCall(to: Address, from: Address, byteLength: number, blocks: boolean): Call {
    const submit = ({ handle }: SyclLane) => sycl().DPCTLQueue_Memcpy(handle, to, from, BigInt(byteLength));
    return command("DPCTLQueue_Memcpy", submit, blocks) as Call;
  }

  /** DPCTLQueue_Fill8 to …128, by the pattern's size, which has to divide the address too. For mappers. */
  override fillCall(at: Address, pattern: Uint8Array<ArrayBuffer>, byteLength: number): Call {
    const size = pattern.length;
    const filler = FILLERS.get(size);
    if (filler === undefined) {
      throw checks.wrong("value", `SYCL fills with 1, 2, 4, 8 or 16 bytes, got ${size}.`);
    }
    const [fn, valueOf] = filler;
    if (at % BigInt(size) !== 0n) {
      throw checks.unfit("to", `a row does not begin at a multiple of the pattern's ${size} bytes.`, undefined, fn);
    }
    const [value, count] = [valueOf(new DataView(pattern.buffer)), BigInt(byteLength / size)];
    return command(fn, ({ handle }) => (sycl()[fn] as Fill)(handle, at, value, count)) as Call;
  }

  /** Calls a kind's allocator. */
  protected override allocateNative(kind: UsmKind, byteLength: number, align: number): Address {
    const fn = ALLOCATORS[kind];
    const { handle } = this.context.queue.line.lane;
    return made(sycl()[fn](BigInt(align), BigInt(byteLength), handle), fn) as bigint as Address;
  }

  /** Checks the first and the last byte, because SYCL does not report where a block begins or ends. */
  protected override find(pointer: Address, reach: number): PointerFacts | undefined {
    const { device, name, native: { handle } } = this.context;
    const fn = this.finder;
    const last = pointer + BigInt(Math.max(reach, 1) - 1);
    // SYCL would end the process if the device has no such memory.
    const [usm, end] = !device.usm.host && !device.usm.device && !device.usm.shared
      ? []
      : [pointer, last].map((at) => KINDS.get(sycl()[fn](at as DPCTLSyclUSMRef, handle)));
    if (usm === undefined) return undefined;
    if (usm === end) return { base: pointer, byteLength: reach, usm };
    const what = `its last byte is not ${usm} memory of ${name}: the allocation ends before.`;
    throw checks.unfit("init", what, undefined, fn);
  }
}

/** The offer to the host of host memory that was mapped here. */
function systemOf(usm: SyclUsm): Offer {
  const refuse = ({ allocation: { block } }: ByteRange) =>
    block.kind === usm.home.kind ? { reason: `it is unified memory of ${usm.context.name}.` } : undefined;
  return { kind: "host-view", refuse, verdict: SAME_ADDRESS };
}

type Pattern = number | bigint | Uint8Array<ArrayBuffer>;
type Fill = (queue: DPCTLSyclQueueRef, at: Address, pattern: Pattern, count: bigint) => DPCTLSyclEventRef;

/** By the pattern's size: the function that fills with it, and the pattern as that function takes it. */
const FILLERS: ReadonlyMap<number, readonly [keyof Sycl & `DPCTLQueue_Fill${number}`, (at: DataView) => Pattern]> =
  new Map([
    [1, ["DPCTLQueue_Fill8", (at) => at.getUint8(0)]],
    [2, ["DPCTLQueue_Fill16", (at) => at.getUint16(0, true)]],
    [4, ["DPCTLQueue_Fill32", (at) => at.getUint32(0, true)]],
    [8, ["DPCTLQueue_Fill64", (at) => at.getBigUint64(0, true)]],
    [16, ["DPCTLQueue_Fill128", ({ buffer }) => new Uint8Array(buffer as ArrayBuffer)]],
  ]);
