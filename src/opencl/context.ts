import { NULL } from "../../ffi/address.ts";
import { CL_CONTEXT_DEVICES, CL_CONTEXT_PLATFORM, CL_MEM_ALLOC_HOST_PTR } from "../../ffi/opencl/constants.ts";
import type { ClContext, ClDeviceId } from "../../ffi/opencl/handles.ts";
import { object } from "../core/argument.ts";
import type { AlignmentRule } from "../core/alignment.ts";
import { Allocation } from "../core/allocation.ts";
import type { Context, DeviceId, Target } from "../core/context.ts";
import { ArgumentError, type InteropError } from "../core/errors.ts";
import { Grant } from "../core/grant.ts";
import { describeLayout, layout, type LayoutInit } from "../core/layout.ts";
import { ledger } from "../core/ledger.ts";
import { environment } from "../core/library.ts";
import type { Mapped } from "../core/mapped.ts";
import { Resource } from "../core/resource.ts";
import type { Undo } from "../core/undo.ts";
import { AliasProofs } from "./alias.ts";
import { type DeviceChoice, deviceOf, matches, type OpenCLDevice, openclDevices } from "./device.ts";
import { assertText } from "./check.ts";
import { check, errcode, made } from "./errors.ts";
import { OpenCLUserEvent } from "./user_event.ts";
import { infoU64s } from "./info.ts";
import { opencl } from "./library.ts";
import type { OpenCLImageFormat, PixelFormat } from "./image_format.ts";
import type { ImageTarget } from "./image_target.ts";
import { type ImageType, imageTypeOf } from "./image_type.ts";
import { type ImageOptions, OpenCLImages } from "./images.ts";
import { OpenCLMemory } from "./memory.ts";
import { OpenCLProgram, type ProgramOptions } from "./program.ts";
import { OpenCLQueue } from "./queue.ts";
import { OpenCLSampler, type SamplerInit } from "./sampler.ts";
import { createBuffer, OpenCLTensor } from "./tensor.ts";

/**
 * An OpenCL context with one device and an in-order queue. It is its own target: buffers.
 *
 * @example
 * ```ts
 * import { OpenCLContext } from "@samepage/interop/opencl";
 *
 * using cl = OpenCLContext.open();
 * console.log(cl.device.name, cl.device.platform);
 * ```
 */
export class OpenCLContext implements Context, Target<OpenCLTensor> {
  /** The API's name. */
  readonly api = "opencl";
  /** The kind of memory: buffers. */
  readonly kind = "opencl";
  /** Itself. */
  readonly context: Context = this;
  /** Itself. */
  readonly targets: readonly Target[] = [this];
  /** Its device. */
  readonly device: OpenCLDevice;
  /** Its end of life: queues, programs and tensors end first. */
  readonly resource: Resource;
  /** The queue that everything uses unless told otherwise. */
  readonly queue: OpenCLQueue;
  /** What is known of this device and host memory. */
  readonly aliasing: AliasProofs;
  /** Its memory: for those who write mappers. */
  readonly memory: OpenCLMemory;
  /** Its images: for those who write mappers. */
  readonly images: OpenCLImages;
  readonly #handle: ClContext;
  #bytesCopied = 0;

  private constructor(handle: ClContext, device: OpenCLDevice, undo: Undo) {
    this.#handle = handle;
    this.device = device;
    this.resource = new Resource({ name: `opencl context (${this.name})`, undo });
    this.aliasing = new AliasProofs(this);
    this.memory = new OpenCLMemory(this);
    this.images = new OpenCLImages(this);
    try {
      this.queue = new OpenCLQueue(this);
    } catch (error) {
      this.resource.dispose();
      throw error;
    }
  }

  /**
   * Opens a device: the one that was asked for; else the one that `SAMEPAGE_OPENCL_DEVICE` names as
   * `platform:device`, where the environment may be read; else the first GPU; else the first device.
   *
   * @throws {LibraryNotFoundError} where there is no OpenCL loader.
   * @throws {ArgumentError} where no device fits; the hint lists those that are there.
   */
  static open(choice: DeviceChoice = {}): OpenCLContext {
    object(choice, "choice");
    for (const [name, value] of Object.entries(choice)) if (value !== undefined) assertText(value, `choice.${name}`);
    const devices = openclDevices();
    const wanted = Object.keys(choice).length > 0 ? choice : fromEnvironment();
    const fitting = devices.filter((device) => matches(device, wanted));
    const device = fitting.find((d) => d.type === "gpu") ?? fitting[0];
    if (device === undefined) throw noDevice(wanted, devices);
    const properties = new BigUint64Array([CL_CONTEXT_PLATFORM, device.platformHandle, 0n]);
    const handle = made(
      opencl().clCreateContext(properties, 1, new BigUint64Array([device.handle]), NULL, null, errcode),
      "clCreateContext",
    );
    return OpenCLContext.#adopt(handle, device);
  }

  /**
   * Attaches to a `cl_context` that somebody else made, and retains it. Its first device is used.
   *
   * @param handle a live `cl_context`: a false one ends the process
   * @throws {NativeCallError} where the driver does not know it.
   */
  static attach(handle: bigint): OpenCLContext {
    if (handle === 0n) throw new ArgumentError("handle: it is null.", { api: "opencl", argument: "handle" });
    const context = handle as ClContext;
    const [first] = infoU64s(
      "clGetContextInfo",
      (name, size, value, written) => opencl().clGetContextInfo(context, name, size, value, written),
      CL_CONTEXT_DEVICES,
    );
    const device = deviceOf(first as ClDeviceId);
    check(opencl().clRetainContext(context), "clRetainContext");
    return OpenCLContext.#adopt(context, device);
  }

  static #adopt(handle: ClContext, device: OpenCLDevice): OpenCLContext {
    ledger.add("opencl.cl_context");
    const undo: Undo = [() => {
      ledger.remove("opencl.cl_context");
      check(opencl().clReleaseContext(handle), "clReleaseContext");
    }];
    return new OpenCLContext(handle, device, undo);
  }

  /** The device's name, for messages. */
  get name(): string {
    return this.device.name;
  }

  /** UUID and PCI address, where the device tells them. */
  get id(): DeviceId {
    return this.device.id;
  }

  /** The `cl_context`. */
  get handle(): ClContext {
    this.resource.assertLive();
    return this.#handle;
  }

  /** The same without a check: what ends the context's objects runs while it is being disposed. */
  get rawHandle(): ClContext {
    return this.#handle;
  }

  /** Bytes that `queue.read` and `queue.write` have copied between host and device. */
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
    this.resource.assertLive();
    const at = layout(init);
    const undo: Undo = [];
    const byteLength = at.byteOffset + at.byteLength;
    const mem = createBuffer(this, CL_MEM_ALLOC_HOST_PTR, byteLength, NULL, undo);
    const allocation = new Allocation({
      kind: "opencl.buffer",
      byteLength,
      // A view of it that has escaped would be used after the driver has freed the memory.
      free: (fate) => fate === "unused" ? undo[0]() : undefined,
    });
    allocation.join();
    const name = `opencl tensor ${describeLayout(at)}`;
    const grant = Grant.root(allocation, at.byteOffset, byteLength, "read-write", name);
    const resource = new Resource({
      name,
      grants: [grant],
      owners: [this.resource],
      undo: [() => allocation.leave()],
    });
    const root = { mem, hostAddress: undefined, hostWriters: 0 };
    return new OpenCLTensor({ target: this, handle: mem, layout: at, resource, root, origin: 0 });
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

  /** Another in-order queue. */
  createQueue(): OpenCLQueue {
    return new OpenCLQueue(this);
  }

  /** Builds OpenCL C. @throws {BuildError} with the compiler's log. */
  program(source: string, options: ProgramOptions = {}): OpenCLProgram {
    return new OpenCLProgram(this, source, options);
  }

  /** An event that you set. */
  userEvent(): OpenCLUserEvent {
    return new OpenCLUserEvent(this);
  }

  /**
   * The least alignment at which this device was proven to use host memory in place, as a rule for
   * `host.checkAlignment`; undefined where it never does. Runs the proofs that it needs, once.
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
    return { name: `${this.name}: sub-buffers`, address: this.device.subBufferAlign, length: 1, advice: false, source };
  }

  /** Counts what was copied because it was asked for. */
  countCopied(bytes: number): void {
    this.#bytesCopied += bytes;
  }

  /** Disposes all that lives in it, then releases it. */
  [Symbol.dispose](): void {
    this.resource.dispose();
  }

  /** The same without blocking the event loop. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.resource.disposeAsync();
  }
}

function fromEnvironment(): DeviceChoice {
  const [platform, device] = (environment("SAMEPAGE_OPENCL_DEVICE") ?? "").split(":");
  return { ...(platform ? { platform } : {}), ...(device ? { device } : {}) };
}

function noDevice(wanted: DeviceChoice, devices: readonly OpenCLDevice[]): InteropError {
  const there = devices.map((device) => `${device.platform}: ${device.name} (${device.type})`);
  return new ArgumentError(
    devices.length === 0 ? "OpenCL has no device." : `No OpenCL device fits ${JSON.stringify(wanted)}.`,
    {
      api: "opencl",
      fn: "clGetDeviceIDs",
      argument: "choice",
      hint: devices.length === 0 ? "Install a driver: apt install pocl-opencl-icd." : `There is ${there.join("; ")}.`,
    },
  );
}
