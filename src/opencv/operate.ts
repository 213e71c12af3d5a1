import { aKind, isMade, type Names, optionsIn } from "../core/argument.ts";
import type { Access } from "../core/memory/access.ts";
import type { Call as DeviceCall } from "../core/contract.ts";
import { readyForHost } from "../core/device/work.ts";
import type { Use } from "../core/device/line.ts";
import { throwAll } from "../core/errors.ts";
import { unwind } from "../core/life/undo.ts";
import type { OpenCVBase } from "./base.ts";
import { wrong } from "./errors.ts";
import type { Execution } from "./execution.ts";
import { setReallocation } from "./header.ts";
import { core } from "./library.ts";
import { assertFits, assertImage, assertReallocatable, type Result } from "./operations/result.ts";
import { flag } from "./operations/values.ts";
import { OpenCVTensor } from "./tensor.ts";
import { OpenCVUMat } from "./umat.ts";

/** The options of every operation. */
export interface OperationOptions {
  /**
   * Lets OpenCV reallocate an output that the result does not fit, as in C++. The end of its map then throws a
   * {@link ReallocatedError} that has the result. By default such an output is an error before anything is written.
   */
  readonly reallocate?: boolean;
}

interface Call<R> {
  readonly fn: string;
  readonly inputs: Readonly<Record<string, OpenCVTensor>>;
  /**
   * True if the function takes any number of dimensions. OpenCV's image functions do not check: they take the first two for
   * rows and columns, and reallocate the output.
   */
  readonly anyRank?: boolean;
  call(): R;
}

export interface Reading<R> extends Call<R> {
  /** Throws if the function does not take its inputs. Called when all are known to be live Mats or UMats. */
  accepts(): void;
}

/** A function that writes. If its output is also an input, it works in place. */
export interface Operation<R> extends Call<R> {
  readonly dst: OpenCVTensor;
  /** The size and type of the result. Throws if the function does not take its inputs. Called like {@link Reading.accepts}. */
  makes(): Result;
  /** @see {@link OperationOptions.reallocate} */
  readonly reallocate: boolean | undefined;
}

export interface Ends {
  readonly src: OpenCVTensor;
  readonly dst: OpenCVTensor;
}

/** An operation in a table. `O` are its options, `A` its other arguments, `V` the checked values of both. */
export interface Row<O extends OperationOptions, A extends readonly unknown[], V, R> {
  readonly fn: string;
  readonly options: Names<Omit<O, keyof OperationOptions>>;
  /** @see {@link Call.anyRank} */
  readonly anyRank?: true;
  /** Reads options and arguments. @throws {ArgumentError} for a wrong one. */
  read(options: O, ...args: A): V;
  /** The tensors that it reads besides `src`, by the names of the arguments. */
  readonly besides?: (values: V) => Readonly<Record<string, OpenCVTensor>>;
  /** @see {@link Operation.makes}; the size and the type of `src` by default */
  readonly makes?: (ends: Ends, values: V) => Result;
  call(ends: Ends, values: V): R;
}

export function operation<O extends OperationOptions, A extends readonly unknown[], V, R>(
  row: Row<O, A, V, R>,
): (cv: OpenCVBase, ends: Ends, options: O, ...args: A) => R {
  const { fn, anyRank, besides, makes } = row;
  const names = { ...row.options, reallocate: true } as unknown as Names<O>;
  return (cv, ends, options, ...args) => {
    const { src, dst } = ends;
    const { reallocate } = optionsIn(options, names);
    const values = row.read(options, ...args);
    return operate(cv, {
      fn,
      inputs: besides === undefined ? { src } : { src, ...besides(values) },
      dst,
      makes: () => makes === undefined ? src.matShape : makes(ends, values),
      reallocate,
      anyRank: anyRank ?? false,
      call: () => row.call(ends, values),
    });
  };
}

/**
 * Calls an OpenCV function, and returns when OpenCV does. Work on Mats is over then; work on UMats is submitted behind earlier
 * work on them, and recorded.
 * @throws {AccessError} if a tensor is lent, or its access does not allow the use.
 * @throws {ArgumentError} for anything but a Mat or UMat of this context, UMats of several OpenCL contexts, and an
 * output that overlaps an input in part.
 * @throws {LayoutError} if the output has another size or type than the result, or the function does not take an input.
 * @throws {OpenCVError} if OpenCV throws.
 */
export function operate<R>(cv: OpenCVBase, operation: Operation<R> | Reading<R>): R {
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
    blocks: true, // OpenCV waits if it has no kernel for the function
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

/** Calls a function, and finishes OpenCV's own queue, which has no line that orders it. */
function finished<R>(fn: string, call: () => R): R {
  let result: R;
  const failures = unwind([() => void core().ocl_finish(), () => void (result = call())]);
  throwAll(failures, fn);
  return result!;
}

/** True if OpenCV may reallocate the output. Throws if it may not, and the result does not fit. */
function reallocatable({ fn, dst, makes, reallocate = false }: Operation<unknown>): boolean {
  const result = makes();
  if (flag(reallocate, "reallocate")) assertReallocatable(fn, dst, result);
  else assertFits(fn, dst, result);
  return reallocate;
}

/** Checks all arguments before any native call. Each tensor is used once: for writing if it is an input and an output. */
function accepted(cv: OpenCVBase, operation: Operation<unknown> | Reading<unknown>): Use<OpenCVTensor>[] {
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
    const what = `${written.name} and ${across.name} overlap.`;
    throw wrong("dst", what, "Pass the same tensor to work in place.");
  }
  uses.set(written, { tensor: written, access: uses.has(written) ? "read-write" : "write", argument: "dst" });
  return [...uses.values()];
}

function acceptedOne(cv: OpenCVBase, name: string, value: unknown, access: Access, anyRank: boolean): OpenCVTensor {
  if (!isMade(value, OpenCVTensor)) {
    throw wrong(
      name,
      `expected a Mat or UMat, got ${aKind(value)}.`,
      "Map it first: graph.map(tensor, cv.mat).",
    );
  }
  value.resource.assertLive();
  if (value.context !== cv) {
    const hint = "Open OpenCV once, and use that context for all.";
    throw wrong(name, `${value.name} belongs to another context than this one.`, hint);
  }
  value.usable(access);
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
