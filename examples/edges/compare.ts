/**
 * Mapping and copying side by side, on one device.
 *
 * @module
 */

import type { OpenCLContext } from "@samepage/interop/opencl";
import type { ByCopying } from "./by_copying.ts";
import type { ByMapping } from "./by_mapping.ts";
import { print, tableOf, Times } from "./report.ts";

/** Runs of each way that are measured, in turn. */
const RUNS = 5;

/** What "proven by aliasing both ways" stands for; src/opencl/alias/trial.ts does it. */
const PROOF = [
  "before the first map, on a scratch block as well aligned as the one to map: the device read random bytes that the",
  "CPU had just written and wrote others, and the CPU, polling, saw those, after no call but enqueue and flush",
];

/**
 * Runs both in turn, and prints the device, the routes, how they were proven, the bytes that were moved and the time of
 * each step. Returns whether the device worked in the host's own memory all the way.
 */
export function compare(cl: OpenCLContext, byMapping: ByMapping, byCopying: ByCopying): boolean {
  const { name, platform, driver } = cl.device;
  print("device", `${name}, ${platform} (driver ${driver})`);

  const { routes, launches } = byMapping.run(() => {}); // the first run of each compiles, and is not measured
  byCopying.run(() => {});
  const times = { mapping: new Times(), copying: new Times() };
  const bytes = { mapping: 0, driver: 0, copying: 0 };
  for (let i = 0; i < RUNS; i++) {
    const before = cl.bytesCopied;
    bytes.driver += times.mapping.measure((lap) => byMapping.run(lap)).bytesMoved;
    const between = cl.bytesCopied;
    times.copying.measure((lap) => byCopying.run(lap));
    bytes.mapping += between - before;
    bytes.copying += cl.bytesCopied - between;
  }

  print("route", ...[...routes].map(([name, route]) => `${name.padEnd(8)} ${route}`));
  const steps = [...routes.values()].flatMap((route) => route.steps);
  const inPlace = steps.every((step) => step.transfer === "alias");
  if (inPlace) print("proof", ...PROOF);
  print(
    "copied",
    `${bytes.mapping} bytes between host and device in ${RUNS} runs by mapping, counted; the driver moved ${bytes.driver}`,
    `${bytes.copying} bytes in ${RUNS} runs by copying`,
  );
  print("time", ...tableOf(times), `the middle of ${RUNS} runs of each, in turn; hysteresis took ${launches} launches`);
  return inPlace;
}
