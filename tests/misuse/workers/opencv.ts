// Works with OpenCV until it is terminated: runs of work, or of exceptions, on Mats and UMats.

import { host, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext, OpenCVError, type OpenCVTensor } from "@samepage/interop/opencv";

const worker = globalThis as unknown as Worker;

worker.onmessage = async ({ data: { platform, throws, turns } }) => {
  const cv = OpenCVContext.open();
  const cl = OpenCLContext.open({ platform });
  const graph = new MapperGraph([host, cl, cv]);
  const images = [host.allocate({ shape: [256, 256], dtype: "u8" }), host.allocate({ shape: [256, 256], dtype: "u8" })];
  const tensors = [graph.map(images[0], cv.mat), graph.map(images[1], cv.umat)];
  const small = host.allocate({ shape: [4, 4], dtype: "u8" });
  const explode = (tensor: OpenCVTensor) => {
    using output = tensor === tensors[0] ? graph.map(small, cv.mat) : graph.map(small, cv.umat);
    cv.resize(tensor, output, [2 ** 25, 2 ** 16], { reallocate: true, interpolation: "nearest" }); // too much memory
  };
  let thrown = 0;
  for (let turn = 0; turn < turns; turn++) {
    if (turn === 1) worker.postMessage("running");
    // Deno 2.9 ends a Worker only here: none that does not come back to its event loop, whatever it does.
    await new Promise((resolve) => setTimeout(resolve));
    for (const tensor of tensors) {
      try {
        if (throws) explode(tensor);
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
  for (const image of [small, ...images]) image[Symbol.dispose]();
  worker.postMessage(`thrown ${thrown}`);
  globalThis.close();
};
