/**
 * Edges of a photograph by OpenCV, as Mats and as UMats over the memory that the decoder filled, beside those that the
 * demo's own code finds with the same algorithm.
 *
 * Run it as `deno run -A examples/opencv-edges/main.ts [photo]`.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { host, type HostTensor, InteropError, MapperGraph, type Target } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext, type OpenCVTensor } from "@samepage/interop/opencv";
import { detectEdges, HIGH, LOW } from "../edges/host.ts";
import { readPhoto } from "../edges/photo.ts";
import { milliseconds, print, Times } from "../edges/report.ts";

const RUNS = 5;

const path = Deno.args[0] ?? fromFileUrl(new URL("../edges/photo.jpg", import.meta.url));
const { rgba, width, height, decoder } = await readPhoto(path);
print("photo", `${path}, ${width} × ${height}, decoded by ${decoder}`);

using pixels = host.wrap(rgba, { shape: [height, width, 4], dtype: "u8" });
using grey = host.allocate({ shape: [height, width], dtype: "u8" });
using edges = host.allocate({ shape: [height, width], dtype: "u8" });
const expected = detectEdges(pixels.bytes({ access: "read" }), width, height);

using cv = OpenCVContext.open();
using cl = openDevice();
using graph = new MapperGraph(cl === undefined ? [host, cv] : [host, cl, cv]);
print("OpenCV", `${cv.version}${cl === undefined ? "" : `, and OpenCL on ${cl.name}`}`);

find("Mat", cv.mat);
if (cl === undefined) print("UMat", "no OpenCL device: `deno task doctor` says why");
else find("UMat", cv.umat);

/** Finds the edges with one kind of OpenCV's arrays, and says how they came there, how long it took, and what it found. */
function find(name: string, target: Target<OpenCVTensor>): void {
  const times = new Times();
  let route = "";
  for (let run = 0; run < RUNS; run++) {
    times.measure((lap) => {
      {
        using from = graph.map(pixels, target, { access: "read" });
        using between = graph.map(grey, target);
        using to = graph.map(edges, target);
        route = to.route.steps.map(({ edge, transfer }) => `${edge} ${transfer}`).join(", ");
        lap("map");
        cv.cvtColor(from, between, "RGBA2GRAY");
        cv.GaussianBlur(between, between, [5, 5], { sigmaX: 1.2, border: "replicate" });
        cv.Canny(between, to, LOW, HIGH);
        lap("cvtColor, GaussianBlur, Canny");
      }
      lap("unmap");
    });
  }
  print(name, route);
  for (const step of times.steps) print("", `${milliseconds(times.of(step)).padStart(10)}  ${step}`);
  print("", verdict(edges));
}

/** How many pixels differ from the demo's. */
function verdict(found: HostTensor): string {
  const bytes = found.bytes({ access: "read" });
  const different = expected.reduce((count, value, i) => count + Number(value !== bytes[i]), 0);
  if (different === 0) return `the same edges as the demo's, ${expected.length} pixels`;
  return `${different} of ${expected.length} pixels differ from the demo's`;
}

function openDevice(): OpenCLContext | undefined {
  try {
    return OpenCLContext.open();
  } catch (error) {
    if (error instanceof InteropError) return undefined;
    throw error;
  }
}
