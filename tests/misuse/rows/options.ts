import { ArgumentError, host, imageInfo, layout, LayoutError, MapperGraph } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { doctor } from "@samepage/interop/doctor";
import { OpenCVContext } from "@samepage/interop/opencv";
import { any, fails, open } from "../kit.ts";
import { table } from "../row.ts";

const bytes = { shape: [16, 16], dtype: "u8" } as const;
const misspelt = { acess: "read", rowPitch: 100 };

export default table(import.meta, {
  "names that no option has: host memory": {
    run() {
      using t = host.allocate(bytes);
      const info = imageInfo({ format: "GRAY8", width: 4, height: 4 });
      fails("layout", () => layout({ ...bytes, ...misspelt }), LayoutError);
      fails("allocate", () => host.allocate({ ...bytes, ...misspelt }), LayoutError);
      fails("wrap", () => host.wrap(new Uint8Array(256), { ...bytes, ...misspelt }), LayoutError);
      fails("imageInfo", () => imageInfo({ format: "GRAY8", width: 4, height: 4, ...misspelt }), ArgumentError);
      fails("allocateFrame", () => host.allocateFrame(info, any(misspelt)), ArgumentError);
      fails("view", () => t.view(any(misspelt)), ArgumentError);
      fails("slice", () => t.slice(t.layout, any(misspelt)), ArgumentError);
      host.allocate(any({ ...bytes, rowPitch: 100 }));
    },
    fails: {
      error: LayoutError,
      api: "core",
      argument: "init",
      message: /unknown property rowPitch/,
      hint: /rowAlign/,
    },
  },
  "a copy that is neither allowed nor refused": {
    run() {
      using t = host.allocate(bytes);
      using graph = new MapperGraph([host]);
      for (const copy of [true, null, 1, "allowed"]) {
        fails("explain", () => graph.explain(t, host, any({ copy })), ArgumentError);
        fails("map", () => graph.map(t, host, any({ copy })), ArgumentError);
      }
      graph.map(t, host, { copy: any("yes") });
    },
    fails: {
      ...{ error: ArgumentError, api: "core", argument: "copy" },
      message: /copy: expected one of "never", "allow", got "yes"/,
    },
  },
  "names that no option has: the doctor": {
    run: () => doctor(any({ proof: false })),
    fails: {
      ...{ error: ArgumentError, api: "core", argument: "options" },
      message: /unknown property proof/,
      hint: /proofs/,
    },
  },
  "names that no option has: OpenCL": {
    opencl: true,
    run() {
      using cl = open();
      using t = host.allocate(bytes);
      using graph = new MapperGraph([host, cl]);
      using program = cl.program("kernel void k(global uchar* o) { o[0] = 1; }");
      using k = program.kernel("k");
      using o = graph.map(t, cl);
      fails("map", () => graph.map(t, cl, any(misspelt)), ArgumentError);
      fails("explain", () => graph.explain(t, cl, any(misspelt)), ArgumentError);
      fails("allocate", () => cl.allocate({ ...bytes, ...misspelt }), LayoutError);
      fails("createQueue", () => cl.createQueue(any(misspelt)), ArgumentError);
      fails("program", () => cl.program("kernel void k() {}", any(misspelt)), ArgumentError);
      fails("sampler", () => cl.sampler(any(misspelt)), ArgumentError);
      fails("svm", () => cl.svm.allocate(any({ ...bytes, ...misspelt })), ArgumentError, LayoutError);
      fails("migrate", () => cl.queue.migrate([o], any({ to: "host", ...misspelt })), ArgumentError);
      k.run({ items: [1] }, [o], any({ localSize: [5] }));
    },
    fails: {
      error: ArgumentError,
      api: "core",
      argument: "options",
      message: /unknown property localSize/,
      hint: /Use queue,/,
    },
  },
  "names that no option has: OpenCV": {
    opencl: true,
    run() {
      using cv = OpenCVContext.open();
      using t = host.allocate(bytes);
      using graph = new MapperGraph([host, cv]);
      using mat = graph.map(t, cv.mat);
      for (
        const call of [
          () => cv.GaussianBlur(mat, mat, [3, 3], any(misspelt)),
          () => cv.Canny(mat, mat, 1, 2, any(misspelt)),
          () => cv.threshold(mat, mat, 1, 2, "binary", any(misspelt)),
          () => cv.flip(mat, mat, "x-axis", any(misspelt)),
          () => cv.imencode(".png", mat, any(misspelt)),
          () => cv.mat.create(any({ ...bytes, ...misspelt })),
        ]
      ) fails(String(call), call, ArgumentError, LayoutError);
    },
  },
  "names that no option has: CUDA": {
    run: () => CudaContext.open(any({ flags: 8 })),
    fails: {
      error: ArgumentError,
      api: "core",
      argument: "options",
      message: /unknown property flags/,
      hint: /schedule/,
    },
  },
});
