import type { ClContext } from "../../ffi/opencl/handles.ts";
import { object, shown } from "../core/argument.ts";
import type { AlignmentRule } from "../core/layout/alignment.ts";
import type { Fence } from "../core/device/fence.ts";
import type { Context, DeviceId, Target } from "../core/graph/context.ts";
import { ArgumentError } from "../core/errors.ts";
import type { LayoutInit } from "../core/layout/layout.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { forgotten } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { type Undo, unwind } from "../core/life/undo.ts";
import { AliasProofs } from "./alias.ts";
import { type AttachBufferOptions, attachedBuffer } from "./buffers/attached.ts";
import { attachedEvent } from "./queues/attached_event.ts";
import { handleIn } from "./check.ts";
import { OpenCLDriver } from "./driver.ts";
import { chosenDevice, type DeviceChoice } from "./devices/choice.ts";
import { createContext, devicesOf, retainContext, shareContext } from "./context_handle.ts";
import type { OpenCLDevice } from "./device.ts";
import type { OpenCLImageFormat, PixelFormat } from "./images/format.ts";
import type { ImageTarget } from "./images/target.ts";
import { type ImageType, imageTypeOf } from "./images/type.ts";
import { type ImageOptions, OpenCLImages } from "./images/images.ts";
import { devicesIn } from "./devices/known_devices.ts";
import { OpenCLExternalMemory } from "./external/memory.ts";
import { OpenCLMemory } from "./memory.ts";
import { allocatedTensor } from "./buffers/own_tensor.ts";
import type { OpenCLProgram } from "./program.ts";
import { attachedProgram, programFromBinary, programFromSource, type ProgramOptions } from "./programs/sources.ts";
import { OpenCLQueue } from "./queue.ts";
import type { QueueOptions } from "./queues/handle.ts";
import { OpenCLSampler, type SamplerInit } from "./sampler.ts";
import { OpenCLSvm } from "./svm.ts";
import { OpenCLTensor } from "./tensor.ts";
import { OpenCLUsm } from "./usm.ts";

/**
 * An OpenCL context, of one device or several, and an in-order queue of the first. It is its own target: buffers.
 *
 * @example
 * ```ts
 * import { OpenCLContext } from "@samepage/interop/opencl";
 *
 * using cl = OpenCLContext.open();
 * console.log(cl.device.name, cl.device.platform);
 * ```
 */
export class OpenCLContext extends NativeObject implements Context, Target<OpenCLTensor> {
  /** The API's name. */
  readonly api = "opencl";
  /** The kind of memory: buffers. */
  readonly kind = "opencl";
  /** Itself. */
  readonly context: Context = this;
  /** Where a route may lead or pass through: its buffers, and {@link svm} where that is all of the host's memory. */
  readonly targets: readonly Target[];
  /** The names of its devices, for messages. */
  readonly name: string;
  /** UUID and PCI address, where it has one device, and that tells them. */
  readonly id: DeviceId;
  /** Its first device. */
  readonly device: OpenCLDevice;
  /** All of them. */
  readonly devices: readonly OpenCLDevice[];
  /** The most bytes that each of its devices takes in one buffer (CL_DEVICE_MAX_MEM_ALLOC_SIZE). */
  readonly maxAllocation: number;
  /** Where a sub-buffer may begin on each of its devices (CL_DEVICE_MEM_BASE_ADDR_ALIGN), in bytes. */
  readonly subBufferAlign: number;
  /** Its end of life: queues, programs and tensors end first. */
  readonly resource: Resource;
  /** The queue that everything uses unless told otherwise. */
  readonly queue: OpenCLQueue;
  /** What is known of these devices and host memory. */
  readonly aliasing: AliasProofs;
  /** Its memory: for those who write mappers. */
  readonly memory: OpenCLMemory;
  /** Its images: for those who write mappers. */
  readonly images: OpenCLImages;
  /** Its shared virtual memory. */
  readonly svm: OpenCLSvm;
  /** Its unified shared memory (cl_intel_unified_shared_memory). */
  readonly usm: OpenCLUsm;
  /** Memory of other APIs, by their fds: for those who write mappers. */
  readonly external: OpenCLExternalMemory;
  /** Its work: for those who write mappers. */
  readonly driver: OpenCLDriver;
  readonly #handle: ClContext;
  #bytesCopied = 0;

  private constructor(handle: ClContext, devices: readonly OpenCLDevice[], undo: Undo) {
    super();
    this.#handle = handle;
    this.devices = Object.freeze([...devices]);
    this.device = devices[0];
    this.name = devices.map((device) => device.name).join(" + ");
    this.id = devices.length === 1 ? devices[0].id : {};
    this.maxAllocation = Math.min(...devices.map((device) => device.maxAllocation));
    this.subBufferAlign = Math.max(...devices.map((device) => device.subBufferAlign));
    const driver = this.driver = new OpenCLDriver(handle);
    undo.push(() => driver.failed.close());
    this.resource = new Resource({ name: `opencl context (${this.name})`, undo });
    this.aliasing = new AliasProofs(this);
    this.memory = new OpenCLMemory(this);
    this.images = new OpenCLImages(this);
    this.svm = new OpenCLSvm(this);
    this.usm = new OpenCLUsm(this);
    this.external = new OpenCLExternalMemory(this);
    this.targets = this.svm.capabilities.fineGrainSystem ? [this, this.svm] : [this];
    try {
      this.queue = new OpenCLQueue(this);
    } catch (error) {
      this.resource.dispose();
      throw error;
    }
    forgotten.register(this, this.resource.name, this);
  }

  /**
   * Opens a device: the one that was asked for; else the one that `SAMEPAGE_OPENCL_DEVICE` names by parts of the
   * platform's and the device's names (`rusticl:llvmpipe`), where the environment may be read; else the first GPU; else
   * the first device.
   *
   * @throws {LibraryNotFoundError} where there is no OpenCL loader.
   * @throws {ArgumentError} where no device fits; the hint lists those that are there.
   */
  static open(choice: DeviceChoice = {}): OpenCLContext {
    return OpenCLContext.#create([chosenDevice(choice)]);
  }

  /**
   * Opens several devices of one platform. They share buffers; a program is built for each of them; each queue belongs to
   * one (`createQueue({ device })`).
   *
   * @throws {ArgumentError} for no device, one that is named twice, and devices of several platforms.
   */
  static create(devices: readonly OpenCLDevice[]): OpenCLContext {
    return OpenCLContext.#create(devicesIn(devices));
  }

  /**
   * Attaches to a `cl_context` that somebody else made, and retains it.
   *
   * @param handle a live `cl_context`: a false one ends the process
   * @throws {ArgumentError} for what is no handle.
   * @throws {NativeCallError} where the driver does not know it.
   */
  static attach(handle: bigint): OpenCLContext {
    const context = handleIn<ClContext>(handle, "handle");
    const devices = devicesOf(context);
    return OpenCLContext.#made(devices, (undo) => retainContext(context, undo));
  }

  static #create(devices: readonly OpenCLDevice[]): OpenCLContext {
    return OpenCLContext.#made(devices, (undo) => createContext(devices, undo));
  }

  static #made(devices: readonly OpenCLDevice[], make: (undo: Undo) => ClContext): OpenCLContext {
    const undo: Undo = [];
    try {
      return new OpenCLContext(make(undo), devices, undo);
    } catch (error) {
      unwind(undo);
      throw error;
    }
  }

  /** The `cl_context`. */
  get handle(): ClContext {
    this.resource.assertLive();
    return this.#handle;
  }

  /** The same without a check, for those who write mappers: what ends its objects runs while it is being disposed. */
  get rawHandle(): ClContext {
    return this.#handle;
  }

  /**
   * Bytes that were copied between host and device because it was asked for: by `queue.read`, `write`, their likes for
   * rectangles and images, and maps with `{ copy: "allow" }`. `queue.copy` and `fill` stay on the device, and are not
   * counted.
   */
  get bytesCopied(): number {
    return this.#bytesCopied;
  }

  /** True for tensors of this context. */
  is(value: Mapped): value is OpenCLTensor {
    return value instanceof OpenCLTensor && value.target === this;
  }

  /**
   * Allocates memory of the driver's own (CL_MEM_ALLOC_HOST_PTR), not initialised.
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride.
   * @throws {NativeCallError} where there is not enough memory.
   */
  allocate(init: LayoutInit): OpenCLTensor {
    return allocatedTensor(this, init);
  }

  /**
   * Images of a format, as a target to map to; the same object each time.
   *
   * A tensor `[height, width, channels]` becomes a 2D image, `[width, channels]` a 1D and
   * `[depth, height, width, channels]` a 3D one. A format whose pixels are one element (one channel, or a packed type)
   * may leave the channels' dimension out.
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
   *   invert.run([2, 2], [a, b]);
   * }
   * console.log(to.view()[0]); // 255
   * ```
   */
  image(format: OpenCLImageFormat, options: ImageOptions = {}): ImageTarget {
    this.resource.assertLive();
    return this.images.target(format, options);
  }

  /** The formats of images that kernels can read and write here (clGetSupportedImageFormats). */
  imageFormats(type: ImageType = "2D"): readonly PixelFormat[] {
    this.resource.assertLive();
    return this.images.abilities.formats[imageTypeOf(type)];
  }

  /** How a kernel reads an image: an argument for its `sampler_t`. */
  sampler(init: SamplerInit = {}): OpenCLSampler {
    return new OpenCLSampler(this, init);
  }

  /**
   * Attaches to a `cl_mem` of this context that somebody else made, a buffer or sub-buffer, and retains it.
   *
   * What has the same bytes is its peer: another tensor over that `cl_mem`, over its root or a part of it; and where it
   * lies in host memory (CL_MEM_USE_HOST_PTR), a host tensor over that. What one of them lends, none of the others may
   * use against it, and each waits for the others' work. The buffer's flags stay in force (`limits`).
   *
   * @param handle a live `cl_mem`: a false one ends the process
   * @param init where the elements lie, counted from its first byte
   * @throws {ArgumentError} for what is no handle, an image, and a buffer of another context.
   * @throws {LayoutError} where the layout reaches past its end.
   * @throws {NativeCallError} where the driver does not know it.
   */
  attachBuffer(handle: bigint, init: LayoutInit, options: AttachBufferOptions = {}): OpenCLTensor {
    return attachedBuffer(this, handle, init, options);
  }

  /**
   * Another queue, of its first device unless told otherwise.
   *
   * @throws {ArgumentError} for a device that is not its own, or keeps no times of commands.
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
   * Uses a `cl_command_queue` that somebody else made, and retains it; its profiling is what it says. Our work is ordered
   * by fences as on any queue. What others submit to it is theirs to declare, by `tensor.usedBy`; our end neither waits
   * for it nor ends it, but `finish()`, and a blocking call of a driver's that finishes the queue (PoCL 3.1), wait for
   * it: for ever where it waits for a user event that nobody sets.
   *
   * @param handle a live `cl_command_queue`: a false one ends the process
   * @throws {ArgumentError} where it is of another context, runs commands out of order, or is no handle.
   */
  attachQueue(handle: bigint): OpenCLQueue {
    return new OpenCLQueue(this, handleIn(handle, "handle"));
  }

  /**
   * A fence at a `cl_event` that somebody else made, which is retained. The queue of its command is flushed.
   *
   * A user event that is not set is never waited for by blocking, nor is what stands behind it: who sets it may need
   * this thread for that. Await it; that lasts until it is set. Of another event it is not known what it waits for:
   * where that is a user event, a synchronous wait lasts until somebody sets it.
   *
   * @param handle a live `cl_event`: a false one ends the process
   * @throws {ArgumentError} where it is of another context, or no handle.
   */
  attachEvent(handle: bigint): Fence {
    return attachedEvent(this, handle);
  }

  /**
   * Builds OpenCL C for each of its devices, or takes what a cache has kept of it.
   *
   * @throws {BuildError} with the compiler's log.
   * @throws whatever the cache does.
   */
  program(source: string, options: ProgramOptions = {}): OpenCLProgram {
    return programFromSource(this, source, options);
  }

  /**
   * The program that {@link OpenCLProgram.binary} made bytes of.
   *
   * @throws {BinaryError} where they were changed, are for another device or driver, or the driver refuses them.
   */
  programFromBinary(bytes: Uint8Array): OpenCLProgram {
    return programFromBinary(this, bytes);
  }

  /**
   * Attaches to a `cl_program` of this context that somebody else made and built, and retains it. Its kernels can be
   * used where it was built with `-cl-kernel-arg-info`.
   *
   * @param handle a live `cl_program`: a false one ends the process
   * @throws {ArgumentError} for what is no handle, a program of another context, and one that is not built.
   * @throws {NativeCallError} where the driver does not know it.
   */
  attachProgram(handle: bigint): OpenCLProgram {
    return attachedProgram(this, handle);
  }

  /**
   * One more owner of the `cl_context` and of its first device each, for a library that gives both up by itself, as
   * OpenCV's attachContext does; the way back, until it does, goes on the undo list. For those who write mappers.
   */
  share(undo: Undo): void {
    shareContext(this.handle, this.device.handle, undo);
  }

  /**
   * The least alignment at which its devices were proven to use host memory in place, as a rule for
   * `host.checkAlignment`; undefined where they never do. Runs the proofs that it needs, once.
   */
  aliasRule(): AlignmentRule | undefined {
    this.resource.assertLive();
    const aliases = (address: number, length: 64 | 1) => this.aliasing.prove(BigInt(address), length).aliases;
    if (!aliases(4096, 64)) return undefined;
    const length = aliases(4096, 1) ? 1 : 64;
    let address = 4096;
    while (address > 1 && aliases(address / 2, length)) address /= 2;
    const source = `proven on ${this.name} (${this.device.platform})`;
    return { name: `${this.name}: in place`, address, length, advice: true, source };
  }

  /** Where a sub-buffer may begin (CL_DEVICE_MEM_BASE_ADDR_ALIGN), as a rule. */
  subBufferRule(): AlignmentRule {
    const source = "CL_DEVICE_MEM_BASE_ADDR_ALIGN";
    return { name: `${this.name}: sub-buffers`, address: this.subBufferAlign, length: 1, advice: false, source };
  }

  /** The one of its devices that a program gave. @throws {ArgumentError} for any other. */
  deviceIn(given: OpenCLDevice): OpenCLDevice {
    const { handle } = object(given, "device");
    const device = this.devices.find((each) => each.handle === handle);
    if (device !== undefined) return device;
    throw new ArgumentError(`device: ${shown(given)} is none of ${this.name}.`, {
      api: "opencl",
      argument: "device",
      hint: "Pass one of cl.devices.",
    });
  }

  /** Counts what was copied because it was asked for: for those who write mappers. */
  countCopied(bytes: number): void {
    this.#bytesCopied += bytes;
  }
}
