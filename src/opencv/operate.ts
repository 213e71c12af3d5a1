import { isMade, type Names } from "../core/argument.ts";
import type { Access } from "../core/memory/access.ts";
import { throwAll } from "../core/errors.ts";
import type { Fence } from "../core/life/fence.ts";
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
  const tensors = accepted(cv, operation);
  const reallocate = "dst" in operation ? reallocatable(operation) : operation.accepts();
  const umats = tensors.filter((tensor) => tensor instanceof OpenCVUMat);
  const execution = executionOf(umats);
  order(fn, tensors, execution);
  accepted(cv, operation); // a fence's own code may have ended one
  const written = "dst" in operation ? operation.dst : undefined;
  for (const tensor of tensors) tensor.grant.revokeConflicting(tensor === written ? "write" : "read"); // of peers
  if ("dst" in operation) setReallocation(operation.dst.slot, reallocate === true);
  if (umats.length === 0) return call();
  let result: R;
  try {
    result = execution === undefined ? call() : execution.run(call);
  } catch (error) {
    // It may have submitted work before it failed.
    throwAll([error, ...unwind([() => recordOn(tensors, umats, execution)])], fn);
    throw error;
  }
  recordOn(tensors, umats, execution);
  return result;
}

/** Whether OpenCV may give the output other memory; if not, the result fits. */
function reallocatable({ fn, dst, makes, reallocate = false }: Operation<unknown>): boolean {
  const result = makes();
  if (flag(reallocate, "reallocate")) assertReallocatable(fn, dst, result);
  else assertFits(fn, dst, result);
  return reallocate;
}

/** Checks all, before any native call. */
function accepted(cv: OpenCVContext, operation: Operation<unknown> | Reading<unknown>): OpenCVTensor[] {
  cv.resource.assertLive();
  const { inputs, anyRank = false } = operation;
  const read = Object.entries(inputs).map(([name, value]) => acceptedOne(cv, name, value, "read", anyRank));
  if (!("dst" in operation)) return [...new Set(read)];
  const written = acceptedOne(cv, "dst", operation.dst, "write", anyRank);
  const across = read.find((input) => input !== written && input.grant.overlaps(written.grant));
  if (across === undefined) return [...new Set([...read, written])];
  const what = `${written.name} and ${across.name} have bytes in common.`;
  throw wrong("dst", what, "Pass the same tensor to work in place.");
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

/** What is in flight on a Mat the host waits for; what is on a UMat, OpenCV's queue. */
function order(fn: string, tensors: readonly OpenCVTensor[], execution: Execution | undefined): void {
  const behind: Fence[] = [];
  for (const tensor of tensors) {
    const onDevice = execution !== undefined && tensor instanceof OpenCVUMat;
    const work: Fence[] = onDevice ? behind : [];
    tensor.workBeside(onDevice ? execution.queue : undefined, work);
    if (!onDevice) { for (const fence of work) fence.waitSync(); }
  }
  if (execution === undefined) return;
  execution.queue.assertUnblocked(fn, behind); // OpenCV waits where it has no kernel of its own
  if (behind.length > 0) execution.queue.barrier(behind)[Symbol.dispose]();
}

/** What OpenCV has submitted; where nobody orders its queue, or the device reads a Mat in it, that is finished. */
function recordOn(
  tensors: readonly OpenCVTensor[],
  umats: readonly OpenCVUMat[],
  execution: Execution | undefined,
): void {
  if (execution === undefined) return core().ocl_finish();
  try {
    using fence = execution.queue.marker();
    for (const umat of umats) umat.resource.record(fence.retain());
    if (umats.length < tensors.length) fence.waitSync();
  } catch (error) {
    // What has no fence is not waited for by any end of a map.
    throwAll([error, ...unwind([() => execution.run(() => core().ocl_finish())])], "recording OpenCV's work");
  }
}
