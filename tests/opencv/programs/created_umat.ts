// UMats that cv.umat.create() makes in OpenCV's own OpenCL context. Prints what it found, as JSON.

import { host, ledger, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";

const seen: Record<string, unknown> = {};

function nameOf(action: () => unknown): string {
  try {
    action();
    return "nothing was thrown";
  } catch (error) {
    return (error as Error).name;
  }
}

{
  using cv = OpenCVContext.open();
  if (cv.openCLContext === undefined) {
    seen.without = nameOf(() => cv.umat.create({ shape: [4, 4], dtype: "u8" }));
  } else {
    using cl = OpenCLContext.attach(cv.openCLContext);
    using graph = new MapperGraph([host, cl, cv]);
    using umat = cv.umat.create({ shape: [40, 50, 3], dtype: "u8" });
    seen.made = [umat.type, umat.shape];
    {
      using buffer = graph.map(umat, cl);
      cl.queue.fill(buffer, 7);
    }
    using inverted = cv.umat.create({ shape: [40, 50, 3], dtype: "u8" });
    cv.bitwise_not(umat, inverted);
    {
      using onHost = graph.map(inverted, host, { access: "read" });
      seen.pixels = [...new Set(onHost.bytes())];
      seen.transfers = onHost.route.steps.map(({ transfer }) => transfer);
    }
    seen.volume = cv.umat.create({ shape: [3, 4, 5], dtype: "f32" }).shape;
    seen.refused = [
      nameOf(() => cv.umat.create({ shape: [4, 4], dtype: "u64" })),
      nameOf(() => cv.umat.create({ shape: [0, 4], dtype: "u8" })),
      nameOf(() => cv.umat.create({ shape: [4, 4], dtype: "u8", strides: [8, 1] } as never)),
      nameOf(() => cv.umat.create({ shape: [1 << 20, 1 << 20], dtype: "u8" })),
    ];
  }
}
{
  const cv = OpenCVContext.open();
  cv[Symbol.dispose]();
  seen.disposed = nameOf(() => cv.umat.create({ shape: [4, 4], dtype: "u8" }));
}
seen.alive = ledger.alive;
console.log(JSON.stringify(seen));
