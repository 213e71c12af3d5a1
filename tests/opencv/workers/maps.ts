// One isolate of several: it maps memory of its own to Mats and UMats, and attaches to a Mat that all of them have.

import { host, ledger, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";
import { bytesAt } from "../../conformance/bytes.ts";

const worker = globalThis as unknown as Worker;

function run(header: bigint): void {
  using cv = OpenCVContext.open();
  using cl = OpenCLContext.open({ platform: "Portable" });
  using graph = new MapperGraph([host, cl, cv]);
  using image = host.allocate({ shape: [64, 64], dtype: "u8" });
  for (let i = 0; i < 60; i++) {
    image.view().fill(i);
    {
      using umat = graph.map(image, cv.umat);
      cv.bitwise_not(umat, umat);
    }
    {
      using mat = graph.map(image, cv.mat);
      using shared = cv.mat.attach(header, { access: "read" });
      using part = cv.mat.create({ shape: [64, 64], dtype: "u8" });
      cv.copyTo(shared, part);
      if (bytesAt(part.address, 4096).some((byte) => byte !== 42)) throw new Error(`map ${i}: not the shared Mat`);
      cv.copyTo(mat, part);
      if (bytesAt(part.address, 4096).some((byte) => byte !== 255 - i % 256)) throw new Error(`map ${i}: other bytes`);
    }
  }
}

worker.onmessage = ({ data }: MessageEvent<bigint>) => {
  run(data);
  const alive = JSON.stringify(ledger.alive);
  worker.postMessage(alive === "{}" ? "done" : `alive: ${alive}`);
};
