// Which OpenCL context OpenCV uses by itself: asked before a UMat is mapped, too, with the argument "before". Prints what it
// found, as JSON.

import { host, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";

using cv = OpenCVContext.open();
const answers: (bigint | undefined)[] = [];
if (Deno.args.includes("before")) answers.push(cv.openCLContext);
using cl = OpenCLContext.open({ platform: "portable computing" });
using graph = new MapperGraph([host, cl, cv]);
using buffer = cl.allocate({ shape: [40, 50], dtype: "u8" });
{
  using umat = graph.map(buffer, cv.umat);
  cv.bitwise_not(umat, umat);
  answers.push(cv.openCLContext);
}
answers.push(cv.openCLContext);
console.log(JSON.stringify({
  there: answers[0] !== undefined,
  always: new Set(answers).size === 1,
  ours: answers.includes(cl.handle),
}));
