import type { Driver } from "../core/contract.ts";
import type { Fence } from "../core/device/fence.ts";
import { fenceOf } from "../core/device/foreign_work.ts";
import { Line } from "../core/device/line.ts";
import type { Resource } from "../core/life/resource.ts";
import { vaError } from "./library.ts";
import type { VaapiSurface } from "./surface.ts";

/** Calls that have done their work when they return. */
const driver: Driver<undefined> = {
  api: "vaapi",
  error: (code, fn) => vaError(code, fn),
  lines: {
    close() {},
    submitted() {},
    poll: (_lane, mark) => mark,
    block() {},
    waitElsewhere: () => Promise.resolve(),
  },
};

export function newLine(name: string, owner: Resource): Line<undefined> {
  return new Line<undefined>({ driver, name, open: () => undefined, owners: [owner] });
}

const PAUSE = 1;

/**
 * All work on a surface so far, as a fence. A driver may hold a lock while a thread waits in vaSyncSurface, and every
 * other call of ours would wait there: so a wait asks from time to time, and none is made on another thread.
 */
export function workOn(surface: VaapiSurface): Fence {
  return fenceOf({
    ...{ api: "vaapi", error: vaError, name: `the work on VASurfaceID ${surface.id}`, fn: "vaQuerySurfaceStatus" },
    isOver: () => !surface.isBusy,
    block: () => surface.sync(),
    async wait() {
      while (surface.isBusy) await new Promise((resolve) => setTimeout(resolve, PAUSE));
    },
  });
}
