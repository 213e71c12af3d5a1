import { CL_COMPLETE } from "../../ffi/opencl/constants.ts";
import { CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_OPERATION } from "../../ffi/opencl/errors.ts";
import type { ClEvent } from "../../ffi/opencl/handles.ts";
import { shown } from "../core/argument.ts";
import { ArgumentError } from "../core/errors.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { Resource } from "../core/life/resource.ts";
import type { OpenCLContext } from "./context.ts";
import { check, errcode, made, openclError } from "./errors.ts";
import { OpenCLFence } from "./event.ts";
import type { Gate } from "./queues/gate.ts";
import { opencl } from "./library.ts";
import { Point } from "./queues/point.ts";

/**
 * An event that the program sets: work submitted `after` its fence starts then.
 *
 * Disposing it unset fails it, so that nothing waits for ever.
 */
export class OpenCLUserEvent implements Disposable {
  readonly #state: UserEventState;

  /** Made by `cl.userEvent()`. */
  constructor(context: OpenCLContext) {
    this.#state = new UserEventState(context);
    finalizers.register(this, this.#state.resource, this);
  }

  /** The fence to wait for it by. It is this object's own: whoever is given it retains it. */
  get fence(): OpenCLFence {
    this.#state.resource.assertLive();
    return this.#state.fence;
  }

  /** Lets the work behind it run. @throws {NativeCallError} where it was set already. */
  complete(): void {
    this.#state.resource.assertLive();
    this.#state.open(CL_COMPLETE);
  }

  /** Fails the work behind it, with a negative code. @throws {NativeCallError} where it was set already. */
  fail(code: number = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST): void {
    this.#state.resource.assertLive();
    if (!Number.isInteger(code) || code >= 0 || code < -(2 ** 31)) {
      throw new ArgumentError(`code: ${shown(code)} is not a negative whole number of 32 bits.`, {
        api: "opencl",
        argument: "code",
      });
    }
    this.#state.open(code);
  }

  /** Releases it; unset, it fails. */
  [Symbol.dispose](): void {
    finalizers.unregister(this);
    this.#state.resource.dispose();
  }
}

/** What a user event is, but for the object in the program's hands: so that a forgotten one can be failed. */
class UserEventState implements Gate {
  set = false;
  readonly opened: Promise<void>;
  readonly fence: OpenCLFence;
  readonly resource: Resource;
  readonly #event: ClEvent;
  readonly #tell: () => void;

  constructor(context: OpenCLContext) {
    this.#event = made(opencl().clCreateUserEvent(context.handle, errcode), "clCreateUserEvent");
    const { promise, resolve } = Promise.withResolvers<void>();
    this.opened = promise;
    this.#tell = resolve;
    const point = new Point({
      event: this.#event,
      fn: "clSetUserEventStatus",
      gates: [this],
      behind: [],
      flush: () => {},
      profiled: false,
    }).share();
    this.fence = new OpenCLFence(context, undefined, point);
    const failUnset = () => {
      if (!this.set) this.open(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    };
    this.resource = new Resource({
      name: "opencl user event",
      owners: [context.resource],
      giveUp: failUnset,
      undo: [() => this.fence[Symbol.dispose](), () => point.drop()],
    });
  }

  open(code: number): void {
    // The event is released as soon as it is seen over: the driver cannot be asked.
    if (this.set) throw openclError(CL_INVALID_OPERATION, "clSetUserEventStatus", { hint: "It was set already." });
    check(opencl().clSetUserEventStatus(this.#event, code), "clSetUserEventStatus");
    this.set = true;
    this.#tell();
  }
}
