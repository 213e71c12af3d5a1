import type { ClContext, ClEvent } from "../../../ffi/opencl/handles.ts";
import type { Gate } from "../../core/device/fence.ts";
import { UserEvent } from "./event.ts";

/** The user events by which a queue's commands wait for gates. Each gate sets its own. */
export class GateEvents {
  readonly #context: ClContext;
  /** Makes a call, and keeps what it throws, because no caller could catch it. */
  readonly #keeping: (call: () => void) => void;
  #events: Map<Gate, UserEvent> | undefined;

  constructor(context: ClContext, keeping: (call: () => void) => void) {
    this.#context = context;
    this.#keeping = keeping;
  }

  of(gate: Gate): ClEvent {
    this.#events ??= new Map();
    let opening = this.#events.get(gate);
    if (opening === undefined) {
      this.#events.set(gate, opening = new UserEvent(this.#context));
      gate.whenOpen((failed) => this.#open(gate, !failed));
    }
    return opening.event;
  }

  abandon(): void {
    for (const gate of this.#events?.keys() ?? []) this.#open(gate, false);
  }

  #open(gate: Gate, succeeds: boolean): void {
    const event = this.#events?.get(gate);
    if (event === undefined) return;
    this.#events!.delete(gate);
    this.#keeping(() => event.set(succeeds));
  }
}
