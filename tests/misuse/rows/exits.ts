import { host } from "@samepage/interop";
import { busy } from "../busy.ts";
import { open, opening, say } from "../kit.ts";
import { type Row, table } from "../row.ts";

const LONG = 60_000;

/** What is not to be collected. */
const kept: unknown[] = [];

/**
 * PoCL 3.1 frees what its threads use in handlers of exit(), and faults where they are at a kernel. A C program that
 * enqueues one, flushes, sleeps and exits ended by SIGSEGV or SIGABRT in 1 of 20 runs (no sleep), 6 of 20 (1 ms), 1 of
 * 20 (5 ms), 0 of 20 (20 ms); these rows in 0 of 180 on a quiet machine. samepage cannot prevent it: after an uncaught
 * error no JavaScript runs; clFinish as an exit handler of our own would hang behind a promise,
 * and _exit() as one would skip what other libraries have to do.
 *
 * rusticl 22.3 faults likewise where Workers are at work: a program that ends by Deno.exit() while 1, 2 or 4 of them submit
 * kernels and wait for them ended by SIGSEGV or SIGABRT in 2, 7 and 1 of 40 runs.
 */
const faultsAtExit = "Portable";

/** Ends in the middle of its work. */
function inTheMiddle(end: () => unknown): Row {
  return { opencl: true, leaves: true, faultsAtExit, run: end };
}

export default table(import.meta, {
  "the end of the program, with live maps and a kernel at work": inTheMiddle(() => {
    busy(open(), LONG);
  }),
  "Deno.exit, with live maps and a kernel at work": inTheMiddle(() => {
    busy(open(), LONG);
    Deno.exit(0);
  }),
  "the end of the program, with a map and a view of it": inTheMiddle(() => {
    const { cl, graph } = busy(open(), LONG);
    graph.map(cl.allocate({ shape: [64], dtype: "u8" }), host).bytes();
  }),
  "an uncaught error, with a kernel at work": {
    opencl: true,
    leaves: true,
    faultsAtExit,
    run() {
      busy(open(), LONG);
      setTimeout(() => {
        throw new Error("the program's own");
      });
    },
    exits: 1,
    warns: /the program's own/,
  },
  "the end of the program, with waits that are not awaited": {
    opencl: true,
    leaves: true,
    faultsAtExit,
    run() {
      const { cl, add, mapped } = busy(open(), LONG);
      cl.queue.fence().wait().then(() => say("waited"));
      const event = opening();
      kept.push(event, mapped);
      add.run({ items: [8192] }, [mapped, 1], { after: event.fence });
      cl.queue.fence().wait();
      mapped[Symbol.asyncDispose]();
    },
    says: ["waited"],
  },
  "the end of the program, with bytes on their way back": inTheMiddle(() => {
    const { cl, mapped, source } = busy(open(), LONG);
    mapped.disposeAfter(cl.queue.fence());
    const event = opening();
    source.disposeAfter(event.fence);
    kept.push(event);
  }),
});
