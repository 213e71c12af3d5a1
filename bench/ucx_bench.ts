// Frames from one process to another over UCX, beside Deno's sockets: over shared memory, and over TCP on one machine.

import { fromFileUrl } from "@std/path";
import { figure } from "./harness/figure.ts";
import { faster } from "./harness/goal.ts";
import { moving, program, type Way } from "./harness/way.ts";

const BYTES = 1920 * 1080 * 4;

function side(name: string, way: string, size: string, operation: string): Way {
  const args = ["run", "-A", "--no-check", fromFileUrl(new URL("sides/frames.ts", import.meta.url)), way, size];
  return program(name, () => ({ path: Deno.execPath(), args }), operation);
}

const tcp = (size: string, operation: string) => side("a TCP socket", "tcp", size, operation);
const overTcp = (size: string, operation: string) => side("UCX over tcp", "ucx-tcp", size, operation);
const overPosix = (size: string, operation: string) => side("UCX over posix", "ucx-posix", size, operation);

figure({
  id: "ucx-frames",
  title: "a 1080p frame to another process, as to another machine",
  goal: faster(2),
  ways: [moving(2 * BYTES, tcp("1080p", "frames")), overTcp("1080p", "frames"), overPosix("1080p", "frames")],
});

figure({
  id: "ucx-cpu",
  title: "what both processes work for it (CPU time)",
  ways: [tcp("1080p", "cpu"), overTcp("1080p", "cpu"), overPosix("1080p", "cpu")],
});

figure({
  id: "ucx-echo",
  title: "a frame of 64 × 48 there and back",
  ways: [tcp("small", "echo"), overTcp("small", "echo"), overPosix("small", "echo")],
});
