import type { Driver } from "../core/contract.ts";
import type { Fence } from "../core/device/fence.ts";
import { fenceOf } from "../core/device/foreign_work.ts";
import { Line } from "../core/device/line.ts";
import type { Resource } from "../core/life/resource.ts";
import { vaError } from "./library.ts";
import type { VaapiSurface } from "./surface.ts";

/** A driver whose calls have finished their work when they return. */
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
 * A fence for all work on a surface so far. A wait for it polls, and uses no other thread: a driver may hold a lock while a
 * thread waits in vaSyncSurface, and all our other calls would wait for that.
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
