import { reads } from "../../core/memory/access.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { isMade, literal, type Names, object } from "../../core/argument.ts";
import { type Layout, LAYOUT_NAMES, layoutIn, type LayoutInit } from "../../core/layout/layout.ts";
import type { Memory } from "../../core/contract.ts";
import { checks } from "../check.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { virtualPorts } from "../external/ports.ts";
import { canAccess } from "../reach.ts";
import { CudaTensor } from "../tensor.ts";
import { CudaMemory } from "./memory.ts";
import { type VirtualBlock, virtualBlock, virtualBlockOf } from "./virtual/block.ts";
import { refusalOf } from "./rules.ts";
import type { CudaOperation } from "./rules/rule.ts";
import { createPhysical, importPhysical, type VirtualWish } from "./virtual/physical.ts";

/** Options of {@link CudaVirtual.import}. */
export interface VirtualImport extends LayoutInit {
  /** Contexts of other devices whose kernels will reach it too. */
  readonly devices?: readonly CudaPrimaryContext[];
}

/** Where virtual memory lies: on the device, or on the NUMA node of the host next to it. */
export type VirtualLocation = "device" | "host";

/** Options of {@link CudaVirtual.allocate}. */
export interface VirtualAllocation extends VirtualImport {
  /** Where it lies; `"device"` by default. */
  readonly location?: VirtualLocation;
  /** True if it has an fd for other APIs and processes. True by default. */
  readonly sharable?: boolean;
}

const IMPORT_NAMES: Names<VirtualImport & Layout> = { ...LAYOUT_NAMES, devices: true };
const NAMES: Names<VirtualAllocation & Layout> = { ...IMPORT_NAMES, location: true, sharable: true };

/**
 * Memory of CUDA's virtual memory management, which separates the memory, its address and its users. It can have an fd that
 * other APIs and processes import, and several devices may use it by one address.
 */
export class CudaVirtual extends CudaMemory {
  /** The kind of memory. */
  readonly kind = "cuda.virtual";
  /** Its ports: to the host, and by its fd. For mappers. */
  override readonly ports: Memory<CudaTensor> = virtualPorts(this, this.context.hostPorts);

  /**
   * Allocates virtual memory (cuMemCreate, cuMemMap, cuMemSetAccess). The length of its block is a multiple of the
   * granularity: 2 MiB on most devices.
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride.
   * @throws {ArgumentError} if the device has no such memory; the message names the attribute.
   * @throws {NativeCallError} if memory runs out.
   *
   * @example
   * ```ts ignore
   * import { MapperGraph } from "@samepage/interop";
   * import { CudaContext } from "@samepage/interop/cuda";
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cuda = CudaContext.open();
   * using cl = OpenCLContext.open({ platform: "nvidia" });
   * using graph = new MapperGraph([cuda, cl]);
   * using image = cuda.virtual.allocate({ shape: [1080, 1920, 4], dtype: "u8" });
   * using buffer = graph.map(image, cl); // the same memory, by its fd
   * ```
   */
  allocate(init: VirtualAllocation): CudaTensor {
    const { location = "device", sharable = true, devices = [] } = object(init, "init");
    if (location !== "device" && location !== "host") {
      throw checks.wrong("location", `expected "device" or "host", got ${literal(location)}.`);
    }
    checks.assertBoolean(sharable, "sharable");
    const at = layoutIn(init, NAMES);
    const others = this.#contextsIn(devices);
    const wish = { location, sharable } as const;
    this.#assertSupported(wish, "cuMemCreate");
    if (location === "device") this.#assertReached(others);
    const { context } = this;
    return this.own(virtualBlock(context, others, (undo) => createPhysical(context, endOf(at), wish, undo)), at);
  }

  /**
   * Memory by its fd from another process's {@link exportFd} or cuMemExportToShareableHandle. The fd stays yours. CUDA does
   * not report the length of the memory, so samepage takes it from the layout.
   *
   * Import the same memory only once, and use its own tensor in the process that made it: samepage does not notice that two
   * imports are the same bytes, unless they come through a channel.
   *
   * @param fd an open fd
   * @throws {ArgumentError} if `fd` is not an fd, or the device has no such memory.
   * @throws {NativeCallError} if the fd is not of such memory, or the memory is shorter than the layout.
   */
  import(fd: number, init: VirtualImport): CudaTensor {
    checks.fdIn(fd, "fd");
    const { devices = [] } = object(init, "init");
    const at = layoutIn(init, IMPORT_NAMES);
    const others = this.#contextsIn(devices);
    this.#assertSupported({ location: "device", sharable: true }, "cuMemImportFromShareableHandle");
    const { context } = this;
    const about = { argument: "init", hint: `Is the memory as long as the ${endOf(at)} bytes of the layout?` };
    return this.own(virtualBlock(context, others, (undo) => importPhysical(context, fd, endOf(at), undo), about), at);
  }

  /**
   * A new fd of a tensor's whole block, for other APIs and processes. You own it, and have to close it.
   *
   * Its holders can use the memory for any time, whether or not its bytes are lent here.
   *
   * @throws {ArgumentError} unless `tensor` is of this memory, owns its block and was made with an fd.
   */
  exportFd(tensor: CudaTensor): number {
    if (!isMade(tensor, CudaTensor)) throw checks.wrongKind("tensor", "a tensor of cuda.virtual", tensor);
    const block = virtualBlockOf(tensor.grant.allocation);
    if (block === undefined || tensor.parent !== undefined) {
      throw checks.wrong("tensor", `${tensor.name} is not a tensor of virtual memory that owns its block.`);
    }
    tensor.assertUsable(reads(tensor.access) ? "read" : "write");
    return this.#fdOf(block);
  }

  /** The block of an allocation; undefined for other memory. For mappers. */
  blockOf(allocation: Allocation): VirtualBlock | undefined {
    return virtualBlockOf(allocation);
  }

  #fdOf({ duplicateFd }: VirtualBlock): number {
    if (duplicateFd !== undefined) return duplicateFd();
    throw checks.wrong("tensor", "its memory was made without an fd.", "Allocate it with { sharable: true }.");
  }

  #assertSupported(wish: VirtualWish, fn: string): void {
    const { device, resource } = this.context;
    resource.assertLive();
    for (const [argument, operation] of needsOf(wish)) {
      const refused = refusalOf("virtual", operation, device);
      if (refused === undefined) continue;
      throw checks.wrong(argument, refused.reason, refused.remedy, fn);
    }
  }

  #contextsIn(given: readonly CudaPrimaryContext[]): readonly CudaPrimaryContext[] {
    if (!Array.isArray(given)) throw checks.wrongKind("devices", "an array of CUDA contexts", given);
    const contexts = checks.itemsIn<CudaPrimaryContext>(given, "devices");
    contexts.forEach((context, i) => {
      if (object(context, `devices[${i}]`).api !== "cuda") {
        throw checks.wrongKind(`devices[${i}]`, "a CUDA context", context);
      }
      context.resource.assertLive();
    });
    return contexts;
  }

  #assertReached(contexts: readonly CudaPrimaryContext[]): void {
    const { device: { ordinal }, name } = this.context;
    contexts.forEach((context, i) => {
      if (canAccess(context.device.ordinal, ordinal)) return;
      const what =
        `${context.name} (device ${context.device.ordinal}) cannot reach memory of ${name} (device ${ordinal}).`;
      throw checks.wrong(`devices[${i}]`, what, 'Allocate it on the host: { location: "host" }.');
    });
  }
}

function endOf({ byteOffset, byteLength }: Layout): number {
  return byteOffset + byteLength;
}

function needsOf({ location, sharable }: VirtualWish): readonly (readonly [argument: string, CudaOperation])[] {
  return [
    ["device", "kernel-write"],
    ...(sharable ? [["sharable", "export-fd"] as const] : []),
    ...(location === "host" ? [["location", "host-write"] as const] : []),
  ];
}
