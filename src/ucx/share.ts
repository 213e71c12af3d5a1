import type { UcpContextH, UcpMemH } from "../../ffi/ucx/handles.ts";
import { describeLayout, type Layout } from "../core/layout/layout.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { packedBy, ucp } from "./library.ts";
import { type OpenUcx, registered, type Spot } from "./place.ts";
import { packTicket } from "./ticket.ts";
import { UcpWorker } from "./worker.ts";

/** Elements without gaps, where they lie, and whose end takes them along. */
export interface Placed {
  readonly layout: Layout;
  readonly spot: Spot;
  readonly owner: Resource;
}

/**
 * Tensors that other processes read, or write, over UCX. It has a worker of its own: once it has ended, no request
 * reaches the memory. It keeps the process alive until then.
 */
export class UcxShare extends NativeObject {
  /** Its end of life: the tensors are free from then on. A tensor that ends before ends it. */
  readonly resource: Resource;
  /** What others may do with the bytes. */
  readonly access: "read" | "read-write";
  readonly #ticket: Uint8Array<ArrayBuffer>;

  /** Made by {@link UcxContext.share}. */
  constructor(ucx: OpenUcx, owner: Resource, placed: readonly Placed[], access: "read" | "read-write") {
    super();
    this.access = access;
    const undo: Undo = [];
    const name = `ucx share of ${placed.length === 1 ? describeLayout(placed[0].layout) : `${placed.length} tensors`}`;
    const [ticket, resource] = allOrNothing("sharing memory", () => {
      const ticket = serve(ucx, placed, access, undo);
      const owners = [owner, ...new Set(placed.map(({ owner }) => owner))];
      return [ticket, new Resource({ name, undo, owners })];
    }, undo);
    this.#ticket = ticket;
    this.resource = resource;
    finalizers.register(this, resource, this);
  }

  /**
   * What another process passes to {@link UcxContext.connect}: send it over a connection that you trust. Who has it, or finds
   * the port, may read and write all memory of this process: UCX checks neither keys nor addresses on tcp.
   *
   * @throws {DisposedError} once it was disposed: it accepts no connection.
   */
  get ticket(): Uint8Array<ArrayBuffer> {
    this.resource.assertLive();
    return this.#ticket.slice();
  }
}

/** Has a worker of its own serve memory, until `undo` runs. Returns the ticket. */
function serve(
  ucx: OpenUcx,
  placed: readonly Placed[],
  access: "read" | "read-write",
  undo: Undo,
): Uint8Array<ArrayBuffer> {
  const tensors = placed.map(({ layout, spot }) => {
    const [memory, end] = registered(ucx, spot, layout.byteLength);
    undo.push(end);
    const key = keyOf(ucx.handle, memory);
    return { layout, address: spot.address, key };
  });
  const worker = new UcpWorker(ucx.handle, undo);
  undo.push(worker.serve());
  return packTicket({ access, worker: worker.address, tensors });
}

function keyOf(context: UcpContextH, memory: UcpMemH): Uint8Array<ArrayBuffer> {
  return packedBy(
    "ucp_rkey_pack",
    (out, length) => ucp().ucp_rkey_pack(context, memory, out, length),
    (at) => ucp().ucp_rkey_buffer_release(at),
  );
}
