/**
 * The edges of a clip, and where its text is: FFmpeg decodes it, an OpenCL kernel finds edges, and FFmpeg encodes them. Where
 * ONNX Runtime is there, it finds text in every fifth picture, around which lines are drawn. No byte is copied. A contact
 * sheet shows four of the pictures.
 *
 * Run it as `deno run -A examples/video-edges/main.ts [CLIP [FOLDER]]`. Without a clip, the `ffmpeg` program makes one;
 * without a folder, what comes of it is in `out/video-edges`. The detector needs `deno task setup inference`.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { InteropError, ledger } from "@samepage/interop";
import { FFmpegContext, type MediaInfo } from "@samepage/interop/ffmpeg";
import { OnnxRuntimeContext } from "@samepage/interop/onnxruntime";
import { OpenCLContext } from "@samepage/interop/opencl";
import {
  decode,
  encode,
  infer,
  kernel,
  outline,
  pictureInput,
  type Piece,
  pipeline,
  type Transform,
} from "@samepage/interop/pipeline";
import { boxesIn } from "../detect-text/boxes.ts";
import { print } from "../edges/report.ts";
import { Shown } from "./shown.ts";

const HERE = new URL(".", import.meta.url);
const WHEEL = fromFileUrl(new URL("../../.inference/onnxruntime", HERE));
const MODEL = `${WHEEL}/rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx`;

/** The size of the pictures that the detector reads: multiples of 32. */
const [ACROSS, DOWN] = [640, 352];

const [given, folder = "out/video-edges"] = Deno.args;
const alive = JSON.stringify(ledger.alive);
await Deno.mkdir(folder, { recursive: true });
await run(given ?? await madeClip(`${folder}/clip.mp4`));
const left = JSON.stringify(ledger.alive);
print("left", left === alive ? "nothing: every native object was given back" : left);
if (left !== alive) Deno.exitCode = 1;

async function run(clip: string): Promise<void> {
  using open = new DisposableStack();
  const ffmpeg = open.use(FFmpegContext.open());
  const cl = open.use(OpenCLContext.open());
  const program = open.use(cl.program(Deno.readTextFileSync(new URL("edges.cl", HERE))));
  const edges = kernel(open.use(program.kernel("edges")), { takes: { format: "I420" }, gives: (info) => info });
  const detect = await detector(cl, open);
  const sheet = new Shown(await infoOf(ffmpeg, clip));
  open.use(sheet.sheet);
  const { frameRate } = sheet;
  const out = encode(ffmpeg, `${folder}/edges.mp4`, {
    ...{ codec: "libx264", frameRate, options: { preset: "ultrafast" } },
  });
  const all = pipeline(
    decode(ffmpeg, clip),
    sheet.stage(0),
    ...[edges, ...detect, sheet.stage(1)] as Transform[],
    ...[out, { progress: true }],
  );
  print("devices", `${ffmpeg.name}; ${cl.device.name}`);
  console.log(`${await all.explain()}`);
  const figures = await all.run();
  console.log(`${figures}`);
  await sheet.sheet.write(ffmpeg, `${folder}/sheet.png`);
  print("text", `${sheet.found} boxes`);
  print("files", `${folder}/edges.mp4, ${folder}/sheet.png`);
  if (figures.bytesMoved > 0 || figures.frames === 0) Deno.exitCode = 1;
}

/** Finds text, and draws lines around it: two stages, or none where the runtime is not there. */
async function detector(cl: OpenCLContext, open: DisposableStack): Promise<readonly Piece[]> {
  let ort: OnnxRuntimeContext;
  try {
    const folder = `${WHEEL}/onnxruntime/capi`;
    const library = [...Deno.readDirSync(folder)].find(({ name }) => /^libonnxruntime\.so/.test(name))?.name;
    ort = open.use(OnnxRuntimeContext.open({ library: `${folder}/${library}` }));
  } catch (error) {
    if (!(error instanceof InteropError || error instanceof Deno.errors.NotFound)) throw error;
    print("detector", "not here: deno task setup inference");
    return [];
  }
  const session = open.use(await ort.compile(MODEL, { threads: 1 }));
  const [[input], [output]] = [session.inputs, session.outputs];
  const find = infer(session, {
    ...{ name: "detect", every: 5 },
    ...pictureInput(cl, { format: "GRAY8", mean: 127.5, scale: 127.5 }),
    shapes: () => ({ [input.name]: [1, 3, DOWN, ACROSS] }),
    results({ [output.name]: map }, { metadata }) {
      for (const { left, top, right, bottom } of boxesIn(map.view({ access: "read" }) as Float32Array, ACROSS)) {
        const box = { xMin: left / ACROSS, yMin: top / DOWN, xMax: right / ACROSS, yMax: bottom / DOWN };
        metadata.add("detection", { ...box, label: "text" });
      }
    },
  });
  return [find, outline()];
}

async function infoOf(ffmpeg: FFmpegContext, clip: string): Promise<MediaInfo> {
  await using decoder = ffmpeg.decode(clip);
  return await decoder.info();
}

async function madeClip(path: string): Promise<string> {
  const text = "drawtext=text='EMERGENCY EXIT':fontsize=48:fontcolor=white:box=1:boxcolor=black:x=40+n:y=200";
  const pictures = ["-f", "lavfi", "-i", "testsrc2=s=640x360:r=25", "-t", "4", "-vf", text, "-pix_fmt", "yuv420p"];
  const args = ["-nostdin", "-v", "error", "-y", ...pictures, "-c:v", "libx264", path];
  const { success } = await new Deno.Command("ffmpeg", { args, stdin: "null" }).output();
  if (!success) throw new Error("The ffmpeg program cannot make a clip: name one.");
  return path;
}
