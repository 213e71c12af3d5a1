import type { Call, Driver } from "../core/contract.ts";
import { LANES } from "../core/device/lanes.ts";
import { Port, type SyncKind } from "../core/device/port.ts";
import { EglPort } from "../gl/port.ts";
import { nativeError } from "./errors.ts";
import { destroySync, type EglLane, kindOn, type Sync } from "./lane.ts";
import type { Display } from "./display.ts";

const MARKER: Call<EglLane> = { fn: "glFlush", call: () => 0 };

/** The driver of one display. The lines of its contexts wait for each other by fences. For mappers. */
export type EglDriver = Driver<EglLane>;

/** A sync that a line waits for. */
interface Imported {
  readonly sync: Sync;
  /** True if it was made for this wait, and is destroyed after it. */
  readonly isOurs: boolean;
}

export function driverOf(display: Display): EglDriver {
  const files = display.extensions.has("EGL_ANDROID_native_fence_sync") ? ["sync-fd"] as const : [];
  const theirs = kindOn(display.handle);
  return {
    api: "egl",
    error: nativeError,
    marker: () => MARKER,
    lines: {
      ...LANES,
      waitOnDevice(lane, of, mark) {
        lane.waitFor(of, mark);
        return true;
      },
      sync: {
        exports: [...files, "egl-sync", "gl-sync"],
        imports: [...files, theirs, "cuda-event"],
        refuses: (lane, kind) => kind === "cuda-event" ? lane.context.lacks("EGL_NV_cuda_event")?.reason : undefined,
        export(lane, mark, kind) {
          if (kind === "egl-sync") {
            return new EglPort("egl-sync", { value: lane.syncAt(mark), display: display.handle });
          }
          return kind === "gl-sync" ? lane.exportGlSync() : new Port(kind, { fd: lane.exportSyncFile() });
        },
        import: (port, lane): Imported =>
          port.kind === theirs ? { sync: port.value as Sync, isOurs: false } : { sync: made(port, lane), isOurs: true },
        wait: (lane, { sync }: Imported) => lane.waitForSync(sync),
        release({ sync, isOurs }: Imported) {
          if (isOurs) destroySync(display.handle, sync);
        },
      },
    },
  };
}

function made(port: Port<SyncKind>, lane: EglLane): Sync {
  return port.kind === "cuda-event" ? lane.importCudaEvent(port.value) : lane.importSyncFile(port.takeFd());
}
