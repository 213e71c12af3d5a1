import { object } from "../core/argument.ts";
import type { Context, DeviceId, Target } from "../core/graph/context.ts";
import { whole } from "../core/layout/layout.ts";
import { reasonOf, type Refusal } from "../core/errors.ts";
import { Resource } from "../core/life/resource.ts";
import { PageAllocator } from "./allocator/page_allocator.ts";
import { type DeviceContext, Execution } from "./execution.ts";
import { MatTarget } from "./mats/target.ts";
import { ImgcodecsOperations } from "./operations/imgcodecs.ts";
import { currentContext } from "./thread_state.ts";
import { UMatTarget } from "./umats/target.ts";
import { checkedVersion } from "./version.ts";

/** Which Mats {@link OpenCVContext.matOf} is for. */
export interface MatKind {
  /** How many channels: more than one are the last dimension; with one, every dimension is a dimension of the Mat. */
  readonly channels: number;
}

/**
 * OpenCV: Mats over memory that the CPU sees, UMats over OpenCL buffers, and the functions that take either.
 *
 * A tensor `[rows, columns]` becomes a Mat of one channel, `[rows, columns, channels]` one of several, `[n]` one of a
 * single column; what has more dimensions has one channel. {@link matOf} says otherwise.
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
export class OpenCVContext extends ImgcodecsOperations implements Context {
  /** The API's name. */
  readonly api = "opencv";
  /** For messages: `"OpenCV 4.6.0"`. */
  readonly name: string;
  /** The CPU has none; the device of a UMat is that of its OpenCL context. */
  readonly id: DeviceId = {};
  /** {@link mat} and {@link umat}. */
  readonly targets: readonly Target[];
  /** Its end of life: Mats and UMats end first. */
  readonly resource: Resource;
  /** What OpenCV says it is: `"4.6.0"`. */
  readonly version: string;
  /** Mats. */
  readonly mat: MatTarget;
  /** UMats. */
  readonly umat: UMatTarget;
  readonly #kinds = new Map<string, MatTarget | UMatTarget>();
  /** Few: one for each `cl_context` whose buffers were mapped. */
  #executions: Execution[] = [];
  /** Why there is none, for those that OpenCV did not take. */
  readonly #problems = new Map<bigint, Omit<Refusal, "edge">>();

  private constructor(version: string) {
    super();
    this.version = version;
    this.name = `OpenCV ${version}`;
    this.resource = new Resource({ name: this.name });
    this.mat = new MatTarget(this);
    this.umat = new UMatTarget(this);
    this.targets = [this.mat, this.umat];
  }

  /**
   * Opens OpenCV, and compares its version and the layout of its classes with what samepage knows.
   *
   * @throws {LibraryNotFoundError} where there is none.
   * @throws {InteropError} where it is a version that is not known.
   */
  static open(): OpenCVContext {
    return new OpenCVContext(checkedVersion());
  }

  /**
   * Mats of a number of channels, as a target to map to; the same object each time.
   *
   * @throws {LayoutError} for what is no number of channels.
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
   * console.log(mat.type, mat.shape.sizes); // CV_8UC1 [ 64, 480, 640 ]
   * ```
   */
  matOf(kind: MatKind): MatTarget {
    const channels = channelsOf(kind);
    return this.#kind(`mat ${channels}`, () => new MatTarget(this, channels));
  }

  /** UMats of a number of channels, in the same way. @throws like {@link matOf}. */
  umatOf(kind: MatKind): UMatTarget {
    const channels = channelsOf(kind);
    return this.#kind(`umat ${channels}`, () => new UMatTarget(this, channels));
  }

  /**
   * Lets the Mats that OpenCV itself creates (what `imread` answers, what an operation reallocates) lie in memory that any
   * other API can use in place: at a multiple of 4096, for a multiple of 64 bytes. Until it is disposed, or this context.
   *
   * It is needed only where such a Mat is not used in place without it: `graph.explain(mat, cl)` tells, and says `alias`
   * where it is. To the host, and to a device that takes any address, it always is.
   *
   * It is OpenCV's default allocator (`Mat::setDefaultAllocator`), and a process has one of those: so it is for other
   * isolates and all threads, OpenCV's own among them, and it stays until nobody holds it any more. A Worker that is
   * terminated never lets go. A small Mat costs more than by OpenCV's own allocator. Where no block can be had, that one
   * makes the Mat, or throws.
   *
   * @throws {InteropError} on other processors than x86-64, and where OpenCV is not what is expected.
   * @throws {NativeCallError} where the system lets no machine code in, or there is no memory.
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using pages = cv.pageAllocator();
   * // What OpenCV makes from here on lies on pages of its own.
   * ```
   */
  pageAllocator(): PageAllocator {
    this.resource.assertLive();
    return new PageAllocator(this);
  }

  /**
   * The `cl_context` that OpenCV uses in this thread by itself, for `OpenCLContext.attach`; undefined where it uses none.
   * Asking makes OpenCV choose a device, once a process, and so does the first map to a UMat. By itself it takes GPUs only:
   * on a machine without one this is undefined, unless `OPENCV_OPENCL_DEVICE` says `:CPU:` before
   * (`Deno.env.set("OPENCV_OPENCL_DEVICE", ":CPU:")` works too).
   */
  get openCLContext(): bigint | undefined {
    this.resource.assertLive();
    return currentContext();
  }

  /**
   * Makes OpenCV's state for a `cl_context`, where there is none yet, if it can be had; {@link executionProblem} tells why
   * not: for those who write mappers.
   *
   * @param device what OpenCV is to be told, asked for where it is needed
   */
  tryExecution(clContext: bigint, device: () => DeviceContext): void {
    if (this.executionIn(clContext) !== undefined || this.resource.state !== "live") return;
    try {
      const made = new Execution(device(), this.resource);
      this.#executions = [...this.#executions.filter(({ live }) => live), made];
      this.#problems.delete(clContext);
    } catch (error) {
      this.#problems.set(clContext, reasonOf(error));
    }
  }

  /** Why OpenCV cannot use a `cl_context`; undefined where it can: for those who write mappers. */
  executionProblem(clContext: bigint): Omit<Refusal, "edge"> | undefined {
    if (this.resource.state !== "live") return { reason: `${this.name} was disposed.` };
    if (this.executionIn(clContext) !== undefined) return undefined;
    return this.#problems.get(clContext) ?? { reason: "OpenCV was not told of this cl_context." };
  }

  /** What {@link tryExecution} has made, where it has: for those who write mappers. */
  executionIn(clContext: bigint): Execution | undefined {
    return this.#executions.find(({ live, device }) => live && device.handle === clContext);
  }

  /** Ends what lives in it. OpenCV itself stays loaded. */
  [Symbol.dispose](): void {
    this.resource.dispose();
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
