import { InteropError } from "../core/errors.ts";

/**
 * What came from the other side is no message, or is one that lies. Every fd that came with it was closed, and so was the
 * connection. `argument` names the part at fault: `"planes[1].strides"`.
 */
export class MessageError extends InteropError {}

/** The error of a part of a message; `what` is the rest of the sentence. */
export function badMessage(argument: string, what: string, cause?: unknown): MessageError {
  return new MessageError(`${argument}: ${what}`, { api: "channel", argument, cause });
}
