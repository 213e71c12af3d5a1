import type { BaseContext, BaseQueue } from "../base_context.ts";
import type { Taken } from "../transfers/commands.ts";

/** Copies for experiments. They do not count: they are not the program's. */
export function copiesOn(context: BaseContext & { readonly queue: BaseQueue }): {
  write(to: Taken, bytes: Uint8Array): void;
  read(from: Taken, into: Uint8Array): void;
} {
  return {
    write(to, bytes) {
      context.queue.write(to, bytes);
      context.countCopied(-bytes.length);
    },
    read(from, into) {
      context.queue.read(from, into);
      context.countCopied(-into.length);
    },
  };
}
