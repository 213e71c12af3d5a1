import { ArgumentError, InteropError } from "../core/errors.ts";

/**
 * What came from the other side is not a message, or is false. Every fd that came with it was closed, and so was the
 * connection. `argument` names the part at fault: `"planes[1].strides"`.
 */
export class MessageError extends InteropError {}

export function badMessage(argument: string, what: string, cause?: unknown): MessageError {
  return new MessageError(`${argument}: ${what}`, { api: "channel", argument, cause });
}

/** Turns a MessageError into an ArgumentError: on the sender's side the program's argument is at fault. */
export function asArgument(error: unknown, argument: string, what: string): unknown {
  if (!(error instanceof MessageError)) return error;
  const { message, cause } = error;
  return new ArgumentError(`${argument}: ${what}: ${message}`, { api: "channel", argument, cause: cause ?? error });
}
