import type { UcpRkeyH } from "../../ffi/ucx/handles.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import type { Call } from "../core/contract.ts";
import { type Fence, fencesIn } from "../core/device/fence.ts";
import { Line, type Use } from "../core/device/line.ts";
import type { DType } from "../core/layout/dtype.ts";
import { describeLayout, type Layout } from "../core/layout/layout.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import type { Resource } from "../core/life/resource.ts";
import { allOrNothing } from "../core/life/undo.ts";
import { Printed } from "../core/printed.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { PLAIN_FOR } from "./endpoint.ts";
import { DRIVER, getting, putting, UcxLane } from "./lane.ts";
import { API, checks, ucp } from "./library.ts";
import { type OpenUcx, placeOf } from "./place.ts";
import type { Ticket, TicketTensor } from "./ticket.ts";
import type { UcpWorker } from "./worker.ts";

/** Options of {@link UcxRemoteTensor.get} and {@link UcxRemoteTensor.put}. */
export interface UcxCommandOptions {
  /** Fences that the command waits for, besides the work on its tensor. */
  readonly after?: Fence | readonly Fence[];
}

const OPTIONS: Names<UcxCommandOptions> = { after: true };

/** Another process's tensors, as it has shared them. Its commands run in order, one at a time. */
export class UcxRemote extends NativeObject {
  /** What the other side lets this one do with the bytes. */
  readonly access: "read" | "read-write";
  /** The tensors, in the order in which they were shared. */
  readonly tensors: readonly UcxRemoteTensor[];
  readonly #line: Line<UcxLane>;

  /** Made by {@link UcxContext.connect}. */
  constructor(
    ucx: OpenUcx,
    worker: UcpWorker,
    owner: Resource,
    { access, worker: address, tensors }: Ticket,
    timeout: number,
  ) {
    super();
    this.access = access;
    const name = `ucx remote of ${tensors.length} ${tensors.length === 1 ? "tensor" : "tensors"}`;
    this.#line = new Line<UcxLane>({
      driver: DRIVER,
      name,
      owners: [owner],
      open: (events) => new UcxLane(worker, address, timeout, events),
    });
    const { lane, resource } = this.#line;
    this.tensors = allOrNothing("connecting", () => (
      tensors.map((tensor) => new UcxRemoteTensor(ucx, this, tensor, lane.unpack(tensor.key)))
    ), [() => resource.dispose()]);
    finalizers.register(this, resource, this);
  }

  /** Its end of life: it waits for its commands. */
  get resource(): Resource {
    return this.#line.resource;
  }

  /** A fence behind all its commands so far. */
  fence(): Fence {
    return this.#line.fence();
  }

  /** One command of its tensors'. For mappers. */
  submit(use: Use, call: Call, after: readonly Fence[]): Fence {
    this.#line.submit([use], call, after);
    return this.#line.fence();
  }
}

/** One of another process's tensors. */
export class UcxRemoteTensor extends Printed {
  /** The share that it is a part of. */
  readonly remote: UcxRemote;
  readonly #ucx: OpenUcx;
  readonly #layout: Layout;
  readonly #address: bigint;
  readonly #key: UcpRkeyH;

  /** Made by {@link UcxContext.connect}. */
  constructor(ucx: OpenUcx, remote: UcxRemote, { layout, address }: TicketTensor, key: UcpRkeyH) {
    super();
    this.#ucx = ucx;
    this.remote = remote;
    this.#layout = layout;
    this.#address = address;
    this.#key = key;
  }

  /** Its extents. */
  get shape(): readonly number[] {
    return this.#layout.shape;
  }

  /** The type of its elements. */
  get dtype(): DType {
    return this.#layout.dtype;
  }

  /** The bytes of its elements, which have no gaps. */
  get byteLength(): number {
    return this.#layout.byteLength;
  }

  /** Where it lies, in words. */
  toString(): string {
    return `${describeLayout(this.#layout)} of ${this.remote.resource}`;
  }

  /**
   * Has its bytes come into a tensor of this process: a command, for which kernels, maps and views wait as for any work.
   *
   * @param into as many bytes as it has, without gaps, in memory that this UCX uses ({@link UcxContext.share})
   * @throws {ArgumentError} if `into` does not fit.
   * @throws {NativeCallError} if the other side has ended. A fence throws it where that is noticed later.
   */
  get(into: Tensor, options: UcxCommandOptions = {}): Fence {
    const after = fencesIn(optionsIn(options, OPTIONS).after, "after", API);
    const { address, byteLength, memoryType } = this.#placeOf(into, "into");
    const param = PLAIN_FOR[memoryType];
    const [from, key, count] = [this.#address, this.#key, BigInt(byteLength)];
    const call = getting((endpoint) => ucp().ucp_get_nbx(endpoint, address, count, from, key, param));
    return this.remote.submit({ tensor: into, access: "write", argument: "into" }, call, after);
  }

  /**
   * Has the bytes of a tensor of this process go there. Its end means that the other side sees them.
   *
   * @param from as many bytes as it has, without gaps, in memory that this UCX uses ({@link UcxContext.share})
   * @throws {ArgumentError} if `from` does not fit, or the other side has shared its tensors for reading alone.
   * @throws {NativeCallError} if the other side has ended. A fence throws it where that is noticed later.
   */
  put(from: Tensor, options: UcxCommandOptions = {}): Fence {
    const after = fencesIn(optionsIn(options, OPTIONS).after, "after", API);
    const { address, byteLength, memoryType } = this.#placeOf(from, "from");
    const param = PLAIN_FOR[memoryType];
    if (this.remote.access === "read") {
      throw checks.wrong("from", "the other side has shared its tensors for reading.", SHARE_TO_WRITE);
    }
    const [to, key, count] = [this.#address, this.#key, BigInt(byteLength)];
    const call = putting((endpoint) => ucp().ucp_put_nbx(endpoint, address, count, to, key, param));
    return this.remote.submit({ tensor: from, access: "read", argument: "from" }, call, after);
  }

  #placeOf(tensor: Tensor, argument: string): ReturnType<typeof placeOf> {
    this.remote.resource.assertLive();
    const place = placeOf(this.#ucx, tensor, argument);
    if (place.byteLength === this.byteLength) return place;
    throw checks.unfit(argument, `expected the ${this.byteLength} bytes of ${this}, got ${place.byteLength}.`);
  }
}

const SHARE_TO_WRITE = 'Have it pass { access: "read-write" } to share().';
