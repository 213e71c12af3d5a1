import { assert, assertEquals } from "@std/assert";
import { InteropError } from "../../src/core/errors.ts";
import { ledger } from "../../src/core/life/ledger.ts";
import { Counted, type Due } from "./tap.ts";

/** More native calls than any operation makes: a sweep that comes here would go on for ever. */
const MOST = 2000;

/** Waiting takes some calls more in one run than in another: a sweep is through when so many runs in a row had fewer. */
const BEYOND = 12;

/** One run of the operation, and which of its native calls failed. */
export interface Fault {
  /** The call: `"opencl.clCreateBuffer"`. */
  readonly call: string;
  /** What the operation threw; undefined where it went well all the same. */
  readonly error: unknown;
}

/**
 * Runs an operation once for each native call that it makes, and makes that call fail: the first one, then the second,
 * … until it is through without a failure. Each time it has to end well or with a typed error, to leave nothing alive,
 * and everything intact.
 *
 * A call is known by its function and how many of that function's came before it: how often an operation polls differs
 * from run to run, and would give every later call another number.
 *
 * @param operation disposes what it makes, whatever happens
 * @param intact checks what must be as it was before, by calls that go well
 */
export async function sweep(operation: () => unknown, intact: () => unknown = () => {}): Promise<Fault[]> {
  await intact();
  const { alive } = ledger;
  const swept = new Set<string>();
  const faults: Fault[] = [];
  const next = (call: string, nth: number) => swept.size < swept.add(`call ${nth} of ${call}`).size;
  for (let beyond = 0; beyond < BEYOND;) {
    const { call, error } = await faulty(operation, next);
    if (call === undefined) {
      if (error !== undefined) throw error;
      beyond++;
      continue;
    }
    beyond = 0;
    const where = `after ${[...swept].at(-1)} had failed`;
    assertTyped(error, where);
    try {
      await intact();
    } catch (cause) {
      throw new Error(`not intact ${where} (${error}): ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
    assertEquals(ledger.alive, alive, `alive ${where}`);
    if (faults.push({ call, error }) > MOST) throw new Error(`the operation made more than ${MOST} native calls`);
  }
  return faults;
}

async function faulty(operation: () => unknown, due: Due): Promise<{ call: string | undefined; error: unknown }> {
  using counted = new Counted(due);
  try {
    await operation();
    return { call: counted.failed, error: undefined };
  } catch (error) {
    return { call: counted.failed, error };
  }
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
  for (const part of error.errors) assertTyped(part, where);
}
