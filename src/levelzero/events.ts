import * as ze from "../../ffi/levelzero/constants.ts";
import type { ZeEventHandle, ZeEventPoolHandle } from "../../ffi/levelzero/handles.ts";
import { owned } from "../core/life/ledger.ts";
import { Shared } from "../core/life/shared.ts";
import { type Undo, undoAll } from "../core/life/undo.ts";
import { check, levelZero, made } from "./library.ts";
import type { OpenContext } from "./open_context.ts";
import { struct } from "./struct.ts";

/** The events of one pool. */
const POOL = 32;

/** The events of a command list, which live until neither the list nor anything that waits for one of them holds them. */
export class Events {
  readonly #context: OpenContext;
  readonly #undo: Undo;
  readonly #shared = new Shared(() => undoAll(this.#undo, "destroying events"));
  #pool: ZeEventPoolHandle | undefined;
  #taken = POOL;

  constructor(context: OpenContext) {
    this.#context = context;
    this.#undo = [context.hold()];
  }

  /** Holds them until the returned function is called. */
  hold(): () => void {
    return this.#shared.hold();
  }

  /** A new event, which is not signalled. */
  create(): ZeEventHandle {
    if (this.#taken === POOL) {
      this.#pool = this.#createPool();
      this.#taken = 0;
    }
    const pool = this.#pool!;
    const desc = struct("ze_event_desc_t", {
      index: this.#taken,
      signal: ze.ZE_EVENT_SCOPE_FLAG_HOST,
      wait: ze.ZE_EVENT_SCOPE_FLAG_DEVICE,
    });
    const event = made<ZeEventHandle>("zeEventCreate", (out) => levelZero().zeEventCreate(pool, desc, out));
    owned("levelzero.event", this.#undo, () => check(levelZero().zeEventDestroy(event), "zeEventDestroy"));
    this.#taken++;
    return event;
  }

  #createPool(): ZeEventPoolHandle {
    const { handle, device } = this.#context;
    const desc = struct("ze_event_pool_desc_t", { flags: ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE, count: POOL });
    const devices = new BigUint64Array([device.handle]);
    const pool = made<ZeEventPoolHandle>(
      "zeEventPoolCreate",
      (out) => levelZero().zeEventPoolCreate(handle, desc, 1, devices, out),
    );
    owned("levelzero.eventPool", this.#undo, () => check(levelZero().zeEventPoolDestroy(pool), "zeEventPoolDestroy"));
    return pool;
  }
}
