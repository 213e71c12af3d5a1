import type { Mapper } from "../core/graph/mapper.ts";
import { EDGES } from "./edges/mod.ts";
import { cudaMemcpyDefault } from "../../ffi/cuda_runtime/constants.ts";
import type { CudaStream as StreamHandle } from "../../ffi/cuda_runtime/handles.ts";
import type { Address } from "../../ffi/address.ts";
import { type Names, object, optionsIn } from "../core/argument.ts";
import type { Arrays, Call, Memory, Natives } from "../core/contract.ts";
import type { ImportSemaphoreOptions } from "../core/device/foreign_semaphore.ts";
import type { Line } from "../core/device/line.ts";
import { Proofs } from "../core/device/proofs.ts";
import type { Target } from "../core/graph/context.ts";
import type { FrameInfo } from "../core/layout/frame_info.ts";
import type { LayoutInit } from "../core/layout/layout.ts";
import type { AttachOptions } from "../core/tensors/adopt.ts";
import { importMemory, type MemoryImport } from "../core/tensors/foreign_memory.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { Metadata } from "../core/tensors/metadata.ts";
import type { Resource } from "../core/life/resource.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { CudaPrimaryContext } from "./base.ts";
import { CudaArray, type CudaArrayInit } from "./arrays/array.ts";
import { assertFormat, type CudaImageFormat } from "./arrays/format.ts";
import { checks } from "./check.ts";
import { chosenDevice, type CudaDevice, type CudaDeviceChoice } from "./device.ts";
import { assertMapsHost, type CudaSchedule, scheduleIn, setSchedule } from "./device_flags.ts";
import { CudaDmaBuf } from "./dmabuf.ts";
import { devicePorts } from "./external/ports.ts";
import { assertOwnStream } from "./foreign_stream.ts";
import { type CudaEventHandle, CudaSharedEvent } from "./ipc/event.ts";
import { type CudaMemoryExport, type CudaMemoryHandle, exportMemory, openMemory } from "./ipc/memory.ts";
import { cudart } from "./library.ts";
import { CudaHostMemory, hostPorts } from "./host_memory.ts";
import { CudaImageTarget } from "./image.ts";
import { arraysOf, nativesOf, streamsOf } from "./natives.ts";
import { attachedTensor } from "./memory/attached.ts";
import { type DeviceAllocation, deviceFrame, deviceTensor } from "./memory/device.ts";
import { CudaMemoryPool, type MemoryPoolOptions } from "./memory/device_pool.ts";
import { CudaRegistration } from "./memory/keep.ts";
import { CudaManaged } from "./memory/managed.ts";
import { type CudaPlace, framed } from "./memory/memory.ts";
import { CudaPinned } from "./memory/pinned.ts";
import type { RegisterOptions } from "./memory/register_flags.ts";
import type { ProgramOptions } from "./kernels/source.ts";
import { CudaVirtual } from "./memory/virtual.ts";
import { CudaPeers } from "./peer.ts";
import { retainPrimary } from "./primary_context.ts";
import { type CudaProgram, programFromCubin, programFromPtx, programFromSource } from "./program.ts";
import { CudaSemaphore } from "./semaphore.ts";
import { CudaStream, type StreamOptions } from "./stream.ts";
import { onStream, type StreamLane } from "./stream_lane.ts";
import { CudaTensor } from "./tensor.ts";
import { CudaTimer } from "./timer.ts";

/** Options of {@link CudaContext.open}. */
export interface CudaOptions extends CudaDeviceChoice {
  /** How threads wait for the device; by default the schedule of the device's context, or `"auto"` without one. */
  readonly schedule?: CudaSchedule;
  /**
   * Whether kernels reach pinned host memory by an address. They do exactly if the device can (canMapHostMemory), and any
   * other value is refused. Since CUDA 3.2 every context behaves as if `cudaSetDeviceFlags(cudaDeviceMapHost)` was called.
   */
  readonly mapHost?: boolean;
}

const FORMAT: Names<CudaImageFormat> = { dtype: true, channels: true };
const OPTIONS: Names<CudaOptions> = { ordinal: true, uuid: true, name: true, schedule: true, mapHost: true, on: true };

/**
 * A GPU under CUDA, by its primary context, which all users of CUDA's runtime in the process share. The context is a target:
 * memory that its kernels reach. Calls leave the thread's current device unchanged.
 *
 * Disposing it disposes all its objects. The primary context stays until the process ends, because libcudart retains it
 * from its first call on (seen with 12.0, 12.9 and 13.0).
 *
 * @example
 * ```ts ignore
 * import { CudaContext } from "@samepage/interop/cuda";
 *
 * using cuda = CudaContext.open();
 * console.log(cuda.name, cuda.device.computeCapability);
 * ```
 */
export class CudaContext extends CudaPrimaryContext {
  /** Its targets in routes. */
  override readonly targets: readonly Target[];
  /** The edges to and from its memory that no port makes. */
  readonly edges: readonly Mapper[] = EDGES;
  /** Its handles, and pictures by their addresses. For libraries in the same `CUcontext`. */
  readonly natives: Natives;
  /** Its tensors by their addresses. For DLPack. */
  readonly arrays: Arrays;
  /** The ports to the host that all its kinds of memory have. For mappers. */
  readonly hostPorts: Memory<CudaTensor> = hostPorts(this);
  /** Its ports: to the host, and memory of other APIs by its fd. For mappers. */
  readonly ports: Memory<CudaTensor>;
  /** samepage's default stream, which does not wait for the legacy default stream. */
  readonly stream: CudaStream;
  /** Pinned memory of the host. */
  readonly pinned: CudaPinned;
  /** Managed memory. */
  readonly managed: CudaManaged;
  /** Virtual memory: with an fd, and for several devices. */
  readonly virtual: CudaVirtual;
  /** Proofs that its kernels use memory in place. */
  readonly proofs: Proofs<CudaContext>;
  /** Its kernels' access to host memory. For mappers. */
  readonly hostMemory: CudaHostMemory;
  /** Its kernels' access to memory of other devices. For mappers. */
  readonly peers: CudaPeers;
  readonly #images = new Map<string, CudaImageTarget>();

  private constructor(device: CudaDevice, handle: bigint, undo: Undo) {
    super(device, handle, undo);
    this.ports = devicePorts(this, this.hostPorts, undo);
    this.pinned = new CudaPinned(this);
    this.managed = new CudaManaged(this);
    this.virtual = new CudaVirtual(this);
    this.proofs = new Proofs<CudaContext>(this, device.id.uuid);
    this.hostMemory = new CudaHostMemory(this);
    this.peers = new CudaPeers(this);
    this.targets = [this, this.pinned, this.managed, this.virtual];
    this.stream = new CudaStream(this);
    const streams = streamsOf(this);
    this.natives = nativesOf(this, streams);
    this.arrays = arraysOf(this, streams);
    this.opened();
  }

  /**
   * Opens a device, by default the first. Its schedule has to be set before any library of the process uses the device.
   *
   * @throws {LibraryNotFoundError} if there is no libcudart, or no driver.
   * @throws {NativeCallError} if there is no GPU, or the driver is too old.
   * @throws {ArgumentError} if no device fits, its context has another schedule already, or an option is unknown.
   */
  static open(options: CudaOptions = {}): CudaContext {
    const { schedule: wanted, mapHost, ...choice } = optionsIn(options, OPTIONS);
    const schedule = scheduleIn(wanted);
    if (mapHost !== undefined) checks.assertBoolean(mapHost, "mapHost");
    const device = chosenDevice(choice);
    if (mapHost !== undefined) assertMapsHost(device, mapHost);
    return allOrNothing("opening a GPU", (undo) => {
      if (schedule !== undefined) setSchedule(device, schedule);
      const handle = retainPrimary(device.ordinal, undo);
      return new CudaContext(device, handle, undo);
    });
  }

  /** The line of its default stream. For mappers. */
  get line(): Line<StreamLane> {
    return this.stream.line;
  }

  /** True for tensors of this target. */
  is(value: Mapped): value is CudaTensor {
    return value instanceof CudaTensor && value.target === this;
  }

  /**
   * Allocates uninitialised device memory (cudaMalloc, or cudaMallocPitch if `pitch` is true).
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride.
   * @throws {NativeCallError} if memory runs out.
   */
  allocate(init: DeviceAllocation): CudaTensor {
    return deviceTensor(this, init);
  }

  /** Uninitialised device memory. For mappers. */
  allocateBytes(byteLength: number): CudaTensor {
    return deviceTensor(this, { shape: [byteLength], dtype: "u8" });
  }

  /**
   * Allocates uninitialised device memory for all planes of a frame, one after the other (cudaMalloc).
   *
   * @throws {LayoutError} for an impossible format or size.
   * @throws {NativeCallError} if memory runs out.
   */
  allocateFrame(info: FrameInfo): Frame<CudaTensor> {
    return deviceFrame(this, info);
  }

  /**
   * A tensor over CUDA memory that other code made: PyTorch, CuPy, NVDEC, OpenCV's GpuMat. The memory has to live until
   * `owner` is called. If samepage knows the memory already, the tensor is a peer of the tensors there. Managed memory is
   * treated as device memory: the CPU sees it by copies.
   *
   * @param address a `CUdeviceptr`, or any address in an allocation of this device; the driver reports the kind of memory
   * @param init the layout of the elements from there
   * @throws {ArgumentError} for host memory that CUDA does not know, memory that was freed, memory of another device, and an
   * address that is not aligned for the elements.
   * @throws {LayoutError} if the layout reaches past the allocation's end.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * declare const theirs: { address: bigint; stream: bigint; free(): void }; // of another library
   * using stream = cuda.attachStream(theirs.stream);
   * using tensor = cuda.attach(theirs.address, { shape: [480, 640], dtype: "f32" }, {
   *   after: stream.fence(), // its work in flight
   *   owner: () => theirs.free(),
   * });
   * ```
   */
  attach(address: bigint, init: LayoutInit, options: AttachOptions = {}): CudaTensor {
    return attachedTensor(this, address, init, options);
  }

  /**
   * A buffer over other code's memory by its fd (cudaImportExternalMemory). The fd stays the caller's, who may close it at
   * once, whether this succeeds or not. The memory itself lives at least as long as the tensor.
   *
   * samepage does not see the other code's work: order it by semaphores ({@link importSemaphore}) or by `after`. For memory
   * of `cuMemCreate`, call `cuda.virtual.import`.
   *
   * @param fd an opaque fd (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT) of memory on the same device
   * @param init the layout of the elements from the memory's first byte, and what the memory was made with
   * @throws {ArgumentError} for anything but an open fd, another device's `uuid`, and if the device imports no fds.
   * @throws {LayoutError} if the layout reaches past the memory's end.
   * @throws {NativeCallError} if the driver refuses the fd.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * declare const theirs: { uuid: string; exportFd(): number; allocationSize: number }; // a program's own Vulkan code
   * using cuda = CudaContext.open({ uuid: theirs.uuid });
   * using words = cuda.importMemory(theirs.exportFd(), { shape: [256], dtype: "u32", size: theirs.allocationSize });
   * ```
   */
  importMemory(fd: number, init: MemoryImport, options: AttachOptions = {}): CudaTensor {
    return importMemory<CudaTensor>(this, fd, init, options);
  }

  /**
   * Allocates an array, which kernels access through textures and surfaces.
   *
   * @throws {ArgumentError} for arrays that the device does not have.
   * @throws {NativeCallError} if memory runs out.
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
   * half.run({ groups: [3, 240], groupSize: [128] }, [texture.handle, to]);
   * texture.usedBy(cuda.stream.fence()); // its dispose waits for the kernel
   * ```
   */
  array(init: CudaArrayInit): CudaArray {
    return CudaArray.allocate(this, init);
  }

  /**
   * Other APIs' images of a format, as a target of `graph.map`: a `CudaImage` is the same pixels, for textures and surfaces.
   * Returns the same object each time.
   *
   * @throws {ArgumentError} for a format that CUDA has no arrays of.
   *
   * @example
   * ```ts ignore
   * import { MapperGraph } from "@samepage/interop";
   * import { CudaContext } from "@samepage/interop/cuda";
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * using cuda = CudaContext.open();
   * using vulkan = VulkanContext.open({ uuid: cuda.id.uuid! });
   * using graph = new MapperGraph([vulkan, cuda]);
   * using image = vulkan.image("R8G8B8A8_UNORM").allocate({ shape: [480, 640, 4] });
   * using onDevice = graph.map(image, cuda.image({ dtype: "u8", channels: 4 }));
   * using surface = onDevice.array.surface();
   * using program = cuda.program(`extern "C" __global__ void white(cudaSurfaceObject_t image) {
   *   surf2Dwrite(make_uchar4(255, 255, 255, 255), image, 4 * threadIdx.x, blockIdx.x); // x counts bytes
   * }`);
   * using white = program.kernel("white", ["cudaSurfaceObject_t"]);
   * white.run({ groups: [480], groupSize: [640] }, [surface.handle]);
   * surface.usedBy(cuda.stream.fence()); // Vulkan's next command waits for the kernel
   * ```
   */
  image(format: CudaImageFormat): CudaImageTarget {
    this.resource.assertLive();
    const { dtype, channels = 1 } = optionsIn(format, FORMAT, "format");
    assertFormat(dtype, channels);
    const key = `${dtype} ${channels}`;
    let target = this.#images.get(key);
    if (target === undefined) this.#images.set(key, target = new CudaImageTarget(this, { dtype, channels }));
    return target;
  }

  /**
   * Creates a separate pool of device memory for `stream.allocate()` (cudaMemPoolCreate), which keeps freed memory.
   *
   * @throws {ArgumentError} if the device has no memory pools.
   */
  createPool(options: MemoryPoolOptions = {}): CudaMemoryPool {
    return new CudaMemoryPool(this, options);
  }

  /**
   * Creates a stream. The device orders work on one tensor between streams; independent work runs in parallel.
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
   * copies.copy(from, to); // in parallel with cuda.stream
   * const fence = copies.fence();
   * cuda.stream.waitFor(fence); // for work that does not name the tensors; kernels take { stream, after: fence }
   * ```
   */
  createStream(options: StreamOptions = {}): CudaStream {
    this.resource.assertLive();
    return new CudaStream(this, object(options, "options"));
  }

  /** A timer by the device's clock. */
  timer(): CudaTimer {
    this.resource.assertLive();
    return new CudaTimer(this);
  }

  /**
   * Attaches to a `cudaStream_t` of this device that other code owns. The `cudaStream_t` has to outlive the result, which ends
   * before the stream if {@link createStream} made it. 1 and 2 are CUDA's default streams (cudaStreamLegacy,
   * cudaStreamPerThread).
   *
   * @param handle a live `cudaStream_t`; a wrong one crashes the process
   * @throws {ArgumentError} if it belongs to another device or to a context that is not the primary one.
   */
  attachStream(handle: bigint): CudaStream {
    this.resource.assertLive();
    if (handle === 0n) throw checks.wrong("handle", "it is null.", "CUDA's default stream is 1n, cudaStreamLegacy.");
    const stream = checks.handleIn<StreamHandle>(handle, "handle");
    assertOwnStream(stream, this);
    return new CudaStream(this, stream);
  }

  /**
   * Imports other code's semaphore by its fd (cudaImportExternalSemaphore). The fd stays the caller's, who may close it at
   * once, whether this succeeds or not. No driver checks the kind of the semaphore: with a wrong one, a wait hangs or
   * crashes the process.
   *
   * The caller is responsible for the other code's submits: each wait here needs a signal there, and each signal here of a
   * binary semaphore needs a wait there before the next. A timeline's values only grow, over all its users.
   *
   * @param fd an fd of a binary semaphore or a Vulkan timeline; CUDA takes no sync files
   * @throws {ArgumentError} for anything but such an fd, and if the device imports no semaphores of the kind.
   * @throws {NativeCallError} if the driver refuses the fd.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * declare const theirs: { exportTicks(): number; submit(after: bigint, then: bigint): void }; // a program's own Vulkan code
   * using cuda = CudaContext.open();
   * using ticks = cuda.importSemaphore(theirs.exportTicks(), { kind: "timeline" });
   * ticks.signal(1n); // behind all that was submitted to cuda.stream
   * theirs.submit(1n, 2n);
   * ticks.wait(2n); // what is submitted to cuda.stream from now on runs behind it
   * ```
   */
  importSemaphore(fd: number, options: ImportSemaphoreOptions = {}): CudaSemaphore {
    return new CudaSemaphore(this, fd, options);
  }

  /**
   * Compiles CUDA C++ for this device (NVRTC), and loads it; blocks.
   *
   * @throws {CudaBuildError} with the compiler's log.
   * @throws {LibraryNotFoundError} if there is no NVRTC.
   * @throws {InteropError} if libcudart is older than 12.8.
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
   * twice.run({ groups: [1000], groupSize: [1] }, [numbers]);
   * ```
   */
  program(source: string, options: ProgramOptions = {}): CudaProgram {
    return programFromSource(this, source, options);
  }

  /**
   * Loads PTX, which the driver compiles for this device.
   *
   * @throws {ArgumentError} if `text` is not PTX.
   * @throws {CudaBuildError} with the log of the driver's compiler.
   */
  programFromPtx(text: string): CudaProgram {
    return programFromPtx(this, text);
  }

  /**
   * Loads a cubin or a fatbin. The driver copies it.
   *
   * @throws {ArgumentError} if `bytes` are neither, or are cut off.
   * @throws {NativeCallError} if this device cannot run it.
   */
  programFromCubin(bytes: Uint8Array): CudaProgram {
    return programFromCubin(this, bytes);
  }

  /**
   * Exports memory of {@link allocate} to other processes (CUDA IPC): the whole allocation, even if the tensor is a part of it
   * or bytes are lent. The tensor has to live while the other processes use it.
   *
   * CUDA shares whole pages of 2 MiB: with a smaller allocation, other processes also see its neighbours. Export multiples
   * of 2 MiB.
   *
   * @throws {ArgumentError} for memory of any other kind.
   */
  exportMemory(tensor: CudaTensor): CudaMemoryExport {
    return exportMemory(this, tensor);
  }

  /**
   * Opens memory that another process exported: by the bytes of its `cuda.exportMemory()`, or by any program's
   * `cudaIpcMemHandle_t` and a layout. samepage does not see the other process's work: order it by a shared event.
   *
   * @throws {ArgumentError} if the bytes were changed, or come from this same process or another device.
   * @throws {LayoutError} if the memory is shorter than the layout.
   * @throws {NativeCallError} if the memory is gone.
   */
  openMemory(given: ArrayBufferView | CudaMemoryHandle): CudaTensor {
    return openMemory(this, given);
  }

  /**
   * An event that other processes can wait for and record (CUDA IPC). A wait is for the last record, and returns at once
   * without one: notify the other process when you have recorded it.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * using memory = cuda.allocate({ shape: [1 << 21], dtype: "u8" });
   * using event = cuda.exportEvent();
   * cuda.stream.fill(memory, 7);
   * event.record(); // now the other may hear of it
   * const sent = { memory: cuda.exportMemory(memory).bytes, event: event.bytes };
   *
   * // In the other process, which was sent these bytes:
   * //   using memory = cuda.openMemory(sent.memory);
   * //   using event = cuda.openEvent(sent.event);
   * //   cuda.stream.waitFor(event.fence()); // on the device, before what is submitted next
   * console.log(sent.memory.length, sent.event?.length);
   * ```
   */
  exportEvent(): CudaSharedEvent {
    return new CudaSharedEvent(this);
  }

  /**
   * Opens an event that another process made: by the bytes of its `cuda.exportEvent()`, or by any program's
   * `cudaIpcEventHandle_t`.
   *
   * @throws {ArgumentError} if the bytes were changed, or come from this same process or another device.
   * @throws {NativeCallError} if the event is gone.
   */
  openEvent(given: ArrayBufferView | CudaEventHandle): CudaSharedEvent {
    return new CudaSharedEvent(this, given);
  }

  /**
   * A dma-buf of a tensor's bytes: device memory in whole pages. Attached to `dmabuf` in this process, it is a peer of the
   * tensor.
   *
   * @throws {LayoutError} if the bytes begin or end in the middle of a page.
   * @throws {ArgumentError} for any other memory, or if the device has no dma-bufs.
   */
  exportDmaBuf(tensor: CudaTensor): CudaDmaBuf {
    return new CudaDmaBuf(this, tensor);
  }

  /** A tensor over memory of another owner. For mappers. */
  tensor(resource: Resource, place: CudaPlace, parent: Mapped): CudaTensor {
    return new CudaTensor({ target: this, ...place, resource, parent });
  }

  /** A frame of planes; one resource holds their bytes. For mappers. */
  frame(
    resource: Resource,
    info: FrameInfo,
    planes: readonly CudaPlace[],
    about: { readonly metadata?: Metadata; readonly parent?: Mapped },
  ): Frame<CudaTensor> {
    return framed(this, resource, info, planes, about);
  }

  /** A copy between two addresses of devices or the host. The memory has to live until the copy is over. For mappers. */
  copyBytes(to: Address, from: Address, byteLength: number): Call<StreamLane> {
    const size = BigInt(byteLength);
    return onStream("cudaMemcpyAsync", (stream) => {
      const code = cudart().cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream);
      if (code === 0) this.countCopied(byteLength);
      return code;
    });
  }

  /**
   * Registers a host tensor's whole block, until the returned object is disposed. Each map of it to CUDA then costs one native
   * call, and uses this registration.
   *
   * @throws {ArgumentError} if the block does not begin at a page, is a file, or is registered with other flags, or if the
   * device does not support the flags.
   * @throws {NativeCallError} if the driver refuses: other code has registered the pages.
   */
  register(tensor: Mapped, options: RegisterOptions = {}): CudaRegistration {
    return new CudaRegistration(this, tensor, options);
  }
}
