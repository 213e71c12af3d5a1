/**
 * A web page that shows what a pipeline does, as it does it: an OpenCL kernel paints, a second one finds edges in the same
 * memory, and OpenCV makes the JPEGs of that, while a browser looks. Figures of each stage stand below the picture.
 *
 * Run it as `deno run -A examples/live-view/main.ts [SECONDS [PORT]]`, and open the page that it names. Without SECONDS it
 * goes on until you press Ctrl+C.
 *
 * @module
 */
import { host, imageInfo, ledger } from "@samepage/interop";
import { OpenCLContext, type OpenCLTensor } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";
import { pace, pipeline, Source, Transform, viewer } from "@samepage/interop/pipeline";
import { print } from "../edges/report.ts";

const [seconds = "0", port = "0"] = Deno.args;
const [WIDTH, HEIGHT, RATE] = [640, 360, 30];
const INFO = imageInfo({ format: "BGR", width: WIDTH, height: HEIGHT });

const KERNELS = `
kernel void paint(global uchar *out, int stride, float time) {
  int x = get_global_id(0), y = get_global_id(1);
  float a = sin(x * 0.02f + time) + sin(y * 0.03f - 1.3f * time) + sin(hypot(x - 320.0f, y - 180.0f) * 0.03f - 2 * time);
  vstore3(convert_uchar3_sat(127.5f + 127.5f * sin(a + (float3)(0, 2.1f, 4.2f))), 0, out + y * stride + 3 * x);
}
kernel void edges(global const uchar *in, int stride, global uchar *out, int out_stride) {
  int x = get_global_id(0), y = get_global_id(1), right = min(x + 1, ${WIDTH - 1}), below = min(y + 1, ${HEIGHT - 1});
  float3 here = convert_float3(vload3(0, in + y * stride + 3 * x));
  float3 across = convert_float3(vload3(0, in + y * stride + 3 * right)) - here;
  float3 down = convert_float3(vload3(0, in + below * stride + 3 * x)) - here;
  vstore3(convert_uchar3_sat(8 * sqrt(across * across + down * down)), 0, out + y * out_stride + 3 * x);
}`;

const alive = JSON.stringify(ledger.alive);
{
  using cl = OpenCLContext.open();
  using cv = OpenCVContext.open();
  using program = cl.program(KERNELS);
  using paint = program.kernel("paint");
  using edges = program.kernel("edges");
  const items = [WIDTH, HEIGHT];

  const blank = new Source({
    name: "blank",
    async *frames({ signal }) {
      const last = Number(seconds) * RATE || Infinity;
      for (let i = 0; i < last && !signal.aborted; i++) {
        const info = { ...INFO, media: { pts: BigInt(i), timeBase: [1, RATE] as const } };
        yield await Promise.resolve(host.allocateFrame(info, { rowAlign: 64 }));
      }
    },
  });
  const painted = new Transform<OpenCLTensor>({
    ...{ name: "paint", takes: { memory: cl } },
    process: ({ planes: [plane], info }) => {
      paint.run({ items }, [plane, plane.layout.strides[0], Number(info.media!.pts) / RATE]);
    },
  });
  const outlined = new Transform<OpenCLTensor>({
    ...{ name: "edges", takes: { memory: cl }, gives: () => INFO },
    process: ({ planes: [from] }, { planes: [to] }) => {
      edges.run({ items }, [from, from.layout.strides[0], to, to.layout.strides[0]]);
    },
  });
  const shown = viewer(cv, { port: Number(port), listening: (url) => print("page", url) });
  const whole = pipeline(blank, pace(), painted, outlined, shown);
  console.log(`${await whole.explain()}`);
  console.log(`${await whole.run()}`);
}
const left = JSON.stringify(ledger.alive);
print("left", left === alive ? "nothing: every native object was given back" : left);
if (left !== alive) Deno.exitCode = 1;
