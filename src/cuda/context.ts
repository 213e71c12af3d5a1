import { cudaMemcpyDefault } from "../../ffi/cuda_runtime/constants.ts";
import type { CudaStream as StreamHandle } from "../../ffi/cuda_runtime/handles.ts";
import type { Address } from "../../ffi/address.ts";
import { type Names, object, optionsIn } from "../core/argument.ts";
import type { Call } from "../core/device/driver.ts";
import type { Memory } from "../core/device/memory.ts";
import type { Context, DeviceId, Target } from "../core/graph/context.ts";
import { throwAll } from "../core/errors.ts";
import type { FrameInfo } from "../core/layout/frame_info.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { Metadata } from "../core/tensors/metadata.ts";
import { forgotten } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { type Undo, unwind } from "../core/life/undo.ts";
import { CudaArray, type CudaArrayInit } from "./arrays/array.ts";
import { checks } from "./check.ts";
import { chosenDevice, type CudaDevice, type CudaDeviceChoice } from "./device.ts";
import {
  assertMapsHost,
  type CudaDeviceFlag,
  type CudaSchedule,
  currentFlags,
  scheduleIn,
  setSchedule,
} from "./device_flags.ts";
import { check } from "./errors.ts";
import { CudaDmaBuf } from "./dmabuf.ts";
import type { LaneDevice } from "./driver.ts";
import { assertOwnStream } from "./foreign_stream.ts";
import { type CudaEventHandle, CudaSharedEvent } from "./ipc/event.ts";
import { type CudaMemoryExport, type CudaMemoryHandle, exportMemory, openMemory } from "./ipc/memory.ts";
import { cudart } from "./library.ts";
import { CudaHostMemory } from "./host_memory.ts";
import { type DeviceAllocation, deviceMemory } from "./memory/device.ts";
import { CudaMemoryPool, type MemoryPoolOptions } from "./memory/device_pool.ts";
import { CudaRegistration } from "./memory/keep.ts";
import { CudaManaged } from "./memory/managed.ts";
import { type CudaPlace, framed, ownedTensor } from "./memory/memory.ts";
import { CudaPinned } from "./memory/pinned.ts";
import type { RegisterOptions } from "./memory/register_flags.ts";
import type { ProgramOptions } from "./kernels/source.ts";
import { CudaVirtual } from "./memory/virtual.ts";
import { CudaPeers } from "./peer.ts";
import { callsTo, retainPrimary, type Within } from "./primary_context.ts";
import { type CudaProgram, programFromCubin, programFromPtx, programFromSource } from "./program.ts";
import { CudaStream, type StreamOptions } from "./stream.ts";
import { onStream, type StreamLane } from "./stream_lane.ts";
import { hostPorts } from "./memory/host_ports.ts";
import { CudaTensor } from "./tensor.ts";
import { CudaTimer } from "./timer.ts";

/** Options of {@link CudaContext.open}. */
export interface CudaOptions extends CudaDeviceChoice {
  /** How a thread of this process waits for the device; what the device's context has, or `"auto"`, by default. */
  readonly schedule?: CudaSchedule;
  /**
   * Do kernels reach pinned memory of the host by an address? They do wherever the device can (canMapHostMemory), and not
   * elsewhere: what differs from that is refused. There is no flag to set. Programs of old call
   * `cudaSetDeviceFlags(cudaDeviceMapHost)` before anything else, since flags are settled when the context is made; since
   * CUDA 3.2 every context behaves as with it, and cudaSetDeviceFlags takes it for granted.
   */
  readonly mapHost?: boolean;
}

const OPTIONS: Names<CudaOptions> = { ordinal: true, uuid: true, name: true, schedule: true, mapHost: true };

/**
 * A GPU under CUDA, by its primary context, which every library of the process shares that uses CUDA's runtime. It is its
 * own target: memory that its kernels reach.
 *
 * The thread's current device is another matter: each call finds it as it was.
 *
 * Disposing it disposes all that lives in it. The primary context stays until the process ends, since libcudart has one
 * too from its first call on (seen with 12.0, 12.9 and 13.0).
 *
 * @example
 * ```ts ignore
 * import { CudaContext } from "@samepage/interop/cuda";
 *
 * using cuda = CudaContext.open();
 * console.log(cuda.name, cuda.device.computeCapability);
 * ```
 */
export class CudaContext extends NativeObject implements Context, LaneDevice, Target<CudaTensor> {
  /** The API's name. */
  readonly api = "cuda";
  /** The kind of memory: what kernels reach; its own allocations are device memory. */
  readonly kind = "cuda";
  /** Itself. */
  readonly context: this = this;
  /** Where a route may lead. */
  readonly targets: readonly Target[];
  /** How the host has memory that this context's kernels reach: for those who write mappers. */
  readonly ports: Memory<CudaTensor> = hostPorts(this);
  /** The device's name. */
  readonly name: string;
  /** UUID and PCI address. */
  readonly id: DeviceId;
  /** The device. */
  readonly device: CudaDevice;
  /** Its end of life: streams, programs and tensors end first. */
  readonly resource: Resource;
  /** The stream that everything uses unless told otherwise; it does not wait for the legacy default stream. */
  readonly stream: CudaStream;
  /** Pinned memory of the host. */
  readonly pinned: CudaPinned;
  /** Managed memory. */
  readonly managed: CudaManaged;
  /** Virtual memory: with an fd, and for several devices. */
  readonly virtual: CudaVirtual;
  /** The priorities of streams: `greatest` is the smaller number. */
  readonly priorities: { readonly least: number; readonly greatest: number };
  /** Is its device the thread's current one? For those who write mappers. */
  readonly isCurrent: () => boolean;
  /** Is it device 0? */
  readonly isFirst: boolean;
  /** Calls with its device as the thread's current one: for those who write mappers. */
  readonly within: Within;
  /** Calls that take their device from an event or a stream of its own: for those who write mappers. */
  readonly near: Within;
  /** Memory of the host, as its kernels reach it: for those who write mappers. */
  readonly hostMemory: CudaHostMemory;
  /** The memory of other devices, as its kernels reach it: for those who write mappers. */
  readonly peers: CudaPeers;
  #bytesCopied = 0;

  private constructor(device: CudaDevice, handle: bigint, undo: Undo) {
    super();
    this.device = device;
    this.name = device.name;
    this.id = device.id;
    const calls = callsTo(handle, device.ordinal === 0);
    this.isCurrent = calls.isCurrent;
    this.isFirst = calls.isFirst;
    this.within = calls.within;
    this.near = calls.near;
    this.priorities = calls.within(priorityRange);
    this.resource = new Resource({ name: `cuda context (${device.name})`, undo });
    this.pinned = new CudaPinned(this);
    this.managed = new CudaManaged(this);
    this.virtual = new CudaVirtual(this);
    this.hostMemory = new CudaHostMemory(this);
    this.peers = new CudaPeers(this);
    this.targets = [this, this.pinned, this.managed, this.virtual];
    try {
      this.stream = new CudaStream(this);
    } catch (error) {
      this.resource.dispose();
      throw error;
    }
    forgotten.register(this, this.resource.name, this);
  }

  /**
   * Opens a device: the first, unless told otherwise. How threads wait for it is settled before its context is made, which
   * the first does that uses the device in this process, be it another library.
   *
   * @throws {LibraryNotFoundError} where there is no libcudart, or no driver.
   * @throws {NativeCallError} where there is no GPU, or the driver is too old.
   * @throws {ArgumentError} where no device fits, or its context waits in another way already; or for an option that is none.
   */
  static open(options: CudaOptions = {}): CudaContext {
    const { schedule: wanted, mapHost, ...choice } = optionsIn(options, OPTIONS);
    const schedule = scheduleIn(wanted);
    const device = chosenDevice(choice);
    assertMapsHost(device, mapHost);
    const undo: Undo = [];
    try {
      if (schedule !== undefined) setSchedule(device, schedule);
      const handle = retainPrimary(device.ordinal, undo);
      return new CudaContext(device, handle, undo);
    } catch (error) {
      unwind(undo);
      throw error;
    }
  }

  /** Bytes that were copied between host and device because it was asked for. */
  get bytesCopied(): number {
    return this.#bytesCopied;
  }

  /** The flags of the device's context by CUDA's names, whoever has set them (cudaGetDeviceFlags). */
  get flags(): readonly CudaDeviceFlag[] {
    this.resource.assertLive();
    return this.within(currentFlags);
  }

  /** Memory of the device: how much there is, and how much of it nobody uses, in bytes (cudaMemGetInfo). */
  memory(): { readonly free: number; readonly total: number } {
    this.resource.assertLive();
    const [free, total] = [new BigUint64Array(1), new BigUint64Array(1)];
    this.within(() => check(cudart().cudaMemGetInfo(free, total), "cudaMemGetInfo"));
    return { free: Number(free[0]), total: Number(total[0]) };
  }

  /** True for tensors of this target. */
  is(value: Mapped): value is CudaTensor {
    return value instanceof CudaTensor && value.target === this;
  }

  /**
   * Allocates memory of the device (cudaMalloc, or cudaMallocPitch where `pitch` is true), not initialised.
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride.
   * @throws {NativeCallError} where there is not enough memory.
   */
  allocate(init: DeviceAllocation): CudaTensor {
    const { block, at } = deviceMemory(this, init);
    return ownedTensor(this, block, at);
  }

  /**
   * Allocates an array, which kernels see through textures and surfaces.
   *
   * @throws {ArgumentError} for what the device has no array of.
   * @throws {NativeCallError} where there is not enough memory.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * using image = cuda.array({ width: 640, height: 480, channels: 4, dtype: "u8" });
   * using texture = image.texture({ filter: "linear", read: "normalized" });
   * using program = cuda.program(`extern "C" __global__ void half(cudaTextureObject_t image, float4* to) {
   *   int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
   *   if (x < 320) to[y * 320 + x] = tex2D<float4>(image, 2 * x + 1, 2 * y + 1);
   * }`);
   * using half = program.kernel("half", ["cudaTextureObject_t", "float4*"]);
   * using to = cuda.allocate({ shape: [240, 320, 4], dtype: "f32" });
   * half.run({ grid: [3, 240], block: [128] }, [texture.handle, to]);
   * texture.usedBy(cuda.stream.fence()); // its end waits for the kernel, which a handle does not tell of
   * ```
   */
  array(init: CudaArrayInit): CudaArray {
    return new CudaArray(this, init);
  }

  /**
   * A pool of device memory of one's own for `stream.allocate()` (cudaMemPoolCreate): it keeps what is given back.
   *
   * @throws {ArgumentError} where the device has no memory pools.
   */
  createPool(options: MemoryPoolOptions = {}): CudaMemoryPool {
    return new CudaMemoryPool(this, options);
  }

  /**
   * Another stream. Work on one tensor is ordered between streams by itself, on the device; what has nothing to do with each
   * other runs side by side.
   *
   * @throws {ArgumentError} for a priority that the device does not have.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * using copies = cuda.createStream({ priority: cuda.priorities.greatest });
   * using from = cuda.pinned.allocate({ shape: [1 << 20], dtype: "u8" });
   * using to = cuda.allocate({ shape: [1 << 20], dtype: "u8" });
   * copies.copy(from, to); // beside what cuda.stream is at
   * const fence = copies.fence();
   * cuda.stream.waitFor(fence); // for work that does not name the tensors; kernels take { stream, after: fence }
   * ```
   */
  createStream(options: StreamOptions = {}): CudaStream {
    this.resource.assertLive();
    return new CudaStream(this, object(options, "options"));
  }

  /** Measures how long work takes, by the device's clock. */
  timer(): CudaTimer {
    this.resource.assertLive();
    return new CudaTimer(this);
  }

  /**
   * Uses a `cudaStream_t` of this device that somebody else made, who keeps it: it has to live for as long as this does.
   * 1 and 2 are CUDA's own default streams (cudaStreamLegacy, cudaStreamPerThread).
   *
   * @param handle a live `cudaStream_t`: a false one ends the process
   * @throws {ArgumentError} where it is of another device, or of another context of this one than the primary.
   */
  attachStream(handle: bigint): CudaStream {
    this.resource.assertLive();
    if (handle === 0n) throw checks.wrong("handle", "it is null.", "CUDA's default stream is 1n, cudaStreamLegacy.");
    const stream = checks.handleIn<StreamHandle>(handle, "handle");
    assertOwnStream(stream, this);
    return new CudaStream(this, stream);
  }

  /**
   * Compiles CUDA C++ for this device (NVRTC), and loads it; blocks.
   *
   * @throws {CudaBuildError} with the compiler's log.
   * @throws {LibraryNotFoundError} where there is no NVRTC.
   * @throws {InteropError} where libcudart is older than 12.8.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * using program = cuda.program(`extern "C" __global__ void twice(float* x) { x[blockIdx.x] *= FACTOR; }`, {
   *   defines: { FACTOR: 2 },
   * });
   * using twice = program.kernel("twice", ["float*"]);
   * using numbers = cuda.allocate({ shape: [1000], dtype: "f32" });
   * twice.run({ grid: [1000], block: [1] }, [numbers]);
   * ```
   */
  program(source: string, options: ProgramOptions = {}): CudaProgram {
    return programFromSource(this, source, options);
  }

  /**
   * Loads PTX, which the driver compiles for this device.
   *
   * @throws {ArgumentError} for what is no PTX.
   * @throws {CudaBuildError} with the log of the driver's compiler.
   */
  programFromPtx(text: string): CudaProgram {
    return programFromPtx(this, text);
  }

  /**
   * Loads a cubin or a fatbin, of which the driver takes a copy.
   *
   * @throws {ArgumentError} for what is none, or is cut off.
   * @throws {NativeCallError} where it is of no use on this device.
   */
  programFromCubin(bytes: Uint8Array): CudaProgram {
    return programFromCubin(this, bytes);
  }

  /**
   * Gives memory of {@link allocate} out to other processes (CUDA IPC): all of its allocation, whatever is lent of it here,
   * and of which part this is a tensor. It has to live for as long as they use it.
   *
   * CUDA shares whole pages of 2 MiB: of an allocation that takes less, the others see what lies beside it, too. Give out
   * what is a multiple of that.
   *
   * @throws {ArgumentError} for memory of any other kind.
   */
  exportMemory(tensor: CudaTensor): CudaMemoryExport {
    return exportMemory(this, tensor);
  }

  /**
   * Opens memory that another process has given out: by the bytes of its `cuda.exportMemory()`, or by a
   * `cudaIpcMemHandle_t` of whatever program, and what lies there. What it does with that is not known here: agree on it,
   * by an event that you share.
   *
   * @throws {ArgumentError} where the bytes were changed, or are of this same process, or of another device.
   * @throws {LayoutError} where the memory is shorter than what is said to lie there.
   * @throws {NativeCallError} where the memory is gone.
   */
  openMemory(given: ArrayBufferView | CudaMemoryHandle): CudaTensor {
    return openMemory(this, given);
  }

  /**
   * An event that other processes can wait for and record (CUDA IPC). A wait is for what was recorded last, and for nothing
   * where nothing was: the one who records tells the other, by whatever they talk through.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * using memory = cuda.allocate({ shape: [1 << 21], dtype: "u8" });
   * using event = cuda.exportEvent();
   * cuda.stream.fill(memory, 7);
   * event.record(); // now the other may be told of it
   * const told = { memory: cuda.exportMemory(memory).bytes, event: event.bytes };
   *
   * // In the other process, which was sent these bytes:
   * //   using memory = cuda.openMemory(told.memory);
   * //   using event = cuda.openEvent(told.event);
   * //   cuda.stream.waitFor(event.fence()); // on the device, before what is submitted next
   * console.log(told.memory.length, told.event?.length);
   * ```
   */
  exportEvent(): CudaSharedEvent {
    return new CudaSharedEvent(this);
  }

  /**
   * Opens an event that another process has made: by the bytes of its `cuda.exportEvent()`, or by a
   * `cudaIpcEventHandle_t` of whatever program.
   *
   * @throws {ArgumentError} where the bytes were changed, or are of this same process, or of another device.
   * @throws {NativeCallError} where the event is gone.
   */
  openEvent(given: ArrayBufferView | CudaEventHandle): CudaSharedEvent {
    return new CudaSharedEvent(this, given);
  }

  /**
   * A dma-buf of a tensor's bytes, which are memory of the device in whole pages.
   *
   * @throws {LayoutError} where they begin or end in the middle of a page.
   * @throws {ArgumentError} for memory of any other kind, and where the device has no dma-bufs.
   */
  exportDmaBuf(tensor: CudaTensor): CudaDmaBuf {
    return new CudaDmaBuf(this, tensor);
  }

  /** Makes the tensor of memory that somebody else has: for those who write mappers. */
  tensor(resource: Resource, place: CudaPlace, parent: Mapped): CudaTensor {
    return new CudaTensor({ target: this, ...place, resource, parent });
  }

  /** Makes a frame of planes whose bytes one resource holds: for those who write mappers. */
  frame(
    resource: Resource,
    info: FrameInfo,
    planes: readonly CudaPlace[],
    about: { readonly metadata?: Metadata; readonly parent?: Mapped },
  ): Frame<CudaTensor> {
    return framed(this, resource, info, planes, about);
  }

  /**
   * A copy of bytes between two addresses, of a device or of the host: for those who write mappers. The memory has to stay
   * until it is over.
   */
  copyBytes(to: Address, from: Address, byteLength: number): Call<StreamLane> {
    const size = BigInt(byteLength);
    return onStream("cudaMemcpyAsync", (stream) => {
      const code = cudart().cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream);
      if (code === 0) this.countCopied(byteLength);
      return code;
    });
  }

  /**
   * Registers a host tensor's memory, all of its block, until the answered object is disposed: maps of it to CUDA that
   * come again and again then take no native call but one. They take it as it is registered.
   *
   * @throws {ArgumentError} where it does not begin at a page, is a file, or the device registers none, or not so; where
   * it is registered already, with other flags.
   * @throws {NativeCallError} where the driver refuses: the pages are registered by somebody else.
   */
  register(tensor: Mapped, options: RegisterOptions = {}): CudaRegistration {
    return new CudaRegistration(this, tensor, options);
  }

  /** The device's primary context stays until the answered function is called: for those who write mappers. */
  keepPrimary(): () => void {
    const undo: Undo = [];
    retainPrimary(this.device.ordinal, undo);
    return () => throwAll(unwind(undo), "letting the device go");
  }

  /** Counts what was copied because it was asked for: for those who write mappers. */
  countCopied(bytes: number): void {
    this.#bytesCopied += bytes;
  }
}

function priorityRange(): { least: number; greatest: number } {
  const [least, greatest] = [new Int32Array(1), new Int32Array(1)];
  check(cudart().cudaDeviceGetStreamPriorityRange(least, greatest), "cudaDeviceGetStreamPriorityRange");
  return { least: least[0], greatest: greatest[0] };
}
