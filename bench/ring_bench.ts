// Frames from one process to another: through the bytes of a Unix socket, through Python's shared memory, through a ring.

import { fromFileUrl } from "@std/path";
import { figure } from "./harness/figure.ts";
import { atMost, faster } from "./harness/goal.ts";
import { moving, program, type Way } from "./harness/way.ts";

const side = (name: string) => fromFileUrl(new URL(`sides/${name}`, import.meta.url));

/** Debian's packages are its own python3's, whatever else is on the PATH. */
const PYTHON = Deno.env.get("PYTHON") ?? "/usr/bin/python3";

const BYTES = 1920 * 1080 * 4;

function deno(name: string, way: string, size: string, operation: string): Way {
  const args = ["run", "-A", "--no-check", side("frames.ts"), way, size];
  return program(name, () => ({ path: Deno.execPath(), args }), operation);
}

const socket = (size: string, operation: string) => deno("a socket's bytes", "socket", size, operation);
const ring = (size: string, operation: string) => deno("samepage", "ring", size, operation);
const python = (size: string, operation: string) =>
  program("Python's shared memory", () => ({ path: PYTHON, args: [side("shared_memory_side.py"), size] }), operation);

figure({
  id: "ring-frames",
  title: "a 1080p frame from one process to another",
  goal: faster(10),
  ways: [
    moving(2 * BYTES, socket("1080p", "frames")), // into the kernel, and out of it
    moving(0, ring("1080p", "frames")),
    moving(0, python("1080p", "frames")),
  ],
});

figure({
  id: "ring-python",
  title: "the same, beside Python",
  goal: atMost(1),
  ways: [python("1080p", "frames"), ring("1080p", "frames")],
});

figure({
  id: "ring-cpu",
  title: "what both processes work for it (CPU time)",
  goal: faster(10),
  ways: [socket("1080p", "cpu"), ring("1080p", "cpu"), python("1080p", "cpu")],
});

figure({
  id: "ring-echo",
  title: "a frame of 64 × 48 there and back",
  ways: [socket("small", "echo"), ring("small", "echo"), python("small", "echo")],
});
