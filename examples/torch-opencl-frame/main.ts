/**
 * A photograph through OpenCL, a small network in PyTorch, and OpenCV, and no byte is copied between them: the network reads
 * the memory that the kernel wrote, and OpenCV encodes the memory that the network wrote. Where PyTorch is missing, NumPy
 * does the network's sums.
 *
 * Run it as `deno run -A examples/torch-opencl-frame/main.ts [HOME [FOLDER]]`, where HOME is a venv with PyTorch; `-` stands
 * for the Python of this machine. The picture is `edges.png` in `out/torch-opencl-frame`, or in the folder that is named.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { host, type HostTensor, ledger, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";
import { Python, type PythonObject } from "@samepage/interop/python";
import { readPhoto } from "../edges/photo.ts";
import { print } from "../edges/report.ts";

const GREY = `kernel void grey(global const uchar4 *rgba, global float *grey) {
  size_t i = get_global_id(0);
  grey[i] = dot(convert_float3(rgba[i].xyz), (float3)(0.299f, 0.587f, 0.114f)) / 255.0f;
}`;

/** Two layers: the picture's slopes across and down, and how steep it is there, as bytes. */
const NETWORKS = {
  torch: `
import torch
slopes = torch.tensor([[[-1., 0, 1], [-2, 0, 2], [-1, 0, 1]], [[-1., -2, -1], [0, 0, 0], [1, 2, 1]]]).unsqueeze(1)
def network(grey):
    with torch.no_grad():
        sloped = torch.nn.functional.conv2d(grey[None, None], slopes, padding=1)
        return (sloped.square().sum(1).sqrt()[0].clamp(0, 1) * 255).to(torch.uint8)
`,
  numpy: `
import numpy
def network(grey):
    edged = numpy.pad(grey, 1)
    def sloped(edged):
        across = edged[:, 2:] - edged[:, :-2]
        return across[:-2] + 2 * across[1:-1] + across[2:]
    return (numpy.hypot(sloped(edged), sloped(edged.T).T).clip(0, 1) * 255).astype(numpy.uint8)
`,
};

const [home = "-", folder = "out/torch-opencl-frame"] = Deno.args;
const packages = fromFileUrl(new URL("../../.python/packages", import.meta.url));
const python = Python.open(home === "-" ? { path: [packages] } : { home });
const library = python.run<boolean>("import importlib.util\nimportlib.util.find_spec('torch') is not None")
  ? "torch"
  : "numpy";
const photo = await readPhoto(fromFileUrl(new URL("../edges/photo.jpg", import.meta.url)));
await Deno.mkdir(folder, { recursive: true });
await python.runAsync(`import ${library}`);
await run();
const left = JSON.stringify(ledger.alive);
print("left", left === "{}" ? "nothing: every native object was given back" : left);
if (left !== "{}") Deno.exitCode = 1;

async function run(): Promise<void> {
  const { rgba, width, height } = photo;
  using cl = OpenCLContext.open();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  using program = cl.program(GREY);
  using kernel = program.kernel("grey");
  using pixels = host.wrap(rgba, { shape: [height, width, 4], dtype: "u8" });
  using grey = host.allocate({ shape: [height, width], dtype: "f32" });
  let bytes = 0;
  {
    using from = graph.map(pixels, cl, { access: "read" });
    using to = graph.map(grey, cl, { access: "write" });
    kernel.run({ items: [width * height] }, [from, to]);
    bytes += from.route!.bytesMoved + to.route!.bytesMoved;
  }
  print("devices", `${cl.device.name}; ${python}, ${library}; OpenCV ${cv.version}`);
  using given = python.toArray(grey, library, { access: "read-write" });
  python.run(NETWORKS[library]);
  using made = await python.runAsync<PythonObject>("network(grey)", { grey: given });
  const place = library === "torch" ? "data_ptr()" : "__array_interface__['data'][0]";
  const [input, output] = python.run<number[]>(`grey.${place}, made.${place}`, { grey: given, made });
  {
    using edges = python.fromArray(made, { contexts: [host] }) as HostTensor;
    const isSame = BigInt(input) === grey.address && BigInt(output) === edges.address;
    using mat = graph.map(edges, cv.mat, { access: "read" });
    bytes += mat.route!.bytesMoved;
    const png = cv.imencode(".png", mat);
    await Deno.writeFile(`${folder}/edges.png`, png);
    print("copied", `${bytes} bytes; ${library}'s arrays lie ${isSame ? "where the tensors lie" : "elsewhere"}`);
    if (bytes > 0 || !isSame) Deno.exitCode = 1;
  }
  print("picture", `${folder}/edges.png, ${width} × ${height}`);
}
