import { messageOf } from "../core/errors.ts";
import type { FFmpegContext } from "../ffmpeg/mod.ts";
import type { InferenceContext } from "../inference/context.ts";
import type { Session } from "../inference/session.ts";
import type { OpenCLContext, OpenCLKernel } from "../opencl/mod.ts";
import { detector } from "./detector.ts";
import { type Piece, pipeline } from "./pipeline.ts";
import { decode, encode } from "./stages/ffmpeg.ts";
import { kernel } from "./stages/kernel.ts";
import { outline } from "./stages/outline.ts";
import { copy } from "./stages/pixels.ts";

const USAGE = `Runs a clip through stages that hand their frames on in place.

  run CLIP            decodes it by FFmpeg, and then, in this order:

  --filter=FILE.cl    a kernel of OpenCL over each plane: (from, stride, to, toStride, width, height, plane), as many of
                      these as it has; or in place (plane, stride, width, height, plane)
  --kernel=NAME       which one, where the file has several
  --detect=MODEL      a model that finds objects (.onnx, or .xml of OpenVINO), around which lines are drawn
  --out=FILE          encodes by FFmpeg, in the format that the name says
  --codec=NAME        FFmpeg's encoder; that of the format if it is left out
  --frames=N          the most frames that are under way; 4 if it is left out
  --explain           says how the frames get from stage to stage, and what is allocated, and runs nothing
  --json              the figures as JSON
`;

const FLAGS = new Set(["filter", "kernel", "detect", "out", "codec", "frames", "explain", "json", "help"]);
const SWITCHES = new Set(["explain", "json", "help"]);
/** An option that is about another one. */
const NEEDS: Readonly<Record<string, string>> = { kernel: "filter", codec: "out" };

/** The options of a call, by name. */
type Options = Readonly<Record<string, string | undefined>>;

/** Runs the command, and returns its exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const flags = args.filter((arg) => arg.startsWith("--")).map((arg) => /^--([^=]*)(?:=(.*))?$/s.exec(arg)!);
  const [command, clip, ...others] = args.filter((arg) => !arg.startsWith("--"));
  const options: Options = Object.fromEntries(flags.map(([, name, value]) => [name, value ?? ""]));
  if (args.length === 0 || options.help !== undefined) return said(console.log, USAGE, 0);
  const unknown = flags.find(([, name, value]) => !FLAGS.has(name) || (value !== undefined) === SWITCHES.has(name));
  if (unknown !== undefined) return said(console.error, `What is ${unknown[0]}? --help names what there is.`, 2);
  if (command !== "run" || clip === undefined || others.length > 0) {
    return said(console.error, "Write run, and one clip. --help names the rest.", 2);
  }
  if (!/^[1-9]\d{0,2}$/.test(options.frames ?? "4")) return said(console.error, "--frames: a number from 1 to 999.", 2);
  const idle = Object.keys(NEEDS).find((name) => options[name] !== undefined && options[NEEDS[name]] === undefined);
  if (idle !== undefined) return said(console.error, `--${idle} does nothing without --${NEEDS[idle]}.`, 2);
  try {
    await run(clip, options);
    return 0;
  } catch (error) {
    return said(console.error, messageOf(error), 1);
  }
}

function said(print: (text: string) => void, text: string, code: number): number {
  print(text);
  return code;
}

async function run(clip: string, options: Options): Promise<void> {
  for (const path of [clip, options.filter, options.detect]) if (path !== undefined) await assertFile(path);
  using open = new DisposableStack();
  const { FFmpegContext } = await import("../ffmpeg/mod.ts");
  const ffmpeg = open.use(FFmpegContext.open());
  const stages = await stagesFor(ffmpeg, options, open);
  const all = pipeline(decode(ffmpeg, clip), ...stages, { frames: Number(options.frames ?? 4), progress: true });
  if (options.explain !== undefined) {
    await using explained = all;
    console.log(`${await explained.explain()}`);
    return;
  }
  const figures = await all.run();
  console.log(options.json === undefined ? `${figures}` : JSON.stringify(figures, undefined, 2));
}

async function assertFile(path: string): Promise<void> {
  const { isFile } = await Deno.stat(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) throw new Error(`${path}: there is no such file.`);
    throw error;
  });
  if (!isFile) throw new Error(`${path} is no file.`);
}

async function stagesFor(
  ffmpeg: FFmpegContext,
  { filter, kernel: name, detect, out, codec }: Options,
  open: DisposableStack,
): Promise<readonly Piece[]> {
  const stages: Piece[] = [];
  if (filter !== undefined || detect !== undefined) {
    const { OpenCLContext } = await import("../opencl/mod.ts");
    const cl = open.use(OpenCLContext.open());
    if (filter !== undefined) {
      stages.push(...filtered(kernelIn(cl, await Deno.readTextFile(filter), filter, name, open)));
    }
    if (detect !== undefined) {
      const model = detector(open.use(await sessionOf(detect, open)), cl);
      // Lines are drawn in place, and a decoder goes on to read its frames.
      stages.push(model, ...(filter === undefined ? [copy()] : []), outline());
    }
  }
  if (out !== undefined) stages.push(encode(ffmpeg, out, codec === undefined ? {} : { codec }));
  return stages;
}

/** A kernel that takes one plane works in place. */
function filtered(of: OpenCLKernel): readonly Piece[] {
  const planes = of.parameters.filter(({ type }) => type.endsWith("*")).length;
  return planes > 1 ? [kernel(of, { gives: (info) => info })] : [copy(), kernel(of)];
}

function kernelIn(
  cl: OpenCLContext,
  source: string,
  file: string,
  name: string | undefined,
  open: DisposableStack,
): OpenCLKernel {
  const program = open.use(cl.program(source));
  const names = program.kernelNames;
  if (names.length === 0) throw new Error(`${file} has no kernel.`);
  if (name === undefined && names.length > 1) {
    throw new Error(`${file} has several kernels: say which with --kernel=${names.join(", or --kernel=")}.`);
  }
  return open.use(program.kernel(name ?? names[0]));
}

async function sessionOf(model: string, open: DisposableStack): Promise<Session> {
  const contexts: Readonly<Record<string, () => Promise<InferenceContext & Compiles>>> = {
    onnx: async () => (await import("../onnxruntime/mod.ts")).OnnxRuntimeContext.open(),
    xml: async () => (await import("../openvino/mod.ts")).OpenVINOContext.open(),
  };
  const kind = model.slice(model.lastIndexOf(".") + 1);
  if (!Object.hasOwn(contexts, kind)) throw new Error(`${model}: a model is a file of .onnx, or .xml of OpenVINO.`);
  return await open.use(await contexts[kind]()).compile(model);
}

/** What both runtimes have. */
interface Compiles {
  compile(model: string): Promise<Session>;
}
