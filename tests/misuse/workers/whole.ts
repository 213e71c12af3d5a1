// A whole life in a Worker: open, map, run, unmap, dispose; returns what is alive afterwards.

import { ledger } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { busy } from "../busy.ts";

const worker = globalThis as unknown as Worker;

worker.onmessage = async ({ data: platform }) => {
  const { cl, source, mapped } = busy(OpenCLContext.open({ platform }));
  await mapped[Symbol.asyncDispose]();
  const right = source.view().every((byte) => byte === 8);
  source[Symbol.dispose]();
  cl[Symbol.dispose]();
  worker.postMessage([right, JSON.stringify(ledger.alive)].join(" "));
  globalThis.close();
};
