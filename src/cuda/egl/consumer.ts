import * as names from "../../../ffi/cuda_egl/constants.ts";
import type { CudaGraphicsResource } from "../../../ffi/cuda_egl/handles.ts";
import { cudaErrorLaunchTimeout } from "../../../ffi/cuda_runtime/errors.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import { AccessError, InteropError, throwAll } from "../../core/errors.ts";
import type { ImageInfo } from "../../core/layout/frame_info.ts";
import type { Layout } from "../../core/layout/layout.ts";
import { subtreeOf } from "../../core/life/dependents.ts";
import { ledger } from "../../core/life/ledger.ts";
import { Resource } from "../../core/life/resource.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { own } from "../../core/memory/own.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { CudaArray } from "../arrays/array.ts";
import { checks } from "../check.ts";
import { check, checkRelease } from "../errors.ts";
import type { CudaBlock } from "../memory/block.ts";
import type { CudaStream } from "../stream.ts";
import { CudaTensor } from "../tensor.ts";
import { CudaArrayFrame } from "./array_frame.ts";
import { assertEnds, CudaStreamEnd, type EglStreamLike } from "./end.ts";
import { FrameStruct } from "./frame.ts";
import { cudaEgl } from "./library.ts";
import type { CudaStreamFrame } from "./producer.ts";

/** How a consumer takes frames. */
export interface CudaConsumerInit {
  /** True if it takes frames of CUDA arrays, and not of pointers. False by default. */
  readonly arrays?: boolean;
  /** Where their memory is to be: the driver moves frames that lie elsewhere. Left out, the driver decides. */
  readonly location?: "device" | "host";
}

const INIT: Names<CudaConsumerInit> = { arrays: true, location: true };
const LOCATIONS = { device: names.cudaEglResourceLocationVidmem, host: names.cudaEglResourceLocationSysmem } as const;
const ACQUIRE = "cudaEGLStreamConsumerAcquireFrame";
const RELEASE = "cudaEGLStreamConsumerReleaseFrame";

/** The ledger's kind of an acquired frame. */
const FRAME = "cuda.eglFrame";

/** What the last frame was: most are like the one before. */
interface Known {
  readonly struct: FrameStruct;
  readonly info: ImageInfo;
  readonly layouts: readonly Layout[];
  readonly byteLength: number;
  readonly name: string;
  /** The planes'. */
  readonly names: readonly string[];
}

/**
 * CUDA as the consumer of an `EGLStream`. It connects before the producer does. Each frame is memory of the producer's at an
 * address of this context's: kernels read it, and its dispose releases it to the stream. A producer of this process's that
 * ends takes its frames back first.
 *
 * No call blocks: the stream is asked for a new frame first, and acquired with no time to wait.
 */
export class CudaStreamConsumer<F extends CudaStreamFrame = Frame<CudaTensor>> extends CudaStreamEnd
  implements AsyncIterable<F> {
  readonly #arrays: boolean;
  readonly #frames = new WeakSet<CudaStreamFrame>();
  /** Of the frame that was acquired last. */
  readonly #struct = new FrameStruct();
  readonly #out = new BigUint64Array(1);
  #known: Known | undefined;

  private constructor(stream: CudaStream, eglStream: EglStreamLike, { arrays = false, location }: CudaConsumerInit) {
    const handle = eglStream.handle as never;
    const native = cudaEgl();
    super(
      stream,
      eglStream,
      "Consumer",
      (out) =>
        location === undefined
          ? native.cudaEGLStreamConsumerConnect(out, handle)
          : native.cudaEGLStreamConsumerConnectWithFlags(out, handle, LOCATIONS[location]),
      (connection) => {
        this.ends.consumer = undefined;
        return native.cudaEGLStreamConsumerDisconnect(connection);
      },
    );
    this.#arrays = arrays;
    this.ends.consumer = { ordinal: this.context.device.ordinal, arrays };
  }

  /**
   * Connects to a stream.
   *
   * @param stream the CUDA stream in whose order frames come, and go back
   * @throws {ArgumentError} for a stream that has a consumer already.
   * @throws {NativeCallError} if the driver refuses.
   */
  static connect(
    stream: CudaStream,
    eglStream: EglStreamLike,
    init: CudaConsumerInit & { readonly arrays: true },
  ): CudaStreamConsumer<CudaArrayFrame>;
  /** The same for an end that takes frames of pointers. */
  static connect(stream: CudaStream, eglStream: EglStreamLike, init?: CudaConsumerInit): CudaStreamConsumer;
  static connect(
    stream: CudaStream,
    eglStream: EglStreamLike,
    init: CudaConsumerInit = {},
  ): CudaStreamConsumer<CudaStreamFrame> {
    const { arrays = false, location } = optionsIn(init, INIT, "init");
    checks.assertBoolean(arrays, "init.arrays");
    if (location !== undefined) checks.nameIn(location, LOCATIONS, "init.location");
    assertEnds(stream, eglStream, ["created", "initializing"], "The consumer connects first.");
    return new CudaStreamConsumer<CudaStreamFrame>(stream, eglStream, init);
  }

  /** True for an instance that this class made, and not for a proxy of it. For those who write mappers. */
  static owns(value: object): boolean {
    return #arrays in value;
  }

  /**
   * The next frame, to be read only; undefined where there is no new one. Its dispose releases it, once the work on it is
   * over; {@link release} does not wait for that.
   *
   * @throws {InteropError} for a frame of the other kind (see {@link CudaConsumerInit}), or of a format that samepage does not
   * know. It is released again.
   */
  acquire(): F | undefined {
    this.resource.assertLive();
    const { context, connection, streamPointer, ends, eglStream } = this;
    const isNew = ends.isNear ? ends.presented > ends.consumed : eglStream.state === "new-frame";
    if (!isNew) return undefined;
    const out = this.#out;
    const code = context.within(() => cudaEgl()[ACQUIRE](connection, out, streamPointer, 0));
    if (code === cudaErrorLaunchTimeout) return undefined;
    check(code, ACQUIRE);
    const resource = out[0] as CudaGraphicsResource;
    ends.acquire(eglStream.fifo);
    ledger.add(FRAME);
    const release = () => {
      ledger.remove(FRAME);
      ends.acquired--;
      context.within(() => checkRelease(cudaEgl()[RELEASE](connection, resource, streamPointer), RELEASE));
    };
    try {
      return this.#framed(resource, release) as F;
    } catch (error) {
      throwAll([error, ...unwind([release])], "acquiring a frame");
      throw error;
    }
  }

  /** Resolves with the next frame; undefined once the producer has disconnected. @throws like {@link acquire}. */
  async next(): Promise<F | undefined> {
    const answer = await this.until(() => {
      const frame = this.acquire();
      return frame !== undefined ? { frame } : this.isOpen ? undefined : {};
    });
    return answer.frame;
  }

  /**
   * Releases a frame in the order of the CUDA stream: behind all work on it, which the device waits for. Nothing blocks, and
   * the frame is over.
   *
   * @throws {AccessError} while a part of it is lent.
   */
  release(frame: F): void {
    const isArrays = frame instanceof CudaArrayFrame;
    if (!isArrays && !(frame instanceof Frame)) throw checks.wrongKind("frame", "a frame of this consumer's", frame);
    if (!this.#frames.has(frame)) {
      throw checks.wrong("frame", "it is none that this consumer has acquired.", "Other frames are disposed.");
    }
    frame.resource.assertLive();
    if (!isArrays && frame.planes.some(({ grant }) => !grant.lendsNothing)) {
      throw new AccessError(`${frame.name} is lent.`, { api: "cuda", fn: RELEASE, hint: "Dispose its slices first." });
    }
    const resources = subtreeOf(frame.resource);
    const fences = resources.flatMap(({ work }) => work.fences);
    const others = fences.filter(({ line }) => line !== this.stream.line);
    if (others.length > 0) this.stream.waitFor(others);
    for (const { line } of fences) for (const { work } of resources) work.abandon(line);
    frame[Symbol.dispose]();
  }

  /** Every new frame, until the producer disconnects. Dispose each before the next: `for await (using frame of consumer)`. */
  async *[Symbol.asyncIterator](): AsyncGenerator<F, void, void> {
    for (let frame = await this.next(); frame !== undefined; frame = await this.next()) yield frame;
  }

  #framed(resource: CudaGraphicsResource, release: () => void): CudaStreamFrame {
    const { context } = this;
    const struct = this.#struct;
    const fn = "cudaGraphicsResourceGetMappedEglFrame";
    context.within(() => check(cudaEgl()[fn](struct.bytes, resource, 0, 0), fn));
    if (struct.isArrays !== this.#arrays) {
      const [is, takes] = [struct.isArrays, this.#arrays].map((are) => are ? "CUDA arrays" : "pointers");
      throw new InteropError(`the frame is one of ${is}, and this consumer takes frames of ${takes}.`, {
        ...{ api: "cuda", fn, hint: `Connect the consumer with { arrays: ${struct.isArrays} }.` },
      });
    }
    const known = this.#known = this.#known?.struct.isLike(struct) ? this.#known : describe(struct);
    const frame = this.#arrays ? this.#ofArrays(struct, known, release) : this.#ofPointers(struct, known, release);
    this.#frames.add(frame);
    return frame;
  }

  #ofPointers(
    struct: FrameStruct,
    { info, layouts, byteLength, name, names }: Known,
    release: () => void,
  ): Frame<CudaTensor> {
    const { context } = this;
    const block: CudaBlock = {
      ...{ kind: "cuda.eglStreamFrame", memory: "external", flags: [], hostAddress: undefined },
      deviceAddress: struct.addressOf(0),
      byteLength,
      ordinal: context.device.ordinal,
      free: release,
    };
    const owners = [this.resource, this.ends.producer];
    const whole = own({ name, allocation: new Allocation(block), access: "read", owners });
    const parts = names.length === 1 ? [whole] : this.#partsOf(whole, layouts, names); // a plane alone is the whole
    const planes = (parent: Frame<CudaTensor>) =>
      layouts.map((layout, i) => {
        const handle = struct.addressOf(i);
        return new CudaTensor({ target: context, memory: "external", handle, layout, resource: parts[i], parent });
      });
    return new Frame<CudaTensor>({ target: context, resource: whole, info, planes });
  }

  #partsOf(whole: Resource, layouts: readonly Layout[], names: readonly string[]): readonly Resource[] {
    const [grant] = whole.grants;
    let start = 0;
    return layouts.map(({ byteLength }, i) => {
      const grants = [grant.facet(start, start += byteLength, names[i])];
      return new Resource({ name: names[i], grants, owners: [whole] });
    });
  }

  #ofArrays(struct: FrameStruct, { info, name }: Known, release: () => void): CudaArrayFrame {
    const undo: Undo = [];
    const whole = new Resource({ name, owners: [this.resource, this.ends.producer], undo });
    try {
      const frame = new CudaArrayFrame(info, "read", whole, (frame) =>
        Array.from(
          { length: struct.planeCount },
          (_, i) => CudaArray.over(this.context, struct.arrayOf(i), frame, "read"),
        ));
      undo.push(release); // from here on it is the frame's
      return frame;
    } catch (error) {
      throwAll([error, ...unwind([() => whole.dispose()])], "acquiring a frame");
      throw error;
    }
  }
}

function describe(struct: FrameStruct): Known {
  const { info } = struct;
  const layouts = struct.isArrays ? [] : struct.layouts(info);
  const byteLength = layouts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const name = `cuda frame ${info.format} of an EGLStream${struct.isArrays ? ", of arrays" : ""}`;
  const names = layouts.map((_, i) => `plane ${i} of ${name}`);
  return { struct: struct.copy(), info, layouts, byteLength, name, names };
}
