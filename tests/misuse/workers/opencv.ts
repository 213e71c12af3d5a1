// Works with OpenCV until it is terminated: runs of work, or of exceptions, on Mats and UMats.

import { host, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext, OpenCVError } from "@samepage/interop/opencv";

const worker = globalThis as unknown as Worker;

worker.onmessage = async ({ data: { platform, throws, turns } }) => {
  const cv = OpenCVContext.open();
  const cl = OpenCLContext.open({ platform });
  const graph = new MapperGraph([host, cl, cv]);
  const images = [
    host.allocate({ shape: [4, 16_400], dtype: "u8" }),
    host.allocate({ shape: [4, 16_400], dtype: "u8" }),
  ];
  const tensors = [graph.map(images[0], cv.mat), graph.map(images[1], cv.umat)];
  let thrown = 0;
  for (let turn = 0; turn < turns; turn++) {
    if (turn === 1) worker.postMessage("running");
    // Deno 2.9 ends a Worker only here: none that does not come back to its event loop, whatever it does.
    await new Promise((resolve) => setTimeout(resolve));
    for (const tensor of tensors) {
      try {
        if (throws) cv.imencode(".webp", tensor); // which has no images so wide
        else cv.GaussianBlur(tensor, tensor, [5, 5]);
      } catch (error) {
        if (error instanceof OpenCVError) thrown++;
        else worker.postMessage(String(error));
      }
    }
  }
  graph[Symbol.dispose]();
  cv[Symbol.dispose]();
  cl[Symbol.dispose]();
  for (const image of images) image[Symbol.dispose]();
  worker.postMessage(`thrown ${thrown}`);
  globalThis.close();
};
