import { unexpected } from "../argument.ts";
import { environmentInWords } from "../native/library.ts";

/** Its value is 1 where a program wants to know. */
const VARIABLE = "SAMEPAGE_TRACE_FORGOTTEN";

const MOST_CALLS = 50;

/** What stands for the calls where the program has its own form of stacks. */
const NO_TEXT = "    (unknown: Error.prepareStackTrace of this program returns no text)";

/** Where samepage's own modules are: their calls are left out. */
const OWN = new URL("../../../", import.meta.url).href;
const OWN_CALL = new RegExp(`${RegExp.escape(OWN)}(src/|mod\\.ts:)`);

/** Undefined until the variable was looked at. */
let isTracing: boolean | undefined;

/**
 * From now on, the warning of an object that was never disposed says where it was made, if it was made from now on. The
 * same as the variable SAMEPAGE_TRACE_FORGOTTEN=1, for programs that may not read the environment. It costs a stack for
 * each object, about 70 µs.
 *
 * @throws {ArgumentError} if `on` is no boolean.
 *
 * @example
 * ```ts
 * import { host, traceForgotten } from "@samepage/interop";
 *
 * traceForgotten(); // while you look for objects that are never disposed
 * using tensor = host.allocate({ shape: [16], dtype: "u8" });
 * traceForgotten(false);
 * ```
 */
export function traceForgotten(on: boolean = true): void {
  if (typeof on !== "boolean") throw unexpected("on", "a boolean", on);
  isTracing = on;
}

/** One line for each of the program's calls; undefined unless they were asked for. */
export function originOf(): string | undefined {
  isTracing ??= environmentInWords(VARIABLE) === "1";
  return isTracing ? callsOfProgram() : undefined;
}

export function originInWords(origin: string | undefined): string {
  return origin === undefined ? ` ${VARIABLE}=1 says where it was made.` : ` It was made here:\n${origin}`;
}

/** Programs may replace what V8 asks for a stack, and freeze Error. Whatever they do, an object is made without a throw. */
function callsOfProgram(): string {
  const { stackTraceLimit } = Error;
  try {
    Reflect.set(Error, "stackTraceLimit", MOST_CALLS);
    const { stack } = new Error(); // as text: V8's own form of a stack keeps the objects alive whose methods it shows
    if (typeof stack !== "string") return NO_TEXT;
    const calls = stack.split("\n").slice(1).filter((call) => !OWN_CALL.test(call));
    return calls.slice(0, stackTraceLimit).join("\n");
  } catch {
    return NO_TEXT;
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}
