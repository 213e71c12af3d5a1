import type { ClEvent } from "../../../ffi/opencl/handles.ts";
import { throwAll } from "../../core/errors.ts";
import { unwind } from "../../core/life/undo.ts";
import { releaseEvent, statusOf } from "./event.ts";

interface Failed {
  readonly event: ClEvent;
  readonly behind: readonly ClEvent[];
}

/**
 * The events of commands that failed. PoCL 3.1 looks at one again when what its command had waited for ends, which may be
 * later than the failure: it is held until then.
 */
export class FailedEvents {
  #held: Failed[] = [];

  /** Takes over a failed event, and those of its wait list. */
  add(event: ClEvent, behind: readonly ClEvent[]): void {
    this.#held.push({ event, behind });
  }

  /** Releases those that nothing will look at any more. */
  sweep(): void {
    if (this.#held.length === 0) return;
    const past = this.#held.filter(({ behind }) => behind.every((event) => statusOf(event) <= 0));
    this.#held = this.#held.filter((failed) => !past.includes(failed));
    release(past);
  }

  /** Releases all of them: the context ends, and no work of it is left. */
  close(): void {
    release(this.#held.splice(0));
  }
}

function release(those: readonly Failed[]): void {
  const events = those.flatMap(({ event, behind }) => [event, ...behind]);
  throwAll(unwind(events.map((event) => () => releaseEvent(event))), "releasing events");
}
