import type { Mapper } from "../core/graph/mapper.ts";
import { EDGES } from "./edges/mod.ts";
import type { ClContext } from "../../ffi/opencl/handles.ts";
import { object } from "../core/argument.ts";
import type { AlignmentRule, LayoutInit } from "../core/layout/layout.ts";
import type { Fence } from "../core/device/fence.ts";
import type { GlContext } from "../gl/port.ts";
import type { ImportSemaphoreOptions } from "../core/device/foreign_semaphore.ts";
import type { Line } from "../core/device/line.ts";
import type { SemaphoreMaker } from "../core/device/line_sync.ts";
import type { Arrays, Memory, MemoryTarget, Natives } from "../core/contract.ts";
import { Proofs } from "../core/device/proofs.ts";
import type { Context, Target } from "../core/graph/context.ts";
import { DeviceContext } from "../core/graph/device_context.ts";
import { usmArrays } from "../core/tensors/unified.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { aliasRuleOf, subBufferRuleOf } from "./alias/rules.ts";
import type { BaseContext } from "./base_context.ts";
import { attachedBuffer } from "./buffers/attached.ts";
import { attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import { importMemory, type MemoryImport } from "../core/tensors/foreign_memory.ts";
import { attachedEvent } from "./queues/attached_event.ts";
import { checks } from "./check.ts";
import { OpenCLDriver } from "./driver.ts";
import { chosenDevice, type DeviceChoice, fittingDevices } from "./devices/choice.ts";
import { deviceOfGl, glIn } from "./devices/gl.ts";
import { createContext, devicesOf, retainContext, shareContext } from "./context_handle.ts";
import type { OpenCLDevice } from "./device.ts";
import type { OpenCLImageFormat, PixelFormat } from "./images/format.ts";
import { type ImageType, imageTypeOf } from "./images/type.ts";
import { type ImageOptions, OpenCLImages } from "./images/images.ts";
import { nativesOf } from "./images/natives.ts";
import { deviceOf, devicesIn, setOf } from "./devices/known_devices.ts";
import { OpenCLExternalMemory } from "./external.ts";
import { semaphoreMaker } from "./external/semaphore.ts";
import { OpenCLMemory } from "./memory.ts";
import { allocatedTensor } from "./buffers/own_tensor.ts";
import type { OpenCLProgram } from "./program.ts";
import { attachedProgram, programFromBinary, programFromSource, type ProgramOptions } from "./programs/sources.ts";
import { OpenCLQueue } from "./queue.ts";
import { attached, imported, type OpenCLSemaphore } from "./semaphore.ts";
import type { QueueOptions } from "./queues/handle.ts";
import { type ImageTarget, OpenCLSampler } from "./image.ts";
import type { SamplerInit } from "./images/sampler.ts";
import { OpenCLSvm } from "./svm.ts";
import { OpenCLTensor } from "./tensor.ts";
import { OpenCLUsm } from "./usm.ts";

/**
 * An OpenCL context of one or more devices, with an in-order queue on the first. It is its own target: buffers.
 *
 * @example
 * ```ts
 * import { OpenCLContext } from "@samepage/interop/opencl";
 *
 * using cl = OpenCLContext.open();
 * console.log(cl.device.name, cl.device.platform);
 * ```
 */
export class OpenCLContext extends DeviceContext implements BaseContext, MemoryTarget<OpenCLTensor> {
  /** The API's name. */
  override readonly api = "opencl";
  /** The kind of memory: buffers. */
  readonly kind = "opencl";
  /** Itself. */
  readonly context: Context = this;
  /** Its targets in routes: its buffers, {@link svm} if that covers all host memory, and {@link usm} if it has that. */
  override readonly targets: readonly Target[];
  /** The edges to and from its memory that no port makes. */
  readonly edges: readonly Mapper[] = EDGES;
  /** Its first device. */
  readonly device: OpenCLDevice;
  /** All its devices. */
  readonly devices: readonly OpenCLDevice[];
  /** The largest buffer that all its devices take, in bytes (CL_DEVICE_MAX_MEM_ALLOC_SIZE). */
  readonly maxAllocation: number;
  /** The alignment of a sub-buffer on all its devices, in bytes (CL_DEVICE_MEM_BASE_ADDR_ALIGN). */
  readonly subBufferAlign: number;
  /** The default queue. */
  readonly queue: OpenCLQueue;
  /** Makes semaphores for other code, where its device exports them: `Semaphore.create` takes this context. For mappers. */
  readonly semaphores: SemaphoreMaker;
  /** The proofs of which memory its devices use in place. */
  readonly proofs: Proofs<OpenCLContext>;
  /** Its memory. For mappers. */
  readonly memory: OpenCLMemory;
  /** Its images. For mappers. */
  readonly images: OpenCLImages;
  /** Its shared virtual memory. */
  readonly svm: OpenCLSvm;
  /** Its unified shared memory (cl_intel_unified_shared_memory). */
  readonly usm: OpenCLUsm;
  /** Memory of other APIs, by its fd. For mappers. */
  readonly external: OpenCLExternalMemory;
  /** Its handles, and pictures by those of their images. For libraries in the same `cl_context`. */
  readonly natives: Natives = nativesOf(this);
  /** Its buffers by their `cl_mem`, and its unified shared memory by its addresses. For DLPack: nothing names the `cl_context`, in which the consumer has to work as well. */
  readonly arrays: Arrays = {
    ordinal: 0,
    placeOf: (tensor) => {
      if (!(tensor instanceof OpenCLTensor)) return usmArrays(this.usm).placeOf(tensor);
      return { handle: tensor.rawHandle, byteOffset: tensor.layout.byteOffset, memory: "device" };
    },
    attach: (place, init, options) => {
      if (place.memory === "unified") return usmArrays(this.usm).attach(place, init, options);
      return this.attach(place.handle, { ...init, byteOffset: place.byteOffset }, options);
    },
    hasUnified: (address) => this.usm.has(address),
  };
  /** Its ports. For mappers. */
  readonly ports: Memory<OpenCLTensor>;
  /** Its work. For mappers. */
  readonly driver: OpenCLDriver;
  /** OpenGL's context that it was opened for, if it was. */
  readonly gl: GlContext | undefined;
  readonly #handle: ClContext;

  private constructor(handle: ClContext, devices: readonly OpenCLDevice[], undo: Undo, gl?: GlContext) {
    super("opencl", {
      name: devices.map(({ name }) => name).join(" + "),
      id: devices.length === 1 ? devices[0].id : {},
    }, undo);
    this.#handle = handle;
    this.gl = gl;
    if (gl !== undefined) this.resource.dependOn(gl.resource);
    this.devices = Object.freeze([...devices]);
    this.device = devices[0];
    this.maxAllocation = Math.min(...devices.map((device) => device.maxAllocation));
    this.subBufferAlign = Math.max(...devices.map((device) => device.subBufferAlign));
    const driver = this.driver = new OpenCLDriver(handle, this.devices, gl);
    undo.push(() => driver.failed.close());
    this.proofs = new Proofs<OpenCLContext>(this, setOf(devices));
    this.memory = new OpenCLMemory(this);
    this.images = new OpenCLImages(this);
    this.svm = new OpenCLSvm(this);
    this.usm = new OpenCLUsm(this);
    this.external = new OpenCLExternalMemory(this);
    this.ports = this.external.ports;
    this.targets = [
      this,
      ...this.svm.capabilities.fineGrainSystem ? [this.svm] : [],
      ...this.usm.available ? [this.usm] : [],
    ];
    this.queue = new OpenCLQueue(this);
    this.semaphores = semaphoreMaker(this);
    this.opened();
  }

  /**
   * Opens a device: the chosen one; else the one that `SAMEPAGE_OPENCL_DEVICE` names by parts of its platform's name and
   * its own (`rusticl:llvmpipe`), if the environment may be read; else the first GPU; else the first device.
   *
   * With `gl`, the context is made for an OpenGL context, and ends before it: its pictures and buffers are mapped to it by
   * their names (cl_khr_gl_sharing). The device is the one that draws, if it fits the choice.
   *
   * @throws {LibraryNotFoundError} if there is no OpenCL loader.
   * @throws {ArgumentError} if no device fits; the hint lists the devices. If none of them shares with `choice.gl`.
   * @throws {NativeCallError} if the driver refuses that.
   */
  static open(choice: DeviceChoice = {}): OpenCLContext {
    const { gl: given } = object(choice, "choice");
    if (given === undefined) return OpenCLContext.#create([chosenDevice(choice)]);
    const gl = glIn(given);
    const devices = [deviceOfGl(gl, fittingDevices(choice))];
    return OpenCLContext.#made(devices, (undo) => createContext(devices, undo, gl), gl);
  }

  /**
   * Opens several devices of one platform. They share buffers. A program is built for all of them; a queue belongs to one
   * (`createQueue({ device })`).
   *
   * @throws {ArgumentError} for an empty list, a device listed twice, and devices of several platforms.
   */
  static create(devices: readonly OpenCLDevice[]): OpenCLContext {
    return OpenCLContext.#create(devicesIn(devices));
  }

  /**
   * Attaches to a `cl_context` that other code made, and retains it.
   *
   * @param handle a live `cl_context`; a wrong one crashes the process
   * @throws {ArgumentError} if `handle` is not a handle.
   * @throws {NativeCallError} if the driver does not know it.
   */
  static attach(handle: bigint): OpenCLContext {
    const context = checks.handleIn<ClContext>(handle, "handle");
    const devices = devicesOf(context);
    return OpenCLContext.#made(devices, (undo) => retainContext(context, undo));
  }

  static #create(devices: readonly OpenCLDevice[]): OpenCLContext {
    return OpenCLContext.#made(devices, (undo) => createContext(devices, undo));
  }

  static #made(devices: readonly OpenCLDevice[], make: (undo: Undo) => ClContext, gl?: GlContext): OpenCLContext {
    return allOrNothing("opening an OpenCL context", (undo) => new OpenCLContext(make(undo), devices, undo, gl));
  }

  /** The `cl_context`. */
  get handle(): ClContext {
    this.resource.assertLive();
    return this.#handle;
  }

  /** The line of its default queue. For mappers. */
  get line(): Line {
    return this.queue.line;
  }

  /** The same without a check, for steps that run while it is being disposed. For mappers. */
  get rawHandle(): ClContext {
    return this.#handle;
  }

  /** True for tensors of this context. */
  is(value: Mapped): value is OpenCLTensor {
    return value instanceof OpenCLTensor && value.target === this;
  }

  /**
   * Allocates the driver's own memory (CL_MEM_ALLOC_HOST_PTR), not initialised.
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride.
   * @throws {NativeCallError} if there is too little memory.
   */
  allocate(init: LayoutInit): OpenCLTensor {
    return new OpenCLTensor(allocatedTensor(this, init));
  }

  /**
   * The target for images of a format; the same object each time.
   *
   * A tensor `[height, width, channels]` becomes a 2D image, `[width, channels]` a 1D and
   * `[depth, height, width, channels]` a 3D one. If a pixel is one element (one channel, or a packed type), the last
   * dimension may be left out.
   *
   * @throws {ArgumentError} for a format or a kind of image that OpenCL does not have.
   *
   * @example
   * ```ts
   * import { host, MapperGraph } from "@samepage/interop";
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using graph = new MapperGraph([host, cl]);
   * using program = cl.program(`
   *   kernel void invert(read_only image2d_t from, write_only image2d_t to) {
   *     int2 at = (int2)(get_global_id(0), get_global_id(1));
   *     write_imagef(to, at, 1 - read_imagef(from, at));
   *   }`);
   * using invert = program.kernel("invert");
   * const target = cl.image({ order: "RGBA", type: "UNORM_INT8" });
   * using from = host.allocate({ shape: [2, 2, 4], dtype: "u8" });
   * using to = host.allocate({ shape: [2, 2, 4], dtype: "u8" });
   * {
   *   using a = graph.map(from, target, { access: "read" });
   *   using b = graph.map(to, target, { access: "write" });
   *   invert.run({ items: [2, 2] }, [a, b]);
   * }
   * console.log(to.view()[0]); // 255
   * ```
   */
  image(format: OpenCLImageFormat, options: ImageOptions = {}): ImageTarget {
    this.resource.assertLive();
    return this.images.target(format, options);
  }

  /** The image formats that kernels can read and write (clGetSupportedImageFormats). */
  imageFormats(type: ImageType = "2D"): readonly PixelFormat[] {
    this.resource.assertLive();
    return this.images.abilities.formats[imageTypeOf(type)];
  }

  /** A sampler: an argument for a kernel's `sampler_t`. */
  sampler(init: SamplerInit = {}): OpenCLSampler {
    return new OpenCLSampler(this, init);
  }

  /**
   * Attaches to a `cl_mem` of this context that other code made, a buffer or sub-buffer, and retains it.
   *
   * All tensors over the same bytes are peers: those over the same `cl_mem`, its root or a part of it, and for host memory
   * (CL_MEM_USE_HOST_PTR) also host tensors. A lend by one of them binds the others, and each waits for the work of all.
   * The buffer's flags stay in force (`limits`).
   *
   * @param handle a live `cl_mem`; a wrong one crashes the process
   * @param init the layout of the elements from its first byte
   * @throws {ArgumentError} if `handle` is not a handle, or is of an image or of another context.
   * @throws {LayoutError} if the layout reaches past its end.
   * @throws {NativeCallError} if the driver does not know it.
   */
  attach(handle: bigint, init: LayoutInit, options: AttachOptions = {}): OpenCLTensor {
    return attaching(options, (access) => new OpenCLTensor(attachedBuffer(this, handle, init, access)));
  }

  /**
   * A buffer over memory of other code's by its fd (cl_khr_external_memory_opaque_fd). The fd stays the caller's, who
   * may close it at once, whether this succeeds or not. The memory itself lives at least as long as the tensor.
   *
   * The other code's work is ordered by semaphores ({@link importSemaphore}), or by `after`: nothing here knows it. It
   * is acquired here, and released when the tensor ends.
   *
   * @param fd an opaque fd (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT) of memory on the same device
   * @param init the layout of the elements from the memory's first byte, and what the memory was made with
   * @throws {ArgumentError} for anything but an open fd, another device's `uuid`, and if the device imports none.
   * @throws {LayoutError} if the layout reaches past the memory's end.
   * @throws {NativeCallError} if the driver refuses it.
   *
   * @example
   * ```ts ignore
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * declare const theirs: { uuid: string; exportFd(): number; allocationSize: number }; // a program's own Vulkan code
   * using cl = OpenCLContext.open({ uuid: theirs.uuid });
   * using words = cl.importMemory(theirs.exportFd(), { shape: [256], dtype: "u32", size: theirs.allocationSize });
   * ```
   */
  importMemory(fd: number, init: MemoryImport, options: AttachOptions = {}): OpenCLTensor {
    return importMemory<OpenCLTensor>(this, fd, init, options);
  }

  /**
   * Creates a queue, by default on the first device.
   *
   * @throws {ArgumentError} for a device of another context, or one that cannot profile.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using queue = cl.createQueue({ profiling: true });
   * console.log(queue.profiling); // true
   * ```
   */
  createQueue(options: QueueOptions = {}): OpenCLQueue {
    return new OpenCLQueue(this, object(options, "options"));
  }

  /**
   * Attaches to a `cl_command_queue` that other code made, and retains it. Fences order our work as on any queue. Other
   * code declares its work by `tensor.usedBy`. Our dispose does not wait for that work; `finish()` does, and so does a
   * blocking call of a driver that finishes the queue (PoCL 3.1): for ever if the work waits for a user event that is
   * never set.
   *
   * @param handle a live `cl_command_queue`; a wrong one crashes the process
   * @throws {ArgumentError} if it is of another context, runs commands out of order, or is not a handle.
   */
  attachQueue(handle: bigint): OpenCLQueue {
    return new OpenCLQueue(this, checks.handleIn(handle, "handle"));
  }

  /**
   * A fence at a `cl_event` that other code made. The event is retained, and the queue of its command flushed.
   *
   * No blocking call waits for an unset user event, or for work behind it: its owner may need this thread to set it. Await
   * the fence instead. For any other event, it is unknown what it waits for: if that is a user event, a synchronous wait
   * lasts until the event is set.
   *
   * @param handle a live `cl_event`; a wrong one crashes the process
   * @throws {ArgumentError} if it is of another context, or is not a handle.
   */
  attachEvent(handle: bigint): Fence {
    return attachedEvent(this, handle);
  }

  /**
   * Attaches to a `cl_semaphore_khr` of this context that other code made, and retains it (cl_khr_semaphore).
   *
   * @param handle a live `cl_semaphore_khr`; a wrong one crashes the process
   * @throws {ArgumentError} if the driver has no semaphores, or it is of another context, not binary, for a device of
   * another context, or not a handle.
   * @throws {NativeCallError} if the driver does not know it.
   */
  attachSemaphore(handle: bigint): OpenCLSemaphore {
    return attached(this, handle);
  }

  /**
   * Imports a semaphore of other code's by its fd (cl_khr_external_semaphore). The fd stays the caller's, who may close
   * it at once, whether this succeeds or not. No driver checks that the semaphore is of the kind: a wrong one never
   * ends, or crashes.
   *
   * The caller vouches for what the other code submits: each wait here needs a signal there, and each signal here of a
   * binary semaphore a wait there before the next. A timeline's values only grow, over all its users.
   *
   * @param fd an fd of a binary semaphore (cl_khr_external_semaphore_opaque_fd), or a sync file; for a sync file whose
   * signal has come, -1 will do, as drivers export it
   * @throws {ArgumentError} for anything but such an fd, and if the device imports none of the kind.
   * @throws {NativeCallError} if the driver refuses it.
   *
   * @example
   * ```ts ignore
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * declare const theirs: { exportReady(): number; exportFree(): number; submit(): void }; // a program's own Vulkan code
   * using cl = OpenCLContext.open();
   * using ready = cl.importSemaphore(theirs.exportReady());
   * using free = cl.importSemaphore(theirs.exportFree());
   * theirs.submit(); // it signals `ready` behind its work, and its next work waits for `free`
   * ready.wait();
   * // a kernel here runs behind their work
   * free.signal();
   * ```
   */
  importSemaphore(fd: number, options: ImportSemaphoreOptions = {}): OpenCLSemaphore {
    return imported(this, fd, options);
  }

  /**
   * Builds OpenCL C for all its devices, or takes the binary from a cache.
   *
   * @throws {BuildError} with the compiler's log.
   * @throws errors of the cache.
   */
  program(source: string, options: ProgramOptions = {}): OpenCLProgram {
    return programFromSource(this, source, options);
  }

  /**
   * The program of bytes that {@link OpenCLProgram.binary} made.
   *
   * @throws {BinaryError} if the bytes were changed, are for another device or driver, or the driver refuses them.
   */
  programFromBinary(bytes: Uint8Array): OpenCLProgram {
    return programFromBinary(this, bytes);
  }

  /**
   * Attaches to a `cl_program` of this context that other code made and built, and retains it. Its kernels can be used if
   * it was built with `-cl-kernel-arg-info`.
   *
   * @param handle a live `cl_program`; a wrong one crashes the process
   * @throws {ArgumentError} if `handle` is not a handle, or its program is of another context or not built.
   * @throws {NativeCallError} if the driver does not know it.
   */
  attachProgram(handle: bigint): OpenCLProgram {
    return attachedProgram(this, handle);
  }

  /** Retains both for a library that releases them itself; the undo list releases them if it does not. For mappers. */
  share(undo: Undo): void {
    shareContext(this.handle, this.device.handle, undo);
  }

  /**
   * The least alignment of host memory that the devices use in place, for `host.checkAlignment`; undefined if they use
   * none.
   */
  aliasRule(): AlignmentRule | undefined {
    this.resource.assertLive();
    return aliasRuleOf(this);
  }

  /** The alignment of sub-buffers (CL_DEVICE_MEM_BASE_ADDR_ALIGN), as a rule. */
  subBufferRule(): AlignmentRule {
    return subBufferRuleOf(this);
  }

  /** Returns `given` if it is one of its devices. @throws {ArgumentError} otherwise. */
  deviceIn(given: OpenCLDevice): OpenCLDevice {
    return deviceOf(this, given);
  }
}
