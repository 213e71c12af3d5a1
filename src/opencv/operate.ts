import { isMade } from "../core/argument.ts";
import type { Access } from "../core/access.ts";
import { throwAll } from "../core/errors.ts";
import type { Fence } from "../core/fence.ts";
import { unwind } from "../core/undo.ts";
import type { OpenCVContext } from "./context.ts";
import type { Execution } from "./execution.ts";
import { setReallocation } from "./header.ts";
import { core } from "./library.ts";
import { assertFits, type Result } from "./operations/result.ts";
import { wrong } from "./operations/values.ts";
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

/** An operation: what it works on, by the names of its arguments. An output that is an input is worked on in place. */
export interface Operation {
  /** The function of OpenCV's. */
  readonly fn: string;
  /** What it reads. */
  readonly inputs: Readonly<Record<string, OpenCVTensor>>;
  /** What it writes; `makes` answers the size and type of that, once all are known to be Mats or UMats. */
  readonly dst: OpenCVTensor;
  /** What it is going to write. */
  makes(): Result;
  /** @see {@link OperationOptions.reallocate} */
  readonly reallocate: boolean | undefined;
  /** Calls it. */
  call(): void;
}

/**
 * Calls a function of OpenCV's: for operations. It returns when OpenCV does: Mats are done then, of UMats the work is
 * submitted, behind what was submitted for them before, and recorded on them.
 *
 * @throws {AccessError} where something is lent, or may not be used so.
 * @throws {ArgumentError} where something is no Mat or UMat of this context, UMats are of several, or the output overlaps
 * an input in part.
 * @throws {LayoutError} where the output has not the size and type of the result.
 * @throws {OpenCVError} where OpenCV throws.
 */
export function operate(cv: OpenCVContext, operation: Operation): void {
  const { fn, dst, reallocate = false, makes, call } = operation;
  const tensors = accepted(cv, operation);
  if (!reallocate) assertFits(fn, dst, makes());
  const umats = tensors.filter((tensor) => tensor instanceof OpenCVUMat);
  const execution = executionOf(umats);
  order(tensors, execution);
  accepted(cv, operation); // a fence's own code may have ended one
  setReallocation(dst.slot, reallocate);
  if (umats.length === 0) return call();
  try {
    if (execution === undefined) call();
    else execution.run(call);
  } catch (error) {
    // It may have submitted work before it failed.
    throwAll([error, ...unwind([() => recordOn(umats, execution)])], fn);
  }
  recordOn(umats, execution);
}

/** Checks all, before any native call. */
function accepted(cv: OpenCVContext, { inputs, dst }: Operation): OpenCVTensor[] {
  cv.resource.assertLive();
  const read = Object.entries(inputs).map(([name, value]) => acceptedOne(cv, name, value, "read"));
  const written = acceptedOne(cv, "dst", dst, "write");
  const across = read.find((input) => input !== written && overlap(input, written));
  if (across === undefined) return [...new Set([...read, written])];
  const what = `${written.name} and ${across.name} have bytes in common.`;
  throw wrong("dst", what, "Pass the same tensor to work in place.");
}

function acceptedOne(cv: OpenCVContext, name: string, value: unknown, access: Access): OpenCVTensor {
  if (!isMade(value, OpenCVTensor)) {
    throw wrong(name, "it is no Mat or UMat of samepage's.", "Map it first: graph.map(tensor, cv.mat).");
  }
  value.resource.assertLive();
  if (value.context !== cv) throw wrong(name, `${value.name} belongs to another context than this one.`);
  value.assertUsable(access);
  return value;
}

function overlap({ grant: a }: OpenCVTensor, { grant: b }: OpenCVTensor): boolean {
  return a.allocation === b.allocation && a.start < b.end && b.start < a.end;
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
function order(tensors: readonly OpenCVTensor[], execution: Execution | undefined): void {
  const behind: Fence[] = [];
  for (const tensor of tensors) {
    const onDevice = execution !== undefined && tensor instanceof OpenCVUMat;
    const work: Fence[] = onDevice ? behind : [];
    tensor.workBeside(onDevice ? execution.queue : undefined, work);
    if (!onDevice) { for (const fence of work) fence.waitSync(); }
  }
  if (behind.length > 0) execution!.queue.barrier(behind)[Symbol.dispose]();
}

/** What OpenCV has submitted; where nobody orders its queue, that is finished. */
function recordOn(umats: readonly OpenCVUMat[], execution: Execution | undefined): void {
  if (execution === undefined) return core().ocl_finish();
  using fence = execution.queue.marker();
  for (const umat of umats) umat.resource.record(fence.retain());
}
