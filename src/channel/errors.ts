import { ArgumentError, InteropError } from "../core/errors.ts";

/**
 * What came from the other side is no message, or is one that lies. Every fd that came with it was closed, and so was the
 * connection. `argument` names the part at fault: `"planes[1].strides"`.
 */
export class MessageError extends InteropError {}

/** The error of a part of a message; `what` is the rest of the sentence. */
export function badMessage(argument: string, what: string, cause?: unknown): MessageError {
  return new MessageError(`${argument}: ${what}`, { api: "channel", argument, cause });
}

/** What a receiver would refuse is, before it is sent, the fault of an argument of the program's. Other errors stay. */
export function asArgument(error: unknown, argument: string, what: string): unknown {
  if (!(error instanceof MessageError)) return error;
  const { message, cause } = error;
  return new ArgumentError(`${argument}: ${what}: ${message}`, { api: "channel", argument, cause: cause ?? error });
}
