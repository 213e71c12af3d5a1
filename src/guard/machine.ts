import { type ErrorFields, InteropError } from "../core/errors.ts";

/** True if samepage has machine code for this machine. */
export function isMachine(): boolean {
  return Deno.build.os === "linux" && Deno.build.arch === "x86_64";
}

/** @param what what needs machine code, for messages: `"The guard"` @throws {InteropError} on other machines. */
export function assertMachine(what: string, fields: ErrorFields): void {
  if (isMachine()) return;
  const { os, arch } = Deno.build;
  throw new InteropError(`${what} is machine code for Linux on x86-64, and this is ${os} on ${arch}.`, fields);
}
