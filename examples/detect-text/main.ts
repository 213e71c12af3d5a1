/**
 * Finds text in a photograph: the file is decoded, an OpenCL kernel makes what the model reads of its pixels, OpenVINO or
 * ONNX Runtime runs the model on that memory, and the boxes are drawn into the pixels. No byte is copied between them.
 *
 * Run `deno task setup inference` once, which unpacks both runtimes and the model into .inference, then
 * `deno run -A examples/detect-text/main.ts [--runtime=openvino|onnxruntime] [--text=LETTERS] [PHOTO [PICTURE]]`. Without
 * a photograph, it is the demo's, with a sign in it.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import sharp from "sharp";
import { type Context, host, ledger, MapperGraph, type Target, type Tensor } from "@samepage/interop";
import { OnnxRuntimeContext, type OnnxRuntimeTensor } from "@samepage/interop/onnxruntime";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenVINOContext, type OpenVINOTensor } from "@samepage/interop/openvino";
import { readPhoto } from "../edges/photo.ts";
import { milliseconds, print, Times } from "../edges/report.ts";
import { boxesIn } from "./boxes.ts";
import { drawBox, drawText } from "./sign.ts";

const RUNS = 3;

/** Where `deno task setup inference` unpacks wheels. */
const WHEELS = fromFileUrl(new URL("../../.inference", import.meta.url));

/** The model takes pictures whose sides are multiples of this: what is beyond them is left out. */
const STEP = 32;

/** The mean of each colour is 0.5, and so is its deviation; blue comes first. */
const PREPARE = `kernel void prepare(global const uchar4 *rgba, int stride, global float *bgr, int width, int pixels) {
  int i = get_global_id(0);
  uchar4 pixel = rgba[i / width * stride + i % width];
  bgr[i] = pixel.z / 255.0f * 2 - 1;
  bgr[pixels + i] = pixel.y / 255.0f * 2 - 1;
  bgr[2 * pixels + i] = pixel.x / 255.0f * 2 - 1;
}`;

/** What both runtimes have in common: tensors of its own, and sessions that run on them. */
interface Engine<T extends Tensor> extends Context, Target<T> {
  readonly bytesCopied: number;
  compile(path: string): Promise<Session<T> & Disposable>;
}

interface Session<T extends Tensor> {
  readonly inputs: readonly { readonly name: string }[];
  readonly outputs: readonly { readonly name: string }[];
  runAsync(inputs: Readonly<Record<string, T>>, outputs: Readonly<Record<string, T>>): Promise<unknown>;
}

const MODEL = `${WHEELS}/onnxruntime/rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx`;

const RUNTIMES: Readonly<Record<string, () => Promise<void>>> = {
  async onnxruntime() {
    using ort = OnnxRuntimeContext.open({
      library: fileIn(`${WHEELS}/onnxruntime/onnxruntime/capi`, /^libonnxruntime\.so/),
    });
    await detect<OnnxRuntimeTensor>(ort);
  },
  async openvino() {
    using ov = OpenVINOContext.open({ library: fileIn(`${WHEELS}/openvino/openvino/libs`, /^libopenvino_c\.so/) });
    await detect<OpenVINOTensor>(ov);
  },
};

const options = Object.fromEntries(
  Deno.args.filter((arg) => arg.startsWith("--")).map((arg) => arg.slice(2).split("=")),
);
const [photo, picture = "out/detect-text.png"] = Deno.args.filter((arg) => !arg.startsWith("--"));
const { runtime = "onnxruntime", text = "EMERGENCY" } = options;
if (!Object.hasOwn(RUNTIMES, runtime)) throw new Error(`--runtime: expected ${Object.keys(RUNTIMES).join(" or ")}.`);

const alive = JSON.stringify(ledger.alive);
await RUNTIMES[runtime]();
const left = JSON.stringify(ledger.alive);
print("left", left === alive ? "nothing: every native object was given back" : left);
if (left !== alive) Deno.exitCode = 1;

async function detect<T extends Tensor>(engine: Engine<T>): Promise<void> {
  const path = photo ?? fromFileUrl(new URL("../edges/photo.jpg", import.meta.url));
  const decoded = await readPhoto(path);
  const [width, height] = [decoded.width, decoded.height].map((n) => n - n % STEP);
  if (photo === undefined) print("sign", JSON.stringify(drawText(decoded, text, 200, 300, 8)));

  using cl = OpenCLContext.open();
  using graph = new MapperGraph([host, cl, engine]);
  using program = cl.program(PREPARE);
  using prepare = program.kernel("prepare");
  using session = await engine.compile(MODEL);
  const [[input], [output]] = [session.inputs, session.outputs];
  print("devices", `${engine.name}; ${cl.device.name}`);

  using pixels = host.wrap(decoded.rgba, { shape: [decoded.height, decoded.width, 4], dtype: "u8" });
  using read = host.allocate({ shape: [1, 3, height, width], dtype: "f32" });
  using map = host.allocate({ shape: [1, 1, height, width], dtype: "f32" });
  const times = new Times();
  for (let run = 0; run < RUNS; run++) {
    await times.measure(async (lap) => {
      {
        using from = graph.map(pixels, cl, { access: "read" });
        using to = graph.map(read, cl, { access: "write" });
        prepare.run({ items: [width * height] }, [from, decoded.width, to, width, width * height]);
      }
      lap("prepare, OpenCL");
      {
        using from = graph.map(read, engine, { access: "read" });
        using to = graph.map(map, engine, { access: "write" });
        await session.runAsync({ [input.name]: from }, { [output.name]: to });
      }
      lap(`run, ${runtime}`);
    });
  }
  for (const step of times.steps) print("", `${milliseconds(times.of(step)).padStart(10)}  ${step}`);
  const boxes = boxesIn(map.view(), width);
  for (const box of boxes) print("text", JSON.stringify(box));
  for (const box of boxes) drawBox({ rgba: pixels.view(), width: decoded.width }, box);
  await Deno.mkdir(picture.replace(/[^/]*$/, "") || ".", { recursive: true });
  const raw = { width: decoded.width, height: decoded.height, channels: 4 } as const;
  await pixels.lend(async (view) => void await sharp(view, { raw }).png().toFile(picture));
  print("picture", picture);
  print("copied", `${cl.bytesCopied + engine.bytesCopied} bytes`);
}

/** The runtime in the folder of a wheel. */
function fileIn(folder: string, name: RegExp): string {
  const file = [...Deno.readDirSync(folder)].find((file) => name.test(file.name));
  if (file === undefined) throw new Error(`${folder} has no such library. Run deno task setup inference.`);
  return `${folder}/${file.name}`;
}
