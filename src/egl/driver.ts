import type { Call, Driver } from "../core/contract.ts";
import { LANES } from "../core/device/lanes.ts";
import { Port } from "../core/device/port.ts";
import { nativeError } from "./errors.ts";
import { destroySync, type EglLane, type Sync } from "./lane.ts";
import type { Display } from "./display.ts";

const MARKER: Call<EglLane> = { fn: "glFlush", call: () => 0 };

/** The driver of one display. The lines of its contexts wait for each other by fences. For mappers. */
export type EglDriver = Driver<EglLane>;

export function driverOf(display: Display): EglDriver {
  const files = display.extensions.has("EGL_ANDROID_native_fence_sync") ? ["sync-fd"] as const : [];
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
        exports: [...files, "egl-sync"],
        imports: files,
        export: (lane, mark, kind) =>
          kind === "egl-sync"
            ? new Port(kind, { value: lane.syncAt(mark) })
            : new Port(kind, { fd: lane.exportSyncFile() }),
        import: (port, lane) => lane.importSyncFile(port.takeFd()),
        wait: (lane, sync: Sync) => lane.waitForSync(sync),
        release: (sync: Sync) => destroySync(display.handle, sync),
      },
    },
  };
}
