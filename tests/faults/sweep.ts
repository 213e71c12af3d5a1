import { assert, assertEquals } from "@std/assert";
import { InteropError, NoRouteError } from "../../src/core/errors.ts";
import { ledger } from "../../src/core/life/ledger.ts";
import { onThread } from "../../src/core/native/thread_memory.ts";
import { warningsOf } from "../warnings.ts";
import { Counted, type Due } from "./tap.ts";

/** More native calls than any operation makes: a sweep that comes here would go on for ever. */
const MOST = 4000;

/** How many of the calls from one place are made to fail; the variable sets another number. */
const OF_ONE_PLACE = Number(Deno.env.get("SAMEPAGE_FAULTS_OF_A_PLACE") ?? 2);

/** Waiting takes some calls more in one run than in another: a sweep is through when so many runs in a row had fewer. */
const BEYOND = 12;

/** Calls that are never made to fail, as tasks/gpu/sanitizer.ts wants it. */
const SPARED: readonly string[] = Deno.env.get("SAMEPAGE_SPARED_CALLS")?.split(",") ?? [];

/** One run of the operation, and which of its native calls failed. */
export interface Fault {
  /** The call: `"opencl.clCreateBuffer"`. */
  readonly call: string;
  /**
   * What the operation threw, in words; undefined where it went well all the same. An error keeps alive what the functions
   * in its stack could see, so a sweep keeps none: what an operation has left is collected.
   */
  readonly error: string | undefined;
  /** Did anybody hear of it: was an error of this function thrown, or warned of? */
  readonly told: boolean;
}

/**
 * Runs an operation once for each native call that it makes, and makes that call fail: the first one, then the second,
 * … until it is through without a failure. Each time it has to end well or with a typed error, to leave nothing alive,
 * and everything intact; and somebody has to hear of the failure.
 *
 * A call is known by its function and how many of that function's came before it: how often an operation polls differs
 * from run to run, and would give every later call another number. Of the calls that are made from one place, which is a
 * loop, two fail: the first, and one with something before it that is to be undone.
 *
 * @param operation disposes what it makes, whatever happens
 * @param intact checks what must be as it was before, by calls that go well; it gets the name of the failed call
 * @param silent calls whose failures need not be reported: an optional question, a first attempt
 */
export async function sweep(
  operation: () => unknown,
  intact: (failed?: string) => unknown = () => {},
  silent: readonly string[] | "any" = [],
): Promise<Fault[]> {
  try {
    return await swept(operation, intact, silent);
  } catch (error) {
    toBeTold = undefined; // what this used is not closed
    throw error;
  }
}

async function swept(
  operation: () => unknown,
  intact: (failed?: string) => unknown,
  silent: readonly string[] | "any",
): Promise<Fault[]> {
  // The page of waits on other threads stays for good. A wait that cannot have it is asked again: its failure would not
  // be reported.
  await onThread("tests", () => Promise.resolve());
  await intact();
  const { alive } = ledger;
  const failed = new Set<string>();
  const faults: Fault[] = [];
  const places = new Map<string, number>();
  const next: Due = (call, nth, place) => {
    if (SPARED.includes(call)) return false;
    if (failed.size === failed.add(`call ${nth} of ${call}`).size) return false;
    const here = `${call} at ${place()}`;
    const times = (places.get(here) ?? 0) + 1;
    places.set(here, times);
    return times <= OF_ONE_PLACE;
  };
  for (let beyond = 0; beyond < BEYOND;) {
    const where = () => `after ${[...failed].at(-1)} had failed`;
    const fault = await faulty(operation, next, where);
    if (fault === undefined) {
      beyond++;
      continue;
    }
    beyond = 0;
    try {
      await intact(fault.call);
    } catch (cause) {
      const how = cause instanceof Error ? cause.message : cause;
      throw new Error(`not intact ${where()} (${fault.error}): ${how}`, { cause });
    }
    assertStillAlive(alive, where());
    if (faults.push(fault) > MOST) throw new Error(`the operation made more than ${MOST} native calls`);
  }
  if (silent !== "any") assertTold(faults, silent);
  return faults;
}

/**
 * Lines keep semaphores, and give up one whose command was refused, because it is unknown whether its wait was made:
 * afterwards there may be fewer of them, and never more.
 */
const GIVEN_UP: readonly string[] = [
  "imported semaphore",
  "opencl.cl_semaphore_khr",
  "cuda.cudaExternalSemaphore_t",
  "vulkan.VkSemaphore",
];

/** What is alive is what was before. */
function assertStillAlive(before: Readonly<Record<string, number>>, where: string): void {
  const now = { ...ledger.alive };
  for (const kind of GIVEN_UP) if ((now[kind] ?? 0) < (before[kind] ?? 0)) now[kind] = before[kind];
  assertEquals(now, before, `alive ${where}`);
}

/**
 * Questions about work, and waits for it. One that fails is asked again, and of a wait nothing is said where the work is
 * over by then.
 */
const ASKED_AGAIN: readonly string[] = [
  "opencl.clGetEventInfo",
  "opencl.clFlush",
  "opencl.clWaitForEvents",
  "opencl.clWaitForEventsAsync",
  "opencl.clRetainEvent",
  "cudart.cudaEventRecord",
  "cudart.cudaEventQuery",
  "cudart.cudaEventSynchronize",
  "cudart.cudaEventSynchronizeAsync",
  "cudart.cudaStreamSynchronize",
  "cuda.cuDevicePrimaryCtxRetain", // while another thread waits
  "cuda.cuDevicePrimaryCtxRelease_v2",
  "vulkan.vkGetSemaphoreCounterValue",
  "vulkan.vkWaitSemaphores",
  "vulkan.vkWaitSemaphoresAsync",
  "levelzero.zeEventQueryStatus",
  "levelzero.zeEventHostSynchronize",
  "levelzero.zeEventHostSynchronizeAsync",
  "egl.eglClientWaitSync",
  "egl.eglClientWaitSyncAsync",
  "gstreamer.gst_element_get_stateAsync", // a change of state interrupts it
  "sycl.DPCTLEvent_Copy", // for a wait on another thread
  "sycl.DPCTLEvent_WaitAndThrow",
  "sycl_wait.DPCTLEvent_WaitAndThrow",
  "fake.fakeStatus",
  "fake.fakeWait",
  "fake.fakeWaitAsync",
];

/**
 * A queue releases the events that it comes past, and sets the user events behind which its commands wait, where no
 * program waits for them. It keeps the first of such failures, and its end throws it.
 */
const KEPT_BY_QUEUE: readonly string[] = ["opencl.clReleaseEvent", "opencl.clSetUserEventStatus"];

/** What {@link close} has to throw: the first of such failures that the sweeps before it have seen. */
let toBeTold: string | undefined;

/** Ends what the sweeps have used, its queues with it: their failures are thrown, and none went unsaid. */
export function close(...used: readonly Disposable[]): void {
  const call = toBeTold;
  toBeTold = undefined;
  let error: unknown;
  try {
    using all = new DisposableStack();
    for (const one of used.toReversed()) all.use(one);
  } catch (thrown) {
    error = thrown;
  }
  assertTyped(error, "closing it");
  assert(call === undefined || isOf(error, call), `a failure of ${call} went unsaid: ${error}`);
}

/** Every failure was heard of: an error of the function that failed was thrown, or a warning named it. */
function assertTold(faults: readonly Fault[], silent: readonly string[] = []): void {
  const untold = faults.filter(({ told, call }) => !told && !ASKED_AGAIN.includes(call) && !silent.includes(call));
  toBeTold ??= untold.find(({ call }) => KEPT_BY_QUEUE.includes(call))?.call;
  const unsaid = untold.filter(({ call }) => !KEPT_BY_QUEUE.includes(call));
  const words = unsaid.map(({ call, error }) => error === undefined ? call : `${call}: ${error}`);
  assertEquals(words, [], "failures that went unsaid");
}

/** Is it, or is a part or a cause of it, a failure of this native function? A table may be a part of an API's. */
function isOf(error: unknown, call: string): boolean {
  if (error instanceof SuppressedError) return isOf(error.error, call) || isOf(error.suppressed, call);
  if (!(error instanceof InteropError)) return false;
  const [table, fn] = call.split(".");
  // cuCtxGetCurrent_v2 is recorded as cuCtxGetCurrent, and a call off this thread as the one that blocks.
  if (error.fn !== undefined && fn.startsWith(error.fn) && table.startsWith(error.api ?? "")) return true;
  if (error instanceof NoRouteError && error.message.includes(`${fn} failed`)) return true;
  return [...error.errors ?? [], error.cause].some((part) => isOf(part, call));
}

/** The function's name as programs write it: a header may give a later version of it the old name. */
function functionOf(call: string): string {
  return call.split(".")[1].replace(/_v\d+$/, "");
}

/** One run; undefined where no call of it was due, and it went well. */
async function faulty(operation: () => unknown, due: Due, where: () => string): Promise<Fault | undefined> {
  using counted = new Counted(due);
  let error: unknown;
  const warnings = await warningsOf(async () => {
    try {
      await operation();
    } catch (thrown) {
      error = thrown;
    }
  });
  const call = counted.failed;
  if (call === undefined) {
    if (error !== undefined) throw error;
    return undefined;
  }
  assertTyped(error, where());
  const told = isOf(error, call) || warnings.some((text) => text.includes(functionOf(call)));
  return { call, error: error === undefined ? undefined : String(error), told };
}

/** Every part of an error is one of ours: what a dispose threw while `using`, and what it suppressed, too. */
export function assertTyped(error: unknown, where: string): void {
  if (error === undefined) return;
  if (error instanceof SuppressedError) {
    assertTyped(error.error, where);
    assertTyped(error.suppressed, where);
    return;
  }
  const told = error instanceof Error ? error.stack : error;
  assert(error instanceof InteropError, `an error that is not typed, ${where}: ${told}`);
  for (const part of error.errors ?? []) assertTyped(part, where);
}
