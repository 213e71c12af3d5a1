import type { Address } from "../../../ffi/address.ts";
import type { ClContext, ClEvent } from "../../../ffi/opencl/handles.ts";
import type { ClEvents } from "../../../ffi/opencl_events/functions.ts";
import type { ClGLsync } from "../../../ffi/opencl_events/handles.ts";
import { SYMBOLS } from "../../../ffi/opencl_events/symbols.ts";
import type { Sync } from "../../core/contract.ts";
import type { Port, SyncKind } from "../../core/device/port.ts";
import { ledger } from "../../core/life/ledger.ts";
import { allOrNothing, undoAll } from "../../core/life/undo.ts";
import type { EglPort, GlContext, GlLane, GlSyncPort } from "../../gl/port.ts";
import type { OpenCLDevice } from "../device.ts";
import { errcode, made } from "../errors.ts";
import { extensionFunctions } from "../extension.ts";
import type { ClLane } from "../lane.ts";
import { releaseEvent } from "../queues/event.ts";
import { EGL_EVENT, GL_EVENT } from "./handles.ts";
import { type SemaphoreList, semaphoreSync } from "./semaphore.ts";

const eventsOf: (device: OpenCLDevice) => ClEvents = extensionFunctions<ClEvents>("opencl_events", EGL_EVENT, SYMBOLS);

/** How each kind of another driver's sync becomes an event. */
const EXTENSIONS = { "egl-sync": EGL_EVENT, "gl-sync": GL_EVENT } as const;
const FUNCTIONS = { "egl-sync": "clCreateEventFromEGLSyncKHR", "gl-sync": "clCreateEventFromGLsyncKHR" } as const;

type Kind = keyof typeof EXTENSIONS;

/** An event that stands for another driver's sync. */
interface ForeignEvent {
  readonly event: ClEvent;
  readonly release: () => void;
}

/** What lines of a context wait for: semaphores, and EGL and OpenGL syncs as events; undefined where it has neither. */
export function syncOf(
  context: ClContext,
  device: OpenCLDevice,
  gl: GlContext | undefined,
): Sync<ClLane, SemaphoreList | ForeignEvent> | undefined {
  const semaphores = semaphoreSync(context, device) as Sync<ClLane, SemaphoreList | ForeignEvent> | undefined;
  const kinds = (Object.keys(EXTENSIONS) as Kind[]).filter((kind) => device.extensions.includes(EXTENSIONS[kind]));
  if (kinds.length === 0) return semaphores;
  const isEvent = (kind: SyncKind): kind is Kind => (kinds as readonly SyncKind[]).includes(kind);
  return {
    ...(semaphores ?? { exports: [] }),
    imports: [...kinds, ...semaphores?.imports ?? []],
    refuses(_lane, kind, from) {
      if (!isEvent(kind)) return undefined;
      if (kind === "gl-sync" && gl?.handle !== (from as GlLane).context.handle) {
        return `${device.name} takes syncs of OpenGL where OpenCL is opened for their context: OpenCLContext.open({ gl })`;
      }
      const fn = FUNCTIONS[kind];
      return eventsOf(device)[fn] === null ? `${device.platform} has no ${fn}` : undefined;
    },
    import: (port, lane) =>
      isEvent(port.kind) ? eventOf(context, eventsOf(device), port) : semaphores!.import(port, lane),
    wait(lane, imported, value) {
      if ("event" in imported) lane.waitFor(imported.event);
      else semaphores!.wait(lane, imported, value);
    },
    release(imported) {
      if ("event" in imported) imported.release();
      else semaphores!.release(imported);
    },
  };
}

function eventOf(context: ClContext, functions: ClEvents, port: Port<SyncKind>): ForeignEvent {
  const { value } = port;
  const undo = port.kind === "gl-sync" ? [(port as GlSyncPort).delete] : [];
  const event = allOrNothing("making an event of a sync", () => {
    const fn = FUNCTIONS[port.kind as Kind];
    const event = port.kind === "gl-sync"
      ? functions.clCreateEventFromGLsyncKHR!(context, value as ClGLsync, errcode)
      : functions.clCreateEventFromEGLSyncKHR!(context, value as Address, displayOf(port), errcode);
    return made(event, fn);
  }, undo);
  ledger.add("opencl.cl_event");
  return { event, release: () => undoAll([...undo, () => releaseEvent(event)], "releasing an event of a sync") };
}

function displayOf(port: Port<SyncKind>): Address {
  return (port as EglPort<"egl-sync">).display as Address;
}
