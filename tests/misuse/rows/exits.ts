import { host } from "@samepage/interop";
import { busy } from "../busy.ts";
import { open, say } from "../kit.ts";
import { type Row, table } from "../row.ts";

const LONG = 60_000;

/** Ends in the middle of its work. */
function inTheMiddle(end: () => unknown): Row {
  return { opencl: true, leaves: true, run: end };
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
  "the end of the program, with waits that nobody awaits": {
    opencl: true,
    leaves: true,
    run() {
      const { cl, add, mapped } = busy(open(), LONG);
      cl.queue.fence().wait().then(() => say("waited"));
      const event = cl.userEvent();
      add.run([8192], [mapped, 1], { after: event.fence });
      cl.queue.fence().wait();
      mapped[Symbol.asyncDispose]();
    },
    says: ["waited"],
  },
  "the end of the program, with bytes on their way back": inTheMiddle(() => {
    const { cl, mapped, source } = busy(open(), LONG);
    mapped.disposeAfter(cl.queue.fence());
    source.disposeAfter(cl.userEvent().fence);
  }),
});
