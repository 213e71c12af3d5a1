import { cudaIpcMemHandle_t } from "../../../ffi/cuda_runtime/structs.ts";
import { type EnvelopeKind, isCount, isList, isObject, isText, sealed, unsealed } from "../../envelope/envelope.ts";
import { type ArgumentError, messageOf } from "../../core/errors.ts";
import type { DeviceId } from "../../core/device/device_id.ts";
import { type Layout, layout } from "../../core/layout/layout.ts";
import { checks } from "../check.ts";

/** The length of CUDA's own handles in bytes, both of memory and of events. */
export const HANDLE_BYTES: number = cudaIpcMemHandle_t.size;

/** The exporter's id, by which an isolate recognises its own handles: CUDA opens none in the process that made it. */
export const THIS_ISOLATE: string = crypto.getRandomValues(new Uint8Array(16)).toHex();

export interface MemoryEnvelope {
  readonly isolate: string;
  readonly device: string;
  /** The length of the whole allocation, which the handle refers to. */
  readonly allocation: number;
  readonly layout: Layout;
  readonly handle: Uint8Array<ArrayBuffer>;
}

export type EventEnvelope = Pick<MemoryEnvelope, "isolate" | "device" | "handle">;

type Header = Omit<MemoryEnvelope, "handle" | "layout"> & {
  readonly kind: "cuda.memory";
  readonly layout: Pick<Layout, "shape" | "dtype" | "strides" | "byteOffset">;
};

type EventHeader = Omit<EventEnvelope, "handle"> & { readonly kind: "cuda.event" };

const MEMORY: EnvelopeKind<Header> = { version: 1, what: "memory of a samepage program", isHeader, damaged };
const EVENT: EnvelopeKind<EventHeader> = {
  version: 1,
  what: "an event of a samepage program",
  isHeader: isEvent,
  damaged,
};

export function packMemory(
  { isolate, device, allocation, layout: at, handle }: MemoryEnvelope,
): Uint8Array<ArrayBuffer> {
  const { shape, dtype, strides, byteOffset } = at;
  const header: Header = {
    kind: "cuda.memory",
    isolate,
    device,
    allocation,
    layout: { shape, dtype, strides, byteOffset },
  };
  return sealed(MEMORY, header, [handle]);
}

/** The envelope in some bytes. @throws {ArgumentError} if they were changed or cut, or contradict themselves. */
export function unpackMemory(bytes: Uint8Array<ArrayBuffer>): MemoryEnvelope {
  const { header, payload: handle } = unsealed(MEMORY, bytes);
  if (handle.length !== HANDLE_BYTES) throw damaged("its handle is not as long as CUDA's.");
  const { isolate, device, allocation } = header;
  const at = layoutIn(header.layout);
  if (at.byteOffset + at.byteLength > allocation) throw damaged("its layout reaches past the memory.");
  return { isolate, device, allocation, layout: at, handle };
}

export function packEvent({ isolate, device, handle }: EventEnvelope): Uint8Array<ArrayBuffer> {
  return sealed(EVENT, { kind: "cuda.event", isolate, device }, [handle]);
}

/** The envelope in some bytes. @throws {ArgumentError} like {@link unpackMemory}. */
export function unpackEvent(bytes: Uint8Array<ArrayBuffer>): EventEnvelope {
  const { header: { isolate, device }, payload: handle } = unsealed(EVENT, bytes);
  if (handle.length !== HANDLE_BYTES) throw damaged("its handle is not as long as CUDA's.");
  return { isolate, device, handle };
}

export function copied(given: ArrayBufferView, argument: string): Uint8Array<ArrayBuffer> {
  return checks.bytesIn(given, argument).slice();
}

/** Checks a CUDA handle that a program passed. @throws {ArgumentError} for any other length than CUDA's. */
export function handleOf(given: ArrayBufferView): Uint8Array<ArrayBuffer> {
  const handle = copied(given, "handle");
  if (handle.length === HANDLE_BYTES) return handle;
  throw checks.wrong("handle", `expected ${HANDLE_BYTES} bytes, got ${handle.length}.`);
}

/** @throws {ArgumentError} for an envelope of this isolate or of another device. */
export function assertFits(
  sender: { readonly isolate: string; readonly device: string },
  { uuid }: DeviceId,
): void {
  if (sender.isolate === THIS_ISOLATE) {
    const hint = "Use the tensor itself; its handle is for other processes.";
    throw checks.wrong("bytes", "it was exported by this same process, where CUDA does not open it.", hint);
  }
  if (sender.device === uuid) return;
  const hint = "Open it there: CudaContext.open({ uuid }).";
  throw checks.wrong("bytes", `it is of device ${sender.device}, and this is ${uuid}.`, hint);
}

function layoutIn(given: Header["layout"]): Layout {
  try {
    return layout(given);
  } catch (error) {
    throw damaged(`its layout is wrong: ${messageOf(error)}`);
  }
}

function isHeader(value: unknown): value is Header {
  if (!isObject(value) || value.kind !== "cuda.memory" || !isSender(value) || !isCount(value.allocation)) return false;
  const at = value.layout;
  return isObject(at) && isList(at.shape, isCount) && isList(at.strides, isCount) && isCount(at.byteOffset) &&
    isText(at.dtype);
}

function isEvent(value: unknown): value is EventHeader {
  return isObject(value) && value.kind === "cuda.event" && isSender(value);
}

function isSender({ isolate, device }: Readonly<Record<string, unknown>>): boolean {
  return [isolate, device].every((id) => isText(id) && /^[0-9a-f]{32}$/.test(id));
}

function damaged(what: string): ArgumentError {
  return checks.wrong("bytes", what, "Have the other process export it again, and pass all its bytes on unchanged.");
}
