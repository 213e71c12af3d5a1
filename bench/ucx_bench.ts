// Frames from one process to another over UCX, beside C that makes the same calls, and beside Deno's TCP sockets: over
// shared memory, and over TCP on one machine.

import { fromFileUrl } from "@std/path";
import { ucxC } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { atMostMore, faster, throughput } from "./harness/goal.ts";
import { moving, program, type Way } from "./harness/way.ts";

/** Frames by the names that sides/frames.ts knows, and their bytes. */
const BYTES = { "1080p": 1920 * 1080 * 4, tiny: 64 } as const;

type Size = keyof typeof BYTES;

const TRANSPORTS = { tcp: "TCP", posix: "shared memory" } as const;

type Transport = keyof typeof TRANSPORTS;

function side(name: string, way: string, size: Size, operation: string): Way {
  const args = ["run", "-A", "--no-check", fromFileUrl(new URL("sides/frames.ts", import.meta.url)), way, size];
  return program(name, () => ({ path: Deno.execPath(), args }), operation);
}

const c = (transport: Transport, size: Size, operation: string) =>
  ucxC([transport, `${BYTES[size]}`], operation, `C over ${transport}`);

const samepage = (transport: Transport, size: Size, operation: string) =>
  side(`samepage over ${transport}`, `ucx-${transport}`, size, operation);

const socket = (size: Size, operation: string) => side("a TCP socket", "tcp", size, operation);

for (const [transport, name] of Object.entries(TRANSPORTS) as [Transport, string][]) {
  figure({
    id: `ucx-frames-${transport}`,
    title: `a 1080p frame to another process over UCX, by ${name}`,
    goal: throughput(0.9),
    ways: [
      moving(2 * BYTES["1080p"], c(transport, "1080p", "frames")),
      samepage(transport, "1080p", "frames"),
    ],
  });

  figure({
    id: `ucx-cpu-${transport}`,
    title: `what both processes work for it (CPU time), by ${name}`,
    ways: [c(transport, "1080p", "cpu"), samepage(transport, "1080p", "cpu"), socket("1080p", "cpu")],
  });

  figure({
    id: `ucx-latency-${transport}`,
    title: `64 bytes there and back over UCX, by ${name}: two latencies`,
    goal: atMostMore(20),
    ways: [c(transport, "tiny", "echo"), samepage(transport, "tiny", "echo"), socket("tiny", "echo")],
  });
}

figure({
  id: "ucx-frames",
  title: "a 1080p frame to another process, as to another machine",
  goal: faster(2),
  ways: [
    moving(2 * BYTES["1080p"], socket("1080p", "frames")),
    samepage("tcp", "1080p", "frames"),
    samepage("posix", "1080p", "frames"),
    c("tcp", "1080p", "frames"),
  ],
});
