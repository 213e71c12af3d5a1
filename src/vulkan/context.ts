import type { Mapper } from "../core/graph/mapper.ts";
import { EDGES } from "./edges.ts";
import type { VkDevice } from "../../ffi/vulkan/handles.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import type { Fence } from "../core/device/fence.ts";
import type { ImportSemaphoreOptions } from "../core/device/foreign_semaphore.ts";
import type { Line } from "../core/device/line.ts";
import type { Arrays, Memory, Natives } from "../core/contract.ts";
import { Proofs } from "../core/device/proofs.ts";
import { offerSemaphores, type SemaphoreMaker } from "../core/device/line_sync.ts";
import { absentOf } from "../core/device/extensions.ts";
import type { Context, Target } from "../core/graph/context.ts";
import { DeviceContext } from "../core/graph/device_context.ts";
import { type FrameInfo, frameInfo, planeLayouts } from "../core/layout/frame_info.ts";
import { type Layout, LAYOUT_NAMES, layoutIn, type LayoutInit } from "../core/layout/layout.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { Imports } from "../core/memory/imports.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import { importMemory, type MemoryImport } from "../core/tensors/foreign_memory.ts";
import { attachedFence } from "./attached_fence.ts";
import type { VulkanBase } from "./base.ts";
import type { VulkanBuffer } from "./buffer.ts";
import type { VulkanDevice } from "./device.ts";
import { attachedDevice, type VulkanHandles } from "./devices/attached.ts";
import { chosenDevice, type VulkanChoice } from "./devices/choice.ts";
import { createDevice } from "./devices/new.ts";
import { driverOf, type VulkanDriver } from "./driver.ts";
import { importedFence } from "./fence.ts";
import type { VulkanLane } from "./lane.ts";
import { checks } from "./library.ts";
import { EXPORT_KINDS, type ExportKind } from "./handle_kinds.ts";
import { VulkanImageTarget } from "./image.ts";
import { formatIn, type VulkanFormat, type VulkanFormatName } from "./images/formats.ts";
import { nativesOf } from "./images/natives.ts";
import { allocated, attachedBuffer, type Making } from "./own_memory.ts";
import { type ImportedBuffer, portsOf } from "./ports.ts";
import type { Place } from "./memory_object.ts";
import { VulkanProgram } from "./program.ts";
import { type OpenDevice, WANTED } from "./open_device.ts";
import { newLine, VulkanQueue } from "./queue.ts";
import { VulkanSemaphore } from "./semaphore.ts";
import { makerOf } from "./semaphores.ts";
import { Staging } from "./staging.ts";
import { VulkanTensor } from "./tensor.ts";

/** Where new memory lies, and how other APIs import it. */
export interface VulkanPlacement {
  /** `"device"`, the default, for the device's own memory; `"host"` for memory that the CPU sees too. */
  readonly memory?: Place;
  /**
   * The kind of fd by which other APIs import it; an opaque fd by default, if the device has them. Some drivers export the
   * same memory by both kinds, others only by this one.
   */
  readonly exportAs?: ExportKind;
}

/** Options of {@link VulkanContext.allocate}. */
export interface VulkanAllocation extends LayoutInit, VulkanPlacement {}

const PLACEMENT: Names<VulkanPlacement> = { memory: true, exportAs: true };
const ALLOCATION: Names<VulkanAllocation & Layout> = { ...LAYOUT_NAMES, ...PLACEMENT };

/**
 * A Vulkan device, with a queue. The context is a target, whose memory is buffers.
 *
 * @example
 * ```ts
 * import { host, MapperGraph } from "@samepage/interop";
 * import { VulkanContext } from "@samepage/interop/vulkan";
 *
 * using vulkan = VulkanContext.open();
 * using graph = new MapperGraph([host, vulkan]);
 * using numbers = host.allocate({ shape: [4], dtype: "u32" });
 * {
 *   using onDevice = graph.map(numbers, vulkan);
 *   vulkan.queue.fill(onDevice, 7);
 * }
 * console.log(numbers.view()); // Uint32Array(4) [ 7, 7, 7, 7 ]
 * ```
 */
export class VulkanContext extends DeviceContext implements VulkanBase {
  /** The API's name. */
  override readonly api = "vulkan";
  /** The kind of memory: buffers. */
  readonly kind = "vulkan";
  /** Itself. */
  readonly context: Context = this;
  /** Itself. */
  override readonly targets: readonly Target[] = [this];
  /** The edges of its images. */
  readonly edges: readonly Mapper[] = EDGES;
  /** Facts about the device, as its driver reports them. */
  readonly device: VulkanDevice;
  /** The default queue. */
  readonly queue: VulkanQueue;
  /** Its line. For mappers. */
  readonly line: Line<VulkanLane>;
  /** Makes semaphores for other APIs: {@link Semaphore.create} takes this context. For mappers. */
  readonly semaphores: SemaphoreMaker;
  /** The open device. For mappers. */
  readonly openDevice: OpenDevice;
  /** The driver of its lines. For mappers. */
  readonly driver: VulkanDriver;
  /** Copies bytes between the CPU and the device. For mappers. */
  readonly staging: Staging;
  /** Proofs that the device uses host memory in place. For mappers. */
  readonly proofs: Proofs<VulkanBase>;
  /** Frames of its images. For libraries that work on its device. */
  readonly natives: Natives = nativesOf(this);
  /** Its buffers by their `VkBuffer`. For DLPack, which does not name the `VkDevice`: a consumer has to use the same one. */
  readonly arrays: Arrays = {
    ordinal: 0,
    placeOf(tensor) {
      if (!(tensor instanceof VulkanTensor)) return undefined;
      return { handle: tensor.rawHandle.buffer, byteOffset: tensor.layout.byteOffset, memory: "device" };
    },
    attach: ({ handle, byteOffset }, init, options) => this.attach(handle, { ...init, byteOffset }, options),
  };
  /** Its ports: opaque fds, dma-bufs and host pointers. For mappers. */
  readonly ports: Memory<VulkanTensor, VulkanBuffer>;
  readonly #images = new Map<VulkanFormat, VulkanImageTarget>();
  #queues = 1;

  private constructor(open: OpenDevice, undo: Undo) {
    super("vulkan", open.facts, undo);
    this.openDevice = open;
    this.device = open.facts;
    this.driver = driverOf(open);
    undo.push(() => open.freeBlocks());
    this.staging = new Staging(open, undo);
    const imports = new Imports<ImportedBuffer>(undo);
    this.semaphores = makerOf(open);
    if (this.semaphores.kinds.length > 0) undo.push(offerSemaphores(this.semaphores));
    this.proofs = new Proofs<VulkanBase>(this, `vulkan ${this.id.uuid}`);
    this.line = newLine(this, open.handles.queues[0], this.resource);
    this.queue = new VulkanQueue(this, this.line);
    this.ports = portsOf(this, imports);
    this.opened();
  }

  /**
   * Opens the best device that fits the choice: a discrete GPU first, a CPU last.
   *
   * @throws {LibraryNotFoundError} if there is no Vulkan loader.
   * @throws {ArgumentError} if no device fits; the hint lists the devices.
   * @throws {NativeCallError} if there is no driver, or no validation layer.
   */
  static open(choice: VulkanChoice = {}): VulkanContext {
    const chosen = chosenDevice(choice);
    return VulkanContext.#made((undo) => createDevice(chosen, undo));
  }

  /**
   * A context on another library's Vulkan objects, which stay that library's.
   *
   * @param handles live handles; wrong ones crash the process
   * @throws {ArgumentError} for anything that cannot be a handle, and a queue family that the device lacks.
   */
  static attach(handles: VulkanHandles): VulkanContext {
    const device = attachedDevice(handles);
    return VulkanContext.#made(() => device);
  }

  static #made(make: (undo: Undo) => OpenDevice): VulkanContext {
    return allOrNothing("opening a Vulkan device", (undo) => new VulkanContext(make(undo), undo));
  }

  /** The `VkDevice`. */
  get handle(): VkDevice {
    this.resource.assertLive();
    return this.openDevice.handle;
  }

  /**
   * The extensions for sharing that the device was opened without, and the reason for each.
   *
   * @example
   * ```ts
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * using vulkan = VulkanContext.open();
   * for (const [extension, reason] of vulkan.absent) console.log(extension, reason);
   * ```
   */
  get absent(): ReadonlyMap<string, string> {
    return absentOf(WANTED, (name) => this.openDevice.lacks(name));
  }

  /** True for tensors of this context. */
  is(value: Mapped): value is VulkanTensor {
    return value instanceof VulkanTensor && value.target === this;
  }

  /**
   * Allocates a zeroed buffer. Other APIs and processes can import it if the device exports memory.
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride.
   * @throws {ArgumentError} if the device exports no memory by the kind of fd in `exportAs`.
   * @throws {NativeCallError} if memory runs out.
   */
  allocate(init: VulkanAllocation): VulkanTensor {
    return allocated(this, [layoutIn(init, ALLOCATION)], makingOf(init)) as VulkanTensor;
  }

  /** Allocates one buffer for all planes of a frame, one after the other. @throws like {@link allocate}. */
  allocateFrame(info: FrameInfo, options: VulkanPlacement = {}): Frame<VulkanTensor> {
    const making = makingOf(optionsIn(options, PLACEMENT));
    const checked = frameInfo(info);
    return allocated(this, planeLayouts(checked), making, checked) as Frame<VulkanTensor>;
  }

  /**
   * A tensor over a `VkBuffer` of this `VkDevice` that other code made and has bound to memory, usable for transfers and as
   * a storage buffer. The buffer stays its maker's, and has to live until `owner` is called. Two tensors over one buffer are
   * peers.
   *
   * @param handle a live `VkBuffer`; a wrong one crashes the process
   * @param init the layout of the elements, which has to end within the buffer. Vulkan does not report a buffer's length:
   *   samepage checks the layout against the size of memory that the buffer needs (vkGetBufferMemoryRequirements2), which a
   *   driver may round up
   * @throws {ArgumentError} if `handle` is not a handle.
   * @throws {LayoutError} if the layout reaches past the memory that the buffer needs.
   *
   * @example
   * ```ts
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * using vulkan = VulkanContext.open();
   * using made = vulkan.allocate({ shape: [16], dtype: "u8" }); // it stands for other code's
   * using tensor = vulkan.attach(made.handle.buffer, { shape: [4], dtype: "u8", byteOffset: 8 });
   * vulkan.queue.fill(tensor, 7);
   * ```
   */
  attach(handle: bigint, init: LayoutInit, options: AttachOptions = {}): VulkanTensor {
    return attaching(options, (access) => attachedBuffer(this, handle, layoutIn(init, LAYOUT_NAMES), access));
  }

  /**
   * A buffer over other code's memory by its fd (VK_KHR_external_memory_fd). The fd stays the caller's, who may close it at
   * once, whether this succeeds or not. The memory itself lives at least as long as the tensor.
   *
   * samepage does not see the other code's work: order it by semaphores ({@link importSemaphore}) or by `after`. A driver may
   * require the `type` of memory that the maker chose.
   *
   * @param fd an opaque fd (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT) of memory on the same device
   * @param init the layout of the elements from the memory's first byte, and what the memory was made with
   * @throws {ArgumentError} for anything but an open fd, another device's `uuid`, and if the device imports no fds.
   * @throws {LayoutError} if the layout reaches past the memory's end.
   * @throws {NativeCallError} if the driver refuses the fd.
   *
   * @example
   * ```ts ignore
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * declare const theirs: { uuid: string; exportFd(): number; allocationSize: number }; // a program's own Vulkan code
   * using vulkan = VulkanContext.open({ uuid: theirs.uuid });
   * using words = vulkan.importMemory(theirs.exportFd(), { shape: [256], dtype: "u32", size: theirs.allocationSize });
   * ```
   */
  importMemory(fd: number, init: MemoryImport, options: AttachOptions = {}): VulkanTensor {
    return importMemory<VulkanTensor>(this, fd, init, options);
  }

  /**
   * Images of a format (Vulkan's name without `VK_FORMAT_`), as a target of `graph.map`. Returns the same object each time.
   *
   * @throws {ArgumentError} for an unknown format.
   *
   * @example
   * ```ts
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * using vulkan = VulkanContext.open();
   * const target = vulkan.image("R8_UNORM");
   * using image = target.allocate({ shape: [2, 2] });
   * vulkan.queue.write(image, new Uint8Array([1, 2, 3, 4]));
   * const seen = new Uint8Array(4);
   * vulkan.queue.read(image, seen);
   * console.log(seen); // Uint8Array(4) [ 1, 2, 3, 4 ]
   * ```
   */
  image(format: VulkanFormatName): VulkanImageTarget {
    this.resource.assertLive();
    const known = formatIn(format);
    let target = this.#images.get(known);
    if (target === undefined) this.#images.set(known, target = new VulkanImageTarget(this, known));
    return target;
  }

  /**
   * Compute shaders, as SPIR-V: `glslangValidator -V --target-env vulkan1.2 -o shader.spv shader.comp`.
   *
   * @param spirv correct SPIR-V: a driver may crash on anything else
   * @throws {ArgumentError} for anything but SPIR-V.
   * @throws {NativeCallError} if the driver refuses the shaders.
   */
  program(spirv: Uint8Array | Uint32Array): VulkanProgram {
    return new VulkanProgram(this, spirv);
  }

  /**
   * A `VkFence` that other code has submitted, as a fence. The `VkFence` has to live, without a reset, until the fence was
   * waited for, even if it is signalled before, because samepage queries it later. The context's end waits for it.
   *
   * @param handle a live `VkFence` of this device; a wrong one crashes the process, and one that is never signalled hangs
   * it
   * @throws {ArgumentError} if `handle` is not a handle.
   */
  attachFence(handle: bigint): Fence {
    return attachedFence(this, handle);
  }

  /**
   * A sync file as a fence of this device (VK_KHR_external_fence_fd). The fd stays the caller's.
   *
   * @throws {ArgumentError} for anything but a sync file.
   * @throws {InteropError} if the device imports no sync files.
   * @throws {NativeCallError} if the driver refuses the fd.
   */
  importFence(fd: number): Fence {
    return importedFence(this, fd);
  }

  /**
   * Imports other code's semaphore by its fd (VK_KHR_external_semaphore_fd). The fd stays the caller's, who may close it at
   * once, whether this succeeds or not. No driver checks the kind of the semaphore: with a wrong one, a wait hangs or
   * crashes the process.
   *
   * The caller is responsible for the other code's submits: each wait here needs a signal there, and each signal here of a
   * binary semaphore needs a wait there before the next. A timeline's values only grow, over all its users.
   *
   * @param fd an fd of a semaphore (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT), or a sync file; -1, as drivers export
   * it, for a sync file that is signalled already
   * @throws {ArgumentError} for anything but such an fd, and if the device imports no semaphores of the kind.
   * @throws {NativeCallError} if the driver refuses the fd.
   *
   * @example
   * ```ts ignore
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * declare const theirs: { exportTicks(): number; submit(after: bigint, then: bigint): void }; // on another VkDevice
   * using vulkan = VulkanContext.open();
   * using ticks = vulkan.importSemaphore(theirs.exportTicks(), { kind: "timeline" });
   * ticks.signal(1n); // behind all that was submitted to vulkan's queue
   * theirs.submit(1n, 2n);
   * ticks.wait(2n); // what is submitted to vulkan's queue from now on runs behind it
   * ```
   */
  importSemaphore(fd: number, options: ImportSemaphoreOptions = {}): VulkanSemaphore {
    return new VulkanSemaphore(this, fd, options);
  }

  /** Makes another line of commands, on a `VkQueue` of its own if the device has one left, else on one that lines share. */
  createQueue(): VulkanQueue {
    this.resource.assertLive();
    const { queues } = this.openDevice.handles;
    return new VulkanQueue(this, newLine(this, queues[this.#queues++ % queues.length], this.resource));
  }
}

const PLACES: { readonly [P in Place]: unknown } = { device: true, host: true };

function makingOf({ memory = "device", exportAs }: VulkanPlacement): Making {
  const place = checks.nameIn(memory, PLACES, "memory");
  return exportAs === undefined ? { place } : { place, exportAs: checks.nameIn(exportAs, EXPORT_KINDS, "exportAs") };
}
