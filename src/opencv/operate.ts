import { isMade, type Names } from "../core/argument.ts";
import type { Access } from "../core/memory/access.ts";
import type { Call as DeviceCall } from "../core/device/driver.ts";
import { readyForHost } from "../core/device/host_use.ts";
import type { Use } from "../core/device/line.ts";
import { throwAll } from "../core/errors.ts";
import { unwind } from "../core/life/undo.ts";
import type { OpenCVContext } from "./context.ts";
import { wrong } from "./errors.ts";
import type { Execution } from "./execution.ts";
import { setReallocation } from "./header.ts";
import { core } from "./library.ts";
import { assertFits, assertImage, assertReallocatable, type Result } from "./operations/result.ts";
import { flag } from "./operations/values.ts";
import { OpenCVTensor } from "./tensor.ts";
import { OpenCVUMat } from "./umat.ts";

/** What every operation can be told. */
export interface OperationOptions {
  /**
   * Lets OpenCV give an output other memory where the result does not fit, as it does in C++: the end of its map then
   * throws a {@link ReallocatedError} that has the result. Without it, that is an error before anything is written.
   */
  readonly reallocate?: boolean;
}

/** Those of an operation that has no others. */
export const OPERATION_OPTIONS: Names<OperationOptions> = { reallocate: true };

/** A function, and what it works on by the names of its arguments. */
interface Call<R> {
  /** The function of OpenCV's. */
  readonly fn: string;
  /** What it reads. */
  readonly inputs: Readonly<Record<string, OpenCVTensor>>;
  /**
   * Does it take more than two dimensions? OpenCV's functions for images do not look: they take the first two for rows
   * and columns, and give the output other memory, whatever it says of that.
   */
  readonly anyRank?: boolean;
  /** Calls it. */
  call(): R;
}

/** A function that only reads. */
export interface Reading<R> extends Call<R> {
  /** Throws where it does not take its inputs: called once all are live Mats or UMats. */
  accepts(): void;
}

/** A function that writes. An output that is an input is worked on in place. */
export interface Operation<R> extends Call<R> {
  /** What it writes. */
  readonly dst: OpenCVTensor;
  /** What it is going to write, or throws where it does not take its inputs: called once all are live Mats or UMats. */
  makes(): Result;
  /** @see {@link OperationOptions.reallocate} */
  readonly reallocate: boolean | undefined;
}

/**
 * Calls a function of OpenCV's: for operations. It returns when OpenCV does: Mats are done then, of UMats the work is
 * submitted, behind what was submitted for them before, and recorded on them.
 *
 * @throws {AccessError} where something is lent, or may not be used so.
 * @throws {ArgumentError} where something is no Mat or UMat of this context, UMats are of several, or the output overlaps
 * an input in part.
 * @throws {LayoutError} where the output has not the size and type of the result, or an input is none that it takes.
 * @throws {OpenCVError} where OpenCV throws.
 */
export function operate<R>(cv: OpenCVContext, operation: Operation<R> | Reading<R>): R {
  const { fn, call } = operation;
  const uses = accepted(cv, operation);
  const reallocate = "dst" in operation ? reallocatable(operation) : operation.accepts();
  const onDevice = uses.filter(isOfUMat);
  const execution = executionOf(onDevice.map(({ tensor }) => tensor));
  const onHost = execution === undefined ? uses : uses.filter(({ tensor }) => !(tensor instanceof OpenCVUMat));
  const allowReallocation = () => {
    if ("dst" in operation) setReallocation(operation.dst.slot, reallocate === true);
  };
  readyForHost(onHost);
  if (execution === undefined) {
    allowReallocation();
    return onDevice.length === 0 ? call() : finished(fn, call);
  }
  let result: R;
  const { line } = execution.queue;
  const command: DeviceCall = {
    fn,
    blocks: true, // OpenCV waits where it has no kernel of its own
    opaque: { finish: () => execution.run(() => core().ocl_finish()) },
    call() {
      allowReallocation();
      result = execution.run(call);
      return 0;
    },
  };
  const submitted = unwind([() => void line.submit(onDevice, command)]);
  // The device may still read a Mat.
  throwAll([...submitted, ...(onHost.length === 0 ? [] : unwind([() => line.fence().waitSync()]))], fn);
  return result!;
}

function isOfUMat(use: Use<OpenCVTensor>): use is Use<OpenCVUMat> {
  return use.tensor instanceof OpenCVUMat;
}

/** Nobody orders the queue that OpenCV uses by itself: its work is done when this returns. */
function finished<R>(fn: string, call: () => R): R {
  let result: R;
  const failures = unwind([() => void core().ocl_finish(), () => void (result = call())]);
  throwAll(failures, fn);
  return result!;
}

/** Whether OpenCV may give the output other memory; if not, the result fits. */
function reallocatable({ fn, dst, makes, reallocate = false }: Operation<unknown>): boolean {
  const result = makes();
  if (flag(reallocate, "reallocate")) assertReallocatable(fn, dst, result);
  else assertFits(fn, dst, result);
  return reallocate;
}

/** Checks all, before any native call. Each tensor is used once; an output that is an input is written. */
function accepted(cv: OpenCVContext, operation: Operation<unknown> | Reading<unknown>): Use<OpenCVTensor>[] {
  cv.resource.assertLive();
  const { inputs, anyRank = false } = operation;
  const uses = new Map<OpenCVTensor, Use<OpenCVTensor>>();
  for (const [argument, value] of Object.entries(inputs)) {
    const tensor = acceptedOne(cv, argument, value, "read", anyRank);
    uses.set(tensor, { tensor, access: "read", argument });
  }
  if (!("dst" in operation)) return [...uses.values()];
  const written = acceptedOne(cv, "dst", operation.dst, "write", anyRank);
  const across = [...uses.keys()].find((input) => input !== written && input.grant.overlaps(written.grant));
  if (across !== undefined) {
    const what = `${written.name} and ${across.name} have bytes in common.`;
    throw wrong("dst", what, "Pass the same tensor to work in place.");
  }
  uses.set(written, { tensor: written, access: uses.has(written) ? "read-write" : "write", argument: "dst" });
  return [...uses.values()];
}

function acceptedOne(
  cv: OpenCVContext,
  name: string,
  value: unknown,
  access: Access,
  anyRank: boolean,
): OpenCVTensor {
  if (!isMade(value, OpenCVTensor)) {
    throw wrong(name, "it is no Mat or UMat of samepage's.", "Map it first: graph.map(tensor, cv.mat).");
  }
  value.resource.assertLive();
  if (value.context !== cv) {
    const hint = "Open OpenCV once, and use that context for all.";
    throw wrong(name, `${value.name} belongs to another context than this one.`, hint);
  }
  value.assertUsable(access);
  value.assertInPlace();
  if (!anyRank) assertImage(name, value);
  return value;
}

/** OpenCV works on one OpenCL context at a time. */
function executionOf(umats: readonly OpenCVUMat[]): Execution | undefined {
  const [first, ...others] = umats;
  const foreign = others.find(({ buffer }) => buffer.clContext !== first.buffer.clContext);
  if (foreign === undefined) return umats.find(({ buffer }) => buffer.execution !== undefined)?.buffer.execution;
  throw wrong(
    "dst",
    `${foreign.name} belongs to another OpenCL context (0x${
      foreign.buffer.clContext.toString(16)
    }) than ${first.name} ` +
      `(0x${first.buffer.clContext.toString(16)}).`,
    "Map both from one OpenCLContext.",
  );
}
