import { cudaErrorLaunchTimeout } from "../../../ffi/cuda_runtime/errors.ts";
import type { CudaGraphicsResource } from "../../../ffi/cuda_egl/handles.ts";
import { cudaEglResourceLocationVidmem } from "../../../ffi/cuda_egl/constants.ts";
import { InteropError, throwAll } from "../../core/errors.ts";
import { ledger } from "../../core/life/ledger.ts";
import { Resource } from "../../core/life/resource.ts";
import { unwind } from "../../core/life/undo.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { own } from "../../core/memory/own.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { check, checkRelease } from "../errors.ts";
import type { CudaBlock } from "../memory/block.ts";
import type { CudaStream } from "../stream.ts";
import { CudaTensor } from "../tensor.ts";
import { assertEnds, CudaStreamEnd, type EglStreamLike } from "./end.ts";
import { FrameStruct } from "./frame.ts";
import { cudaEgl } from "./library.ts";

/**
 * CUDA as the consumer of an `EGLStream`. It connects before the producer does. Each frame is memory of the producer's at an
 * address of this context's: kernels read it, and its dispose releases it to the stream.
 *
 * No call blocks: the stream is asked for a new frame first, and acquired with no time to wait.
 */
export class CudaStreamConsumer extends CudaStreamEnd implements AsyncIterable<Frame<CudaTensor>> {
  readonly #isConsumer = true;

  private constructor(stream: CudaStream, eglStream: EglStreamLike) {
    const { handle } = eglStream;
    super(
      stream,
      eglStream,
      "Consumer",
      (out) => cudaEgl().cudaEGLStreamConsumerConnectWithFlags(out, handle as never, cudaEglResourceLocationVidmem),
      (connection) => cudaEgl().cudaEGLStreamConsumerDisconnect(connection),
    );
  }

  /**
   * Connects to a stream.
   *
   * @param stream the CUDA stream in whose order frames come, and go back
   * @throws {ArgumentError} for a stream that has a consumer already.
   * @throws {NativeCallError} if the driver refuses.
   */
  static connect(stream: CudaStream, eglStream: EglStreamLike): CudaStreamConsumer {
    assertEnds(stream, eglStream, ["created", "initializing"], "The consumer connects first.");
    return new CudaStreamConsumer(stream, eglStream);
  }

  /** True for an instance that this class made, and not for a proxy of it. For those who write mappers. */
  static owns(value: object): boolean {
    return #isConsumer in value;
  }

  /**
   * The next frame, to be read only; undefined where there is no new one. Its dispose releases it.
   *
   * @throws {InteropError} for a frame of CUDA arrays, or of a format that samepage does not know. It is released again.
   */
  acquire(): Frame<CudaTensor> | undefined {
    this.resource.assertLive();
    if (this.eglStream.state !== "new-frame") return undefined;
    const { context, connection } = this;
    const out = new BigUint64Array(1);
    const pointer = this.streamPointer;
    const code = context.within(() => cudaEgl().cudaEGLStreamConsumerAcquireFrame(connection, out, pointer, 0));
    if (code === cudaErrorLaunchTimeout) return undefined;
    check(code, "cudaEGLStreamConsumerAcquireFrame");
    const resource = out[0] as CudaGraphicsResource;
    const release = () => {
      const native = cudaEgl();
      const answer = context.within(() => native[RELEASE](connection, resource, this.streamPointer));
      ledger.remove(FRAME);
      checkRelease(answer, RELEASE);
    };
    ledger.add(FRAME);
    try {
      return this.#framed(resource, release);
    } catch (error) {
      throwAll([error, ...unwind([release])], "acquiring a frame");
      throw error;
    }
  }

  /** Every new frame, until the producer disconnects. Dispose each before the next: `for await (using frame of consumer)`. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Frame<CudaTensor>, void, void> {
    while (this.resource.isLive) {
      const frame = this.acquire();
      if (frame !== undefined) yield frame;
      else if (!this.isOpen) return;
      else await this.pause();
    }
  }

  #framed(resource: CudaGraphicsResource, release: () => void): Frame<CudaTensor> {
    const { context } = this;
    const struct = new FrameStruct();
    const fn = "cudaGraphicsResourceGetMappedEglFrame";
    context.within(() => check(cudaEgl()[fn](struct.bytes, resource, 0, 0), fn));
    if (struct.isArrays) {
      throw new InteropError("the frame lies in CUDA arrays, and only frames of pointers become tensors.", {
        ...{ api: "cuda", fn },
        hint: "Have the producer present pointers (cudaEglFrameTypePitch).",
      });
    }
    const { info } = struct;
    const layouts = struct.layouts(info);
    const block: CudaBlock = {
      ...{ kind: "cuda.eglStreamFrame", memory: "external", flags: [], hostAddress: undefined },
      deviceAddress: struct.addressOf(0),
      byteLength: layouts.reduce((sum, { byteLength }) => sum + byteLength, 0),
      ordinal: context.device.ordinal,
      free: release,
    };
    const name = `cuda frame ${info.format} of an EGLStream`;
    const whole = own({ name, allocation: new Allocation(block), access: "read", owners: [this.resource] });
    const [grant] = whole.grants;
    let start = 0;
    const planes = (frame: Frame<CudaTensor>) =>
      layouts.map((layout, i) => {
        const part = `plane ${i} of ${name}`;
        const grants = [grant.facet(start, start += layout.byteLength, part)];
        const own = new Resource({ name: part, grants, owners: [whole] });
        const handle = struct.addressOf(i);
        return new CudaTensor({ target: context, memory: "external", handle, layout, resource: own, parent: frame });
      });
    return new Frame<CudaTensor>({ target: context, resource: whole, info, planes });
  }
}

const RELEASE = "cudaEGLStreamConsumerReleaseFrame";

/** The ledger's kind of an acquired frame. */
const FRAME = "cuda.eglFrame";
