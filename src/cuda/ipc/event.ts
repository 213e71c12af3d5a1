import { cudaEventDisableTiming, cudaEventInterprocess } from "../../../ffi/cuda_runtime/constants.ts";
import type { CudaEvent as EventHandle } from "../../../ffi/cuda_runtime/handles.ts";
import { isMade, object } from "../../core/argument.ts";
import type { Call } from "../../core/contract.ts";
import type { Fence } from "../../core/device/fence.ts";
import { Line } from "../../core/device/line.ts";
import { finalizers } from "../../core/life/finalizers.ts";
import { ledger } from "../../core/life/ledger.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import type { Resource } from "../../core/life/resource.ts";
import { allOrNothing } from "../../core/life/undo.ts";
import { checks } from "../check.ts";
import { cudaLines } from "../driver.ts";
import { check } from "../errors.ts";
import { createEvent, destroyEvent } from "../events.ts";
import { cudart } from "../library.ts";
import { CudaStream, type CudaStreamContext } from "../stream.ts";
import { assertFits, copied, HANDLE_BYTES, handleOf, packEvent, THIS_ISOLATE, unpackEvent } from "./envelope.ts";
import { EventLane } from "./event_lane.ts";

/** Another program's handle of an event. */
export interface CudaEventHandle {
  /** A `cudaIpcEventHandle_t`: 64 bytes. */
  readonly handle: ArrayBufferView;
}

/** An event that processes share: one records it, the other waits for it. Its maker's dispose ends it for all. */
export class CudaSharedEvent extends NativeObject {
  /** Its context. */
  readonly context: CudaStreamContext;
  /** Its end of life. */
  readonly resource: Resource;
  /** The bytes for `cuda.openEvent` in another process; undefined if it was opened here. */
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
  /** CUDA's own handle (a `cudaIpcEventHandle_t`, 64 bytes), for other programs; undefined if it was opened here. */
  readonly handle: Uint8Array<ArrayBuffer> | undefined;
  readonly #line: Line<EventLane>;

  /** Made by `cuda.exportEvent()` and `cuda.openEvent()`. */
  constructor(context: CudaStreamContext, given?: ArrayBufferView | CudaEventHandle) {
    super();
    this.context = context;
    const { event, handle } = given === undefined ? exported(context) : opened(context, given);
    this.handle = handle;
    const device = context.device.id.uuid;
    this.bytes = handle === undefined ? undefined : packEvent({ isolate: THIS_ISOLATE, device, handle });
    this.#line = new Line<EventLane>({
      driver: cudaLines,
      open: (events) => new EventLane(events, context, event),
      name: `shared cuda event (${context.name})`,
      owners: [context.resource],
    });
    this.resource = this.#line.resource;
    finalizers.register(this, this.resource, this);
  }

  /** Records it behind all commands of a stream so far. Returns a fence at that record. */
  record(stream: CudaStream = this.context.stream): Fence {
    if (!isMade(stream, CudaStream)) throw checks.wrongKind("stream", "a CUDA stream", stream);
    if (stream.context.device.ordinal !== this.context.device.ordinal) {
      throw checks.wrong("stream", `it is of ${stream.context.name}, the event of another device.`);
    }
    const { handle } = stream;
    const call = ({ event }: EventLane) => this.context.within(() => cudart().cudaEventRecord(event, handle));
    this.#line.submit([], { fn: "cudaEventRecord", call });
    return this.#line.fence();
  }

  /**
   * A fence at the last record, by any process. Without a record, the fence is reached at once: let the other process notify
   * you when it has recorded.
   */
  fence(): Fence {
    this.#line.submit([], ASK);
    return this.#line.fence();
  }
}

/** Makes a new mark for each fence, because the event may have been recorded again. */
const ASK: Call<EventLane> = { fn: "cudaEventQuery", call: () => 0 };

interface Made {
  readonly event: EventHandle;
  readonly handle?: Uint8Array<ArrayBuffer>;
}

function exported(context: CudaStreamContext): Made {
  context.resource.assertLive();
  const event = createEvent(context, cudaEventInterprocess | cudaEventDisableTiming);
  const handle = new Uint8Array(HANDLE_BYTES);
  return allOrNothing("exporting an event", () => {
    context.within(() => check(cudart().cudaIpcGetEventHandle(handle, event), "cudaIpcGetEventHandle"));
    return { event, handle };
  }, [() => destroyEvent(context, event)]);
}

function opened(context: CudaStreamContext, given: ArrayBufferView | CudaEventHandle): Made {
  const handle = ArrayBuffer.isView(given) ? sealedHandle(context, given) : handleOf(object(given, "given").handle);
  context.resource.assertLive();
  const out = new BigUint64Array(1);
  const hint = "Is the event still there, and its process? A handle is of no use in the process that made it.";
  context.within(() => {
    const fn = "cudaIpcOpenEventHandle";
    check(cudart()[fn](out, handle), fn, { argument: "handle", hint });
  });
  ledger.add("cuda.cudaEvent_t");
  return { event: out[0] as EventHandle };
}

function sealedHandle(context: CudaStreamContext, given: ArrayBufferView): Uint8Array<ArrayBuffer> {
  const envelope = unpackEvent(copied(given, "bytes"));
  assertFits(envelope, context.id);
  return envelope.handle;
}
