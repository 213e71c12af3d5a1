import { reads } from "../../core/memory/access.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { isMade, type Names, object, shown } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import { type Layout, LAYOUT_NAMES, layoutIn, type LayoutInit } from "../../core/layout/layout.ts";
import { checks } from "../check.ts";
import type { CudaContext } from "../context.ts";
import { CudaTensor } from "../tensor.ts";
import { CudaMemory } from "./memory.ts";
import { type VirtualBlock, virtualBlock, virtualBlockOf } from "./virtual/block.ts";
import { refusalOf } from "./rules.ts";
import type { CudaOperation } from "./rules/rule.ts";
import { createPhysical, importPhysical, type VirtualWish } from "./virtual/physical.ts";

/** What {@link CudaVirtual.import} is told of memory that an fd is. */
export interface VirtualImport extends LayoutInit {
  /** Contexts of other devices whose kernels are to reach it too. */
  readonly devices?: readonly CudaContext[];
}

/** What {@link CudaVirtual.allocate} makes. */
export interface VirtualAllocation extends VirtualImport {
  /** On the device, or on the node of the host's memory that is the nearest to it; `"device"` by default. */
  readonly location?: "device" | "host";
  /** Has it an fd, by which other APIs and processes have it too? True by default. */
  readonly sharable?: boolean;
}

const IMPORT_NAMES: Names<VirtualImport & Layout> = { ...LAYOUT_NAMES, devices: true };
const NAMES: Names<VirtualAllocation & Layout> = { ...IMPORT_NAMES, location: true, sharable: true };

/**
 * Memory by CUDA's virtual memory management: what it is, the address that it has, and who may use that are settled apart.
 * So it can have an fd that other APIs and processes import, and several devices may use it by one address.
 */
export class CudaVirtual extends CudaMemory {
  /** The kind of memory. */
  readonly kind = "cuda.virtual";

  /**
   * Allocates virtual memory (cuMemCreate, cuMemMap, cuMemSetAccess). Its block is as long as the granularity asks for:
   * a multiple of 2 MiB on most devices.
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride.
   * @throws {ArgumentError} where the device has no such memory; the attribute is named.
   * @throws {NativeCallError} where there is not enough memory.
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
      throw checks.wrong("location", `${shown(location)} is none.`, 'Use "device" or "host".');
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
   * The memory that an fd is, of another process's {@link exportFd} or of whoever calls cuMemExportToShareableHandle. The
   * fd stays yours. CUDA does not tell how long the memory is: you do, by the layout.
   *
   * Memory of this same process is to be used by its own tensor: of two over the same bytes, neither knows of the other.
   *
   * @param fd an open fd
   * @throws {ArgumentError} for what is no fd, and where the device has no such memory.
   * @throws {NativeCallError} where it is no fd of such memory, or the memory is shorter than the layout.
   */
  import(fd: number, init: VirtualImport): CudaTensor {
    if (!Number.isInteger(fd) || fd < 0 || fd > 0x7fff_ffff) throw checks.wrong("fd", `${shown(fd)} is none.`);
    const { devices = [] } = object(init, "init");
    const at = layoutIn(init, IMPORT_NAMES);
    const others = this.#contextsIn(devices);
    this.#assertSupported({ location: "device", sharable: true }, "cuMemImportFromShareableHandle");
    const { context } = this;
    const about = { argument: "init", hint: `Is the memory as long as the ${endOf(at)} bytes of the layout?` };
    return this.own(virtualBlock(context, others, (undo) => importPhysical(context, fd, endOf(at), undo), about), at);
  }

  /**
   * A new fd of all of a tensor's block, which you own, and close: for other APIs, and other processes.
   *
   * Whoever has it uses the memory without regard to what is lent of it here, and for as long as they like.
   *
   * @throws {ArgumentError} where it is no tensor of this memory that owns its block, or was made without.
   */
  exportFd(tensor: CudaTensor): number {
    if (!isMade(tensor, CudaTensor)) throw checks.wrongKind("tensor", "a tensor of cuda.virtual", tensor);
    const block = virtualBlockOf(tensor.grant.allocation);
    if (block === undefined || tensor.parent !== undefined) {
      throw checks.wrong("tensor", `${tensor.name} is no virtual memory that owns its block.`);
    }
    tensor.assertUsable(reads(tensor.access) ? "read" : "write");
    return this.#fdOf(block);
  }

  /** The block that an allocation is; undefined for other memory: for those who write mappers. */
  blockOf(allocation: Allocation): VirtualBlock | undefined {
    return virtualBlockOf(allocation);
  }

  #fdOf({ duplicateFd }: VirtualBlock): number {
    if (duplicateFd !== undefined) return duplicateFd();
    throw checks.wrong("tensor", "its memory was made without an fd.", "Allocate it with { sharable: true }.");
  }

  #assertSupported(wish: VirtualWish, fn: string): void {
    const { device, resource } = this.context;
    resource.assertLive(); // asked late: what was given may have run the program's own code
    for (const [argument, operation] of needsOf(wish)) {
      const refused = refusalOf("virtual", operation, device);
      if (refused === undefined) continue;
      throw new ArgumentError(`${argument}: ${refused.reason}`, {
        api: "cuda",
        fn,
        argument,
        ...(refused.remedy === undefined ? {} : { hint: refused.remedy }),
      });
    }
  }

  /** The contexts of other devices that a program gave. */
  #contextsIn(given: readonly CudaContext[]): readonly CudaContext[] {
    if (!Array.isArray(given)) throw checks.wrongKind("devices", "an array of CUDA contexts", given);
    const contexts = checks.itemsIn<CudaContext>(given, "devices");
    contexts.forEach((context, i) => {
      if (object(context, `devices[${i}]`).api !== "cuda") {
        throw checks.wrongKind(`devices[${i}]`, "a CUDA context", context);
      }
      context.resource.assertLive();
    });
    return contexts;
  }

  /** Memory of this device, to be used by others: they have to be able to. */
  #assertReached(contexts: readonly CudaContext[]): void {
    const { device: { ordinal }, name } = this.context;
    contexts.forEach((context, i) => {
      if (context.peers.canReach(ordinal)) return;
      const what =
        `${context.name} (device ${context.device.ordinal}) cannot reach memory of ${name} (device ${ordinal}).`;
      throw checks.wrong(`devices[${i}]`, what, 'Allocate it on the host: { location: "host" }.');
    });
  }
}

function endOf({ byteOffset, byteLength }: Layout): number {
  return byteOffset + byteLength;
}

/** What has to be allowed, and the argument that asks for it. */
function needsOf({ location, sharable }: VirtualWish): readonly (readonly [argument: string, CudaOperation])[] {
  return [
    ["device", "kernel-write"],
    ...(sharable ? [["sharable", "export-fd"] as const] : []),
    ...(location === "host" ? [["location", "host-write"] as const] : []),
  ];
}
