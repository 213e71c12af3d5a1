import { assert } from "@std/assert";
import { UMAT_DATA_HOST_COPY_OBSOLETE, USAGE_DEFAULT } from "../../ffi/opencv_core/constants.ts";
import { readUMatData, UMatData } from "../../ffi/opencv_core/structs.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import type { Graph } from "../../src/core/graph/graph.ts";
import { layout, type LayoutInit } from "../../src/core/layout/layout.ts";
import { MapperGraph } from "../../mod.ts";
import type { OpenCLContext, OpenCLQueue } from "../../src/opencl/mod.ts";
import { umatDataIn } from "../../src/opencv/header.ts";
import { core } from "../../src/opencv/library.ts";
import { viewAt } from "../../src/opencv/memory.ts";
import type { Execution, MatShape, OpenCVContext, OpenCVUMat, UMatTarget } from "../../src/opencv/mod.ts";
import { filledSlot, giveSlot } from "../../src/opencv/slots.ts";
import { asRow, bytesIn } from "./opencv_bytes.ts";
import { LateQueue } from "./opencl_late.ts";
import { rawCopy, rawInvert } from "./opencv_calls.ts";
import { separateFrame } from "./bytes.ts";
import { foreignHeader } from "./opencv_mat_end.ts";
import type { End, Foreign } from "./subject.ts";

/** UMats' end of an edge: OpenCV's kernels invert bytes into them, with samepage's checks and without. */
export class UMatEnd implements End, Disposable {
  readonly target: UMatTarget;
  readonly within: OpenCLContext;
  readonly #cv: OpenCVContext;
  readonly #graph: Graph;
  /** The OpenCL contexts that a UMat may come from. */
  readonly #cls: readonly OpenCLContext[];
  readonly #late: ReadonlyMap<OpenCLContext, LateQueue>;
  readonly #make: (init: LayoutInit) => OpenCVUMat;

  /** `make` makes a UMat to map from; over a buffer of the first context unless given. */
  constructor(cls: readonly OpenCLContext[], cv: OpenCVContext, make?: (init: LayoutInit) => OpenCVUMat) {
    this.target = cv.umat;
    this.within = cls[0];
    this.#cls = cls;
    this.#late = new Map(cls.map((cl) => [cl, new LateQueue(cl)]));
    this.#cv = cv;
    this.#graph = new MapperGraph([...cls, cv]);
    this.#make = make ?? ((init) => this.#overBuffer(init));
    // OpenCV keeps what the first map makes.
    for (const cl of cls) this.#overBuffer({ shape: [1], dtype: "u8" }, cl)[Symbol.dispose]();
  }

  /** OpenCV's queues keep the last command's event; the last one has to go well, or waiting for it would fail. */
  quiet(): void {
    for (const cl of this.#cls) {
      const queue = queueOf(this.#cv.executionIn(cl.rawHandle)!);
      queue.waitFor([]);
      queue.finish();
    }
  }

  allocate(init: LayoutInit): OpenCVUMat {
    return this.#make(init);
  }

  allocateFrame(...[info]: Parameters<NonNullable<End["allocateFrame"]>>) {
    return separateFrame((init) => this.allocate(init), info);
  }

  submit(umat: OpenCVUMat, bytes: Uint8Array): Fence {
    using all = new DisposableStack();
    const from = all.use(this.#inverseOf(bytes, umat.layout.shape, umat));
    const execution = umat.buffer.execution!;
    this.#late.get(this.#contextOf(umat))!.delay(queueOf(execution));
    this.#cv.bitwise_not(from, umat);
    const fence = execution.queue.line.fence();
    all.move();
    from.disposeAfter(fence);
    return fence;
  }

  async write(umat: OpenCVUMat, bytes: Uint8Array): Promise<void> {
    await using to = asRow(umat);
    await using from = this.#inverseOf(bytes, to.layout.shape, umat);
    this.#cv.bitwise_not(from, to);
  }

  async read(umat: OpenCVUMat): Promise<Uint8Array> {
    await using from = asRow(umat, "read");
    using to = this.#cv.mat.create({ shape: from.layout.shape, dtype: "u8" });
    this.#cv.copyTo(from, to);
    return bytesIn(to);
  }

  readonly raw = {
    write: (umat: OpenCVUMat, bytes: Uint8Array) => {
      const from = this.#inverseOf(bytes, umat.layout.shape, umat);
      const execution = umat.buffer.execution!;
      execution.run(() => rawInvert(from, umat));
      assertByKernel(umat);
      const written = execution.queue.line.waitFor([]);
      queueOf(execution).flush();
      return async () => {
        await written.wait();
        from[Symbol.dispose]();
      };
    },
    read: (umat: OpenCVUMat) => {
      const { shape } = umat.layout;
      using inverse = this.#overBuffer({ shape, dtype: "u8" }, this.#contextOf(umat));
      using to = this.#cv.mat.create({ shape, dtype: "u8" });
      umat.buffer.execution!.run(() => {
        rawInvert(umat, inverse); // a kernel of the device's
        rawCopy(inverse, to);
      });
      return Promise.resolve(inverted(bytesIn(to)));
    },
  };

  [Symbol.dispose](): void {
    this.#graph[Symbol.dispose]();
  }

  #contextOf({ buffer }: OpenCVUMat): OpenCLContext {
    return this.#cls.find((cl) => cl.rawHandle === buffer.clContext)!;
  }

  /** It ends with the buffer, and the buffer with it. */
  #overBuffer(init: LayoutInit, cl = this.within): OpenCVUMat {
    const buffer = cl.allocate(init);
    const umat = this.#graph.map(buffer, this.target);
    umat.resource.own(buffer.resource);
    return umat;
  }

  /** A UMat of which a kernel makes these bytes in another one. */
  #inverseOf(bytes: Uint8Array, shape: readonly number[], other: OpenCVUMat): OpenCVUMat {
    const cl = this.#contextOf(other);
    const umat = this.#overBuffer({ shape, dtype: "u8" }, cl);
    using buffer = this.#graph.map(umat, cl, { access: "write" });
    cl.queue.write(buffer, inverted(bytes));
    return umat;
  }
}

function queueOf({ queue }: Execution): OpenCLQueue {
  return queue as OpenCLQueue;
}

/** Where OpenCV has no kernel for a device it maps the UMat for the host, which proves nothing. */
function assertByKernel({ slot }: OpenCVUMat): void {
  const { flags } = readUMatData(viewAt(umatDataIn(slot), UMatData.size), 0);
  assert((flags & UMAT_DATA_HOST_COPY_OBSOLETE) !== 0, "OpenCV has written the UMat by the CPU");
}

/** A UMat in a buffer of OpenCV's own, in the OpenCL context that it uses by itself. */
export function umatOfOpenCV({ umat }: OpenCVContext, init: LayoutInit): OpenCVUMat {
  using theirs = foreignUMat(umat, init);
  return theirs.attach() as OpenCVUMat;
}

/** A UMat that OpenCV's own calls made. */
export function foreignUMat(target: UMatTarget, init: LayoutInit): Foreign {
  const { sizes, type } = target.fit(layout(init), 0) as MatShape;
  const slot = filledSlot((slot) => core().UMat_construct(slot.header, USAGE_DEFAULT));
  const end = () => {
    core().UMat_destruct(slot.header);
    giveSlot(slot);
  };
  return foreignHeader(
    target,
    slot,
    end,
    () => core().UMat_create(slot.header, sizes.length, Int32Array.from(sizes), type, USAGE_DEFAULT),
  );
}

function inverted(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte) => ~byte);
}
