import type { Mapper } from "../core/graph/mapper.ts";
import { literal, NO_OPTIONS, object, optionsIn } from "../core/argument.ts";
import type { Target } from "../core/graph/context.ts";
import { Resource } from "../core/life/resource.ts";
import { whole } from "../core/layout/layout.ts";
import { blocksOf, DefaultAllocator, type MatMemory } from "./allocator/default_allocator.ts";
import { pageBlocks } from "./allocator/native.ts";
import { EDGES } from "./edges/mod.ts";
import { wrong } from "./errors.ts";
import { MatTarget } from "./mats/target.ts";
import { ImgcodecsOperations } from "./operations/imgcodecs.ts";
import { currentContext } from "./thread_state.ts";
import { UMatTarget } from "./umats/target.ts";
import { checkedVersion } from "./version.ts";

/** Options of {@link OpenCVContext.matOf}. */
export interface MatKind {
  /** The number of channels. More than one are the last dimension; with one, every dimension is the Mat's. */
  readonly channels: number;
}

/**
 * OpenCV: Mats over the CPU's memory, UMats over OpenCL buffers, and functions that take either.
 *
 * A tensor `[rows, columns]` becomes a Mat with one channel, `[rows, columns, channels]` one with several, and `[n]` one
 * with a single column. A tensor of more dimensions has one channel. {@link matOf} overrides this rule.
 *
 * @example
 * ```ts
 * import { host, MapperGraph } from "@samepage/interop";
 * import { OpenCVContext } from "@samepage/interop/opencv";
 *
 * using cv = OpenCVContext.open();
 * using graph = new MapperGraph([host, cv]);
 * using photo = host.allocate({ shape: [480, 640, 3], dtype: "u8" });
 * using mat = graph.map(photo, cv.mat);
 * console.log(mat.type, mat.address === photo.address); // CV_8UC3 true
 * ```
 */
export class OpenCVContext extends ImgcodecsOperations {
  /** {@link mat} and {@link umat}. */
  readonly targets: readonly Target[];
  /** Its edges, so that a graph without the host has that of Mats too. */
  readonly edges: readonly Mapper[] = EDGES;
  /** Mats. */
  readonly mat: MatTarget;
  /** UMats. */
  readonly umat: UMatTarget;
  readonly #kinds = new Map<string, MatTarget | UMatTarget>();

  private constructor(version: string) {
    super(version);
    this.mat = new MatTarget(this);
    this.umat = new UMatTarget(this);
    this.targets = [this.mat, this.umat];
    this.opened();
  }

  /**
   * Opens OpenCV, and checks its version and the layout of its classes.
   *
   * @param options an empty object, if anything: a UMat's device is that of its OpenCL memory
   * @throws {ArgumentError} for any option.
   * @throws {LibraryNotFoundError} if there is no OpenCV.
   * @throws {InteropError} for a version that samepage does not know.
   */
  static open(options: Readonly<Record<string, never>> = NO_OPTIONS): OpenCVContext {
    optionsIn(options, NO_OPTIONS);
    return new OpenCVContext(checkedVersion());
  }

  /**
   * Mats with a number of channels, as a target. Returns the same object each time.
   *
   * @throws {LayoutError} for a number of channels that OpenCV does not have.
   *
   * @example
   * ```ts
   * import { host, MapperGraph } from "@samepage/interop";
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using graph = new MapperGraph([host, cv]);
   * using volume = host.allocate({ shape: [64, 480, 640], dtype: "u8" });
   * using mat = graph.map(volume, cv.matOf({ channels: 1 }));
   * console.log(mat.type, mat.matShape.sizes); // CV_8UC1 [ 64, 480, 640 ]
   * ```
   */
  matOf(kind: MatKind): MatTarget {
    const channels = channelsOf(kind);
    return this.#kind(`mat ${channels}`, () => new MatTarget(this, channels));
  }

  /** UMats with a number of channels. @throws like {@link matOf}. */
  umatOf(kind: MatKind): UMatTarget {
    const channels = channelsOf(kind);
    return this.#kind(`umat ${channels}`, () => new UMatTarget(this, channels));
  }

  /**
   * Puts Mats that OpenCV itself creates (the results of `imread` and of reallocation) in memory that any other API can
   * use in place: at a multiple of 4096, with a length that is a multiple of 64 bytes. It lasts until it or this context is
   * disposed.
   *
   * You need it only if a device does not use such a Mat in place otherwise: `graph.explain(mat, cl)` says `alias` if it does.
   * The host, and a device that takes any address, always use it in place.
   *
   * It becomes OpenCV's default allocator (`Mat::setDefaultAllocator`), of which a process has one. So it applies to other
   * isolates and to all threads, including OpenCV's own, and stays until its last holder is disposed. A Worker that is
   * terminated never releases it. A small Mat costs more than with OpenCV's own allocator. If no block can be allocated,
   * OpenCV's own allocator makes the Mat, or throws.
   *
   * @throws {InteropError} on processors other than x86-64, and for an OpenCV with another layout of its classes.
   * @throws {NativeCallError} if the system allows no machine code, or memory runs out.
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using pages = cv.pageAllocator();
   * // From here on, OpenCV's own Mats begin at a page.
   * ```
   */
  pageAllocator(): DefaultAllocator {
    this.resource.assertLive();
    return new DefaultAllocator(this, pageBlocks());
  }

  /**
   * {@link pageAllocator} in the program's memory: CUDA's pinned memory (`cuda.pinned.allocator()`), a NUMA node's, a pool's.
   * It lasts until it, this context or `memory.resource` is disposed; Mats that outlive it call `give` when they end. If
   * `take` has no block, OpenCV's own allocator makes the Mat, or throws.
   *
   * The functions are not checked: a wrong address crashes the process.
   *
   * @throws {ArgumentError} for anything but two addresses.
   * @throws like {@link pageAllocator}.
   *
   * @example
   * ```ts ignore
   * import { MapperGraph } from "@samepage/interop";
   * import { CudaContext } from "@samepage/interop/cuda";
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cuda = CudaContext.open();
   * using cv = OpenCVContext.open();
   * using graph = new MapperGraph([cuda, cv]);
   * using pinned = cv.defaultAllocator(cuda.pinned.allocator());
   * using photo = cv.imread("photo.jpg"); // OpenCV has allocated it: page-locked
   * using onDevice = graph.map(photo, cuda); // kernels read it in place
   * ```
   */
  defaultAllocator(memory: MatMemory): DefaultAllocator {
    const blocks = blocksOf(object(memory, "memory"));
    const { resource } = memory;
    if (resource !== undefined && !(resource instanceof Resource)) {
      throw wrong("resource", `expected that of a context or a tensor, got ${literal(resource)}.`);
    }
    this.resource.assertLive();
    return new DefaultAllocator(this, blocks, resource);
  }

  /**
   * The `cl_context` that OpenCV itself uses in this thread, for `OpenCLContext.attach`; undefined if it uses none. The first
   * read makes OpenCV choose a device, once per process, as does the first map to a UMat. By itself OpenCV chooses only GPUs:
   * on a machine without one this is undefined, unless `OPENCV_OPENCL_DEVICE` was set to `:CPU:` before
   * (`Deno.env.set("OPENCV_OPENCL_DEVICE", ":CPU:")` works too).
   */
  get openCLContext(): bigint | undefined {
    this.resource.assertLive();
    return currentContext();
  }

  #kind<T extends MatTarget | UMatTarget>(key: string, make: () => T): T {
    let target = this.#kinds.get(key) as T | undefined;
    if (target === undefined) this.#kinds.set(key, target = make());
    return target;
  }
}

function channelsOf(kind: MatKind): number {
  return whole(object(kind, "kind").channels, "channels", 1);
}
