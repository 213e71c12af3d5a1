/**
 * What the sweeps over OpenCV share. It has to be imported before a library is opened.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { USAGE_DEFAULT } from "../../ffi/opencv_core/constants.ts";
import { CL_CONTEXT_REFERENCE_COUNT, CL_MEM_REFERENCE_COUNT } from "../../ffi/opencl/constants.ts";
import { InteropError } from "../../src/core/errors.ts";
import type { OpenCLContext } from "../../src/opencl/mod.ts";
import { type Execution, ReallocatedError } from "../../src/opencv/mod.ts";
import { core } from "../../src/opencv/library.ts";
import { viewAt } from "../../src/opencv/memory.ts";
import { giveSlot, noArray, takeSlot } from "../../src/opencv/slots.ts";
import { until } from "../conformance/bytes.ts";
import { told } from "../opencl/raw.ts";
import { type Fault, sweep } from "./sweep.ts";
import { freeSlots } from "./slots.ts";
import { installTap } from "./tap.ts";

installTap();

/** Why there is no OpenCV here; undefined where there is one. The library is open afterwards, and no context was. */
export const missing: string | undefined = opened();

function opened(): string | undefined {
  try {
    core();
    noArray(); // it keeps a slot
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    return "libopencv_core.so.406";
  }
}

/** A test of OpenCV alone; `before` does once what stays. `lacks` names what else is missing. */
export function testMat(
  name: string,
  run: () => Promise<unknown>,
  before: () => void = () => {},
  lacks?: string,
): void {
  const reason = missing ?? lacks;
  Deno.test({
    name: `faults: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`,
    ignore: reason !== undefined,
    fn: () => {
      before();
      return unchanged(run);
    },
  });
}

/** Runs something in which no slot may be lost, and what OpenCV uses of OpenCL in this thread stays as it is. */
export async function unchanged(run: () => Promise<unknown>): Promise<void> {
  const [slots, state] = [freeSlots(), threadState()];
  await run();
  assertEquals(freeSlots() - slots, 0, "slots that were not given back");
  assertEquals(threadState(), state, "OpenCV's OpenCL state of this thread");
}

/** What OpenCV keeps for this thread. */
export function threadState(): readonly bigint[] {
  const view = viewAt(core().OpenCLExecutionContext_getCurrentRef(), 24);
  return [0, 8, 16].map((at) => view.getBigUint64(at, true));
}

/** How many owners a `cl_mem` and its context have, once a driver's own threads (rusticl's) have let go of what is done. */
export async function settledOwners(cl: OpenCLContext, mem: bigint): Promise<ReturnType<typeof owners>> {
  const unchanged = 20;
  let last = owners(cl, mem);
  for (let seen = 0; seen < unchanged; seen++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const now = owners(cl, mem);
    if (now.some((count, i) => count !== last[i])) seen = 0;
    last = now;
  }
  return last;
}

function owners(cl: OpenCLContext, mem: bigint): readonly [mem: number, context: number] {
  return [
    told("clGetMemObjectInfo", mem, CL_MEM_REFERENCE_COUNT),
    told("clGetContextInfo", cl.rawHandle, CL_CONTEXT_REFERENCE_COUNT),
  ];
}

/** They are as many as before; a driver's own threads (rusticl's) may let go a bit later. */
export async function assertOwners(
  cl: OpenCLContext,
  mem: bigint,
  before: ReturnType<typeof owners>,
  letGo: () => void = () => {},
): Promise<void> {
  await until(() => {
    letGo();
    return owners(cl, mem).every((count, i) => count === before[i]);
  });
  assertEquals(owners(cl, mem), before, "owners of the buffer and its context");
}

/** OpenCV releases a buffer whose last owner was a kernel when it makes the next one. */
export function makeAndEndUMat(execution: Execution): void {
  const slot = takeSlot();
  execution.run(() => {
    core().UMat_construct(slot.header, USAGE_DEFAULT);
    core().UMat_create(slot.header, 2, Int32Array.of(1, 1), 0, USAGE_DEFAULT);
    core().UMat_destruct(slot.header);
  });
  giveSlot(slot);
}

/** Ends what was mapped; where OpenCV has put other memory into it, that too. @throws what else goes wrong. */
export function endReallocated(mapped: Disposable): void {
  try {
    mapped[Symbol.dispose]();
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    const failures = error.errors ?? [error];
    for (const failure of failures) if (failure instanceof ReallocatedError) failure.result?.[Symbol.dispose]();
    if (failures.some((failure) => !(failure instanceof ReallocatedError))) throw error;
  }
}

/** More sweeps than it takes until every call had its turn. */
const MAX_SWEEPS = 8;

/**
 * Sweeps until these are among the calls that failed: waiting takes some calls more in one run than in another, so that
 * what comes after it may be missed.
 */
export async function sweepFor(calls: readonly string[], operation: () => unknown, intact: () => unknown) {
  const failed = new Set<string>();
  for (let i = 0; i < MAX_SWEEPS && !calls.every((call) => failed.has(call)); i++) {
    for (const { call } of await sweep(operation, intact)) failed.add(call);
  }
  assertEquals(calls.filter((call) => !failed.has(call)), [], `not among ${[...failed].join(", ")}`);
}

/** One of the calls that failed has to be this. */
export function some(faults: readonly Fault[], call: string): void {
  const calls = new Set(faults.map((fault) => fault.call));
  assert(calls.has(call), `${call} was not among ${[...calls].join(", ")}`);
}
