// What a map costs where many tensors are alive, and what a million maps leave behind.

import { fromFileUrl } from "@std/path";
import { ledger } from "@samepage/interop";
import { device } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { makeFrame } from "./harness/frame.ts";
import { withinNoise } from "./harness/goal.ts";
import { growth } from "./harness/growth.ts";
import { program, type Way } from "./harness/way.ts";

/** A process of its own for each, so that both have the same history. */
function withAlive(count: number): Way {
  const path = fromFileUrl(new URL("sides/live.ts", import.meta.url));
  const command = { path: Deno.execPath(), args: ["run", "-A", "--no-check", path, String(count)] };
  return program(`samepage, ${count.toLocaleString("en")} alive`, () => command, "map");
}

figure({
  id: "live",
  title: "map a page and dispose it, many tensors alive",
  goal: withinNoise(),
  ways: [withAlive(1), withAlive(100_000)],
});

const MIB = 2 ** 20;

growth({
  id: "flat",
  title: "maps in one synchronous loop, each of a frame with a fresh view",
  repeat() {
    const { cl, graph } = device();
    const frame = makeFrame();
    return (count) => {
      for (let i = 0; i < count; i++) {
        frame.view();
        graph.map(frame, cl)[Symbol.dispose]();
      }
    };
  },
  gauges: [
    { name: "resident memory", unit: "MiB", most: 32, read: () => Deno.memoryUsage().rss / MIB },
    { name: "JavaScript heap", unit: "MiB", most: 2, read: () => Deno.memoryUsage().heapUsed / MIB },
    { name: "open fds", unit: "", most: 0, read: () => [...Deno.readDirSync("/proc/self/fd")].length },
    { name: "native objects", unit: "", most: 0, read: () => Object.values(ledger.alive).reduce((a, b) => a + b, 0) },
  ],
});
