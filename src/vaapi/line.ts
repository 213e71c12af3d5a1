import type { Driver } from "../core/device/driver.ts";
import type { Fence } from "../core/device/fence.ts";
import { Line } from "../core/device/line.ts";
import type { Resource } from "../core/life/resource.ts";
import { vaError } from "./library.ts";
import type { VaapiSurface } from "./surface.ts";

/** A line of calls that have done their work when they return; or of a surface's work, whose one mark is the surface. */
export interface VaapiLane {
  /** The surface. */
  readonly surface: VaapiSurface | undefined;
}

/** Milliseconds between two questions. */
const PAUSE = 1;

/**
 * A driver may hold a lock while a thread waits in vaSyncSurface, and every other call of ours would wait there: so a wait
 * asks from time to time, and none is made on another thread.
 */
const driver: Driver<VaapiLane> = {
  api: "vaapi",
  error: (code, fn) => vaError(code, fn),
  lines: {
    close() {},
    submitted() {},
    poll: ({ surface }, mark) => surface?.isBusy ? 0 : mark,
    block: ({ surface }) => surface?.sync(),
    async waitElsewhere({ surface }) {
      while (surface?.isBusy) await new Promise((resolve) => setTimeout(resolve, PAUSE));
    },
  },
};

/** The line of a context's own calls. */
export function newLine(name: string, owner: Resource): Line<VaapiLane> {
  return new Line<VaapiLane>({ driver, name, open: () => ({ surface: undefined }), owners: [owner] });
}

/** All work on a surface so far, as a fence. */
export function workOn(surface: VaapiSurface): Fence {
  const line = new Line<VaapiLane>({
    driver,
    name: `the work on VASurfaceID ${surface.id}`,
    open: () => ({ surface }),
  });
  line.submit([], { fn: "vaQuerySurfaceStatus", call: () => 0 });
  return line.fence();
}
