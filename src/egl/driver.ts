import type { Call, Driver, Lines } from "../core/device/driver.ts";
import { Port } from "../core/device/port.ts";
import { nativeError } from "./errors.ts";
import { destroySync, type EglLane, type Sync } from "./lane.ts";
import type { Display } from "./display.ts";

/** A command that does nothing but mark a point. */
const MARKER: Call<EglLane> = { fn: "glFlush", call: () => 0 };

/** The driver of one display. The lines of its contexts wait for each other by fences. For those who write mappers. */
export class EglDriver implements Driver<EglLane> {
  /** The API's name. */
  readonly api = "egl";
  /** Its in-order work. */
  readonly lines: Lines<EglLane>;

  /** Made by the context. */
  constructor(display: Display) {
    const files = display.extensions.has("EGL_ANDROID_native_fence_sync") ? ["sync-fd"] as const : [];
    this.lines = {
      close: (lane) => lane.close(),
      submitted: (lane, mark) => lane.submitted(mark),
      poll: (lane, mark) => lane.poll(mark),
      block: (lane, mark) => lane.block(mark),
      waitElsewhere: (lane, mark) => lane.waitElsewhere(mark),
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
    };
  }

  /** The error of a code. @see {@link Driver.error} */
  error(code: number, fn: string): Error {
    return nativeError(code, fn);
  }

  /** A command that does nothing. @see {@link Driver.marker} */
  marker(): Call<EglLane> {
    return MARKER;
  }
}
