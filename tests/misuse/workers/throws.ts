// Throws in the middle of its work.

import { OpenCLContext } from "@samepage/interop/opencl";
import { busy } from "../busy.ts";

globalThis.onmessage = ({ data: platform }) => {
  busy(OpenCLContext.open({ platform }), 60_000);
  throw new Error("the Worker's own");
};
