/**
 * What is wrong with the question's program, one fault at a time: what its own calls do, and what samepage says instead.
 *
 * @module
 */
import { host, type HostTensor, InteropError, type MapperGraph } from "@samepage/interop";
import type { OpenCLContext } from "@samepage/interop/opencl";
import { type OpenCVContext, ReallocatedError } from "@samepage/interop/opencv";
import { NULL } from "../../ffi/address.ts";
import { CL_MAP_READ, CL_MEM_HOST_NO_ACCESS, CL_MEM_WRITE_ONLY, CL_TRUE } from "../../ffi/opencl/constants.ts";
import { ERROR_NAMES } from "../../ffi/opencl/errors.ts";
import { addressOf, pinned } from "../../src/core/native/pin.ts";
import { core, createBuffer, opencl, RawUMat } from "./raw.ts";

/** What a fault is shown with. */
export interface Scene {
  readonly cl: OpenCLContext;
  readonly cv: OpenCVContext;
  readonly graph: MapperGraph;
  /** The size of the question's image. */
  readonly rows: number;
  readonly cols: number;
}

/** One fault, as it was seen here. */
export interface Seen {
  /** What the program does. */
  readonly fault: string;
  /** What became of it. */
  readonly raw: string;
  /** What samepage says. */
  readonly here: string;
}

/** Every fault, seen now. */
export function seeFaults(scene: Scene): Seen[] {
  return [noAccess(scene), noFinish(scene), wrongStep(scene), ignoredStep(scene), reallocates(scene)];
}

/** CL_MEM_HOST_NO_ACCESS: the host can never be shown what was written. */
function noAccess({ cl, cv, graph, rows, cols }: Scene): Seen {
  using memory = image(rows, cols);
  const mem = createBuffer(cl, CL_MEM_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS, memory);
  const status = new Int32Array(1);
  const size = BigInt(memory.layout.byteLength);
  opencl().clEnqueueMapBuffer(cl.queue.handle, mem, CL_TRUE, CL_MAP_READ, 0n, size, 0, NULL, NULL, status);
  let here: string;
  {
    using buffer = cl.attach(mem, memory.layout);
    here = refusalOf(() => graph.map(buffer, cv.umat));
  }
  opencl().clReleaseMemObject(mem);
  return {
    fault: "CL_MEM_HOST_NO_ACCESS: the buffer is closed to the host",
    raw: `clEnqueueMapBuffer returns ${ERROR_NAMES.get(status[0])} (${
      status[0]
    }): what is written can never be published`,
    here,
  };
}

/** The host reads while the work has only been submitted. */
function noFinish(scene: Scene): Seen {
  const { cl, cv, graph, rows, cols } = scene;
  using from = image(rows, cols, 200);
  using to = image(rows, cols);
  const mems = [createBuffer(cl, 0n, from), createBuffer(cl, 0n, to)];
  const before = to.view()[0];
  const [early, late] = inBlock(() => {
    using read = new RawUMat(mems[0], cols, rows, cols, 0);
    using write = new RawUMat(mems[1], cols, rows, cols, 0);
    // A device that is busy with something else: OpenCV's queue waits for an event that is set below.
    const busy = opencl().clCreateUserEvent(cl.handle, new Int32Array(1));
    const queue = core().Queue_ptr(core().Queue_getDefault());
    pinned(BigUint64Array.of(busy), "opencl", (waitList) => {
      opencl().clEnqueueMarkerWithWaitList(queue as bigint as never, 1, waitList, NULL);
    });
    read.copyTo(write);
    const early = to.view()[0];
    opencl().clSetUserEventStatus(busy, 0);
    core().ocl_finish();
    opencl().clReleaseEvent(busy);
    return [early, to.view()[0]];
  });
  const status = new Int32Array(1);
  const size = BigInt(to.layout.byteLength);
  opencl().clEnqueueMapBuffer(cl.queue.handle, mems[1], CL_TRUE, CL_MAP_READ, 0n, size, 0, NULL, NULL, status);
  const mapped = to.view()[0];
  for (const mem of mems) opencl().clReleaseMemObject(mem);
  using umat = graph.map(to, cv.umat);
  const here = refusalOf(() => to.view());
  void umat;
  return {
    fault: "no finish and no map before the host reads",
    raw:
      `right after copyTo the host reads ${early} (it was ${before}); when the queue is finished, ${late}; once the ` +
      `buffer is mapped, ${mapped}`,
    here,
  };
}

/** The number of rows is passed where the step belongs. */
function wrongStep({ rows, cols }: Scene): Seen {
  using memory = image(rows, cols);
  const mat = new BigUint64Array(12);
  const construct = () => core().Mat_construct2D(addressOf(mat, "opencv"), rows, cols, 0, memory.address, BigInt(rows));
  return {
    fault: `Mat(rows, cols, type, data, rows): the step of ${cols} columns is not ${rows}`,
    raw: refusalOf(construct),
    here: refusalOf(() => host.wrap(memory.address, { shape: [rows, cols], dtype: "u8", strides: [rows, 1] })),
  };
}

/** convertFromBuffer takes a step, and ignores it. */
function ignoredStep(scene: Scene): Seen {
  const { cl, cv, graph, rows, cols } = scene;
  using memory = host.allocate({ shape: [rows, cols], dtype: "u8", strides: [cols + 64, 1] });
  using padded = host.wrap(memory.address, { shape: [rows * (cols + 64) - 64], dtype: "u8" });
  const mem = createBuffer(cl, 0n, padded);
  const step = inBlock(() => {
    using umat = new RawUMat(mem, cols, rows, cols, 0);
    return umat.step;
  });
  opencl().clReleaseMemObject(mem);
  using umat = graph.map(memory, cv.umat);
  return {
    fault: `convertFromBuffer(mem, ${cols + 64}, …): rows padded by 64 bytes`,
    raw: `OpenCV 4.6 ignores the step: the UMat has ${step}, and reads the padding for pixels`,
    here: `the UMat has ${umat.matShape.steps[0]}`,
  };
}

/** An output whose size or type does not fit gets other memory. */
function reallocates(scene: Scene): Seen {
  const { cl, cv, graph, rows, cols } = scene;
  using from = image(rows, cols, 200);
  using to = host.allocate({ shape: [rows, cols + 1], dtype: "u8" });
  const mems = [createBuffer(cl, 0n, from), createBuffer(cl, 0n, to)];
  const moved = inBlock(() => {
    using read = new RawUMat(mems[0], cols, rows, cols, 0);
    using write = new RawUMat(mems[1], cols + 1, rows, cols + 1, 0);
    const before = write.handle;
    read.copyTo(write);
    core().ocl_finish();
    return before !== write.handle;
  });
  for (const mem of mems) opencl().clReleaseMemObject(mem);
  const lost = to.view()[0];
  const source = graph.map(from, cv.umat, { access: "read" });
  const output = graph.map(to, cv.umat);
  const refused = refusalOf(() => cv.copyTo(source, output));
  cv.copyTo(source, output, { reallocate: true });
  source[Symbol.dispose]();
  return {
    fault: "an output of another size: OpenCV gives the UMat a buffer of its own",
    raw: `the cl_mem ${moved ? "is another one" : "is the same"}, and the host's memory still holds ${lost}`,
    here: `${refused} And where that was allowed: ${handedOver(() => output[Symbol.dispose](), graph)}`,
  };
}

function handedOver(end: () => void, graph: MapperGraph): string {
  try {
    end();
  } catch (error) {
    if (!(error instanceof ReallocatedError)) throw error;
    using result = error.result!;
    using seen = graph.map(result, host, { access: "read" });
    return `${error.name}, whose result holds ${seen.bytes()[0]}.`;
  }
  return "nothing.";
}

function image(rows: number, cols: number, value = 0): HostTensor<"u8"> {
  const tensor = host.allocate({ shape: [rows, cols], dtype: "u8" });
  tensor.view().fill(value);
  return tensor;
}

/** Runs something whose objects end with it. */
function inBlock<R>(run: () => R): R {
  return run();
}

/** What an attempt is refused with. */
function refusalOf(attempt: () => unknown): string {
  try {
    attempt();
  } catch (error) {
    if (error instanceof InteropError) return `${error.name}: ${error.message}`;
    throw error;
  }
  return "nothing";
}
