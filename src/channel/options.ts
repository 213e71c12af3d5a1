import { type Names, optionsIn } from "../core/argument.ts";
import { Checks } from "../core/checks.ts";
import type { ArgumentError } from "../core/errors.ts";
import { type Context, isTarget, type Target } from "../core/graph/context.ts";
import type { Credentials } from "./connection.ts";
import { sockets } from "./library.ts";

export const checks: Checks = new Checks("channel");

/** Options of calls that wait. */
export interface SignalOptions {
  /** Ends the wait, and nothing else: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Options of {@link listen} and {@link connect}. */
export interface ChannelOptions {
  /** Where what is received goes: the first context that imports its kind of memory. None are needed to send. */
  readonly contexts?: Iterable<Context>;
  /** Says who may be on the other side; by default this user's processes. It returns a boolean, and no promise. */
  readonly allow?: (who: Credentials) => boolean;
}

const NAMES: Names<ChannelOptions> = { contexts: true, allow: true };

export interface Allowed {
  readonly targets: readonly Target[];
  readonly allow: (who: Credentials) => boolean;
}

export function channelOptions(given: ChannelOptions): Allowed {
  const { contexts = [], allow = isSameUser } = optionsIn(given, NAMES);
  if (typeof allow !== "function") throw checks.wrongKind("allow", "a function", allow);
  return { targets: targetsOf(contexts), allow };
}

/** The same for who reads a ring, whose frames have to go somewhere. @throws {ArgumentError} */
export function readerOptions(given: ChannelOptions): Allowed {
  const options = channelOptions(given);
  if (options.targets.length > 0) return options;
  throw checks.wrong("contexts", "expected one or more, to which the ring's frames go; got none.", READ_BY_CPU);
}

const READ_BY_CPU = "For frames that the CPU reads, pass { contexts: [host] }.";

/** Checks the signal that a program gave. @throws {ArgumentError} */
export function signalIn(signal: AbortSignal | undefined): SignalOptions {
  checks.assertSignal(signal, "signal");
  return signal === undefined ? {} : { signal };
}

/** Compares with Object.is, because any value can be the reason of an aborted signal, NaN too. */
export function isReasonOf(signal: AbortSignal | undefined, error: unknown): boolean {
  return signal !== undefined && signal.aborted && Object.is(error, signal.reason);
}

function targetsOf(contexts: Iterable<Context>): Target[] {
  return checks.listIn(contexts, "contexts").flatMap((context, i) => {
    const { targets } = (context ?? {}) as Partial<Context>;
    if (!Array.isArray(targets) || !targets.every(isTarget)) {
      throw checks.wrongKind(`contexts[${i}]`, "a context", context);
    }
    return targets as readonly Target[];
  });
}

function isSameUser({ uid }: Credentials): boolean {
  return uid === sockets().geteuid();
}

export function notAllowed({ pid, uid }: Credentials): ArgumentError {
  return checks.wrong(
    "path",
    `process ${pid} of user ${uid} listens there, and is not allowed.`,
    "Pass { allow } if you trust it.",
  );
}
