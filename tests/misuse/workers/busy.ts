// Starts work in a Worker, with maps, waits and a lend that never end by themselves; it is terminated in the middle.

import { host } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { busy } from "../busy.ts";

const worker = globalThis as unknown as Worker;
/** All of it stays reachable: no finalizer is to end it. */
const kept: unknown[] = [];

worker.onmessage = ({ data: platform }) => {
  const { add, cl, graph, mapped } = busy(OpenCLContext.open({ platform }), 60_000);
  cl.queue.fence().wait();
  mapped[Symbol.asyncDispose]();
  const second = cl.allocate({ shape: [64], dtype: "u8" });
  graph.map(second, host).lend(() => new Promise(() => {}));
  const never = host.signal(new Promise(() => {}));
  const third = cl.allocate({ shape: [64], dtype: "u8" });
  add.run({ items: [64] }, [third, 1], { after: never });
  never.wait();
  cl.queue.fence().wait();
  kept.push(cl, graph, mapped, second, third, never, host.allocate({ shape: [64], dtype: "u8", sharable: true }));
  worker.postMessage("running");
};
