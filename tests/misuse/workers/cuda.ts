// Works with CUDA: until it is terminated in the middle of it, or a whole life.

import { ledger } from "@samepage/interop";
import { device, work } from "../cuda.ts";

const worker = globalThis as unknown as Worker;
/** All of it stays reachable: no finalizer is to end it. */
const kept: unknown[] = [];

worker.onmessage = async ({ data: whole }) => {
  const busy = work(device(), whole ? 20 : 2000);
  const { cuda, graph, kernels, source, mapped } = busy;
  if (!whole) {
    kept.push(busy, cuda.stream.fence().wait(), mapped[Symbol.asyncDispose](), cuda.pinned.allocate(source.layout));
    return worker.postMessage("running");
  }
  await mapped[Symbol.asyncDispose]();
  const right = source.view().every((byte, i) => byte === (i < 256 ? 8 : 7));
  kernels[Symbol.dispose]();
  graph[Symbol.dispose]();
  source[Symbol.dispose]();
  cuda[Symbol.dispose]();
  worker.postMessage([right, JSON.stringify(ledger.alive)].join(" "));
  globalThis.close();
};
