// Throws in the middle of its work.

import { OpenCLContext } from "@samepage/interop/opencl";
import { busy } from "../busy.ts";

const worker = globalThis as unknown as Worker;

worker.onmessage = ({ data: platform }) => {
  busy(OpenCLContext.open({ platform }), 60_000);
  throw new Error("the Worker's own");
};
