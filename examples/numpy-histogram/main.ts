/**
 * A photograph, made grey by OpenCL and counted by NumPy in the same memory: how many pixels of each brightness there are.
 * No byte is copied between the two.
 *
 * Run it as `deno run -A examples/numpy-histogram/main.ts [HOME]`, where HOME is a venv with NumPy. Without it, the Python
 * of this machine is used, with NumPy of `.python/packages` if `deno task setup test` has put it there.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { host, ledger, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { Python } from "@samepage/interop/python";
import { readPhoto } from "../edges/photo.ts";
import { print } from "../edges/report.ts";

const GREY = `kernel void grey(global const uchar4 *rgba, global uchar *grey) {
  size_t i = get_global_id(0);
  grey[i] = convert_uchar_sat(dot(convert_float3(rgba[i].xyz), (float3)(0.299f, 0.587f, 0.114f)));
}`;

const [home] = Deno.args;
const packages = fromFileUrl(new URL("../../.python/packages", import.meta.url));
const python = Python.open(home === undefined ? { path: [packages] } : { home });
const photo = await readPhoto(fromFileUrl(new URL("../edges/photo.jpg", import.meta.url)));
run();
const left = JSON.stringify(ledger.alive);
print("left", left === "{}" ? "nothing: every native object was given back" : left);
if (left !== "{}") Deno.exitCode = 1;

function run(): void {
  const { rgba, width, height } = photo;
  using cl = OpenCLContext.open();
  using graph = new MapperGraph([host, cl]);
  using program = cl.program(GREY);
  using kernel = program.kernel("grey");
  using pixels = host.wrap(rgba, { shape: [height, width, 4], dtype: "u8" });
  using grey = host.allocate({ shape: [height, width], dtype: "u8" });
  let bytes = 0;
  {
    using from = graph.map(pixels, cl, { access: "read" });
    using to = graph.map(grey, cl, { access: "write" });
    kernel.run({ items: [width * height] }, [from, to]);
    bytes += from.route!.bytesMoved + to.route!.bytesMoved;
  }
  using array = python.toArray(grey, "numpy", { access: "read" });
  const [counts, address] = python.run<[number[], number]>(
    "import numpy\nnumpy.histogram(grey, 16, (0, 256))[0].tolist(), grey.__array_interface__['data'][0]",
    { grey: array },
  );
  print("devices", `${cl.device.name}; ${python}, NumPy ${python.run("numpy.__version__")}`);
  const most = Math.max(...counts);
  counts.forEach((count, i) => print(`${16 * i}`, `${"█".repeat(Math.round(50 * count / most))} ${count}`));
  const isSame = BigInt(address) === grey.address;
  print("copied", `${bytes} bytes; NumPy's array lies ${isSame ? "where the tensor lies" : "elsewhere"}`);
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (bytes > 0 || !isSame || total !== width * height) Deno.exitCode = 1;
}
