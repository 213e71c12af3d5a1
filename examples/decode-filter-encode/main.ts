/**
 * A clip through FFmpeg's decoder, an OpenCL Gaussian, and FFmpeg's encoder, and no byte is copied between them: the
 * kernel reads the memory that the decoder wrote, and the encoder reads the memory that the kernel wrote. A contact sheet
 * shows the pictures before and after.
 *
 * Run it as `deno run -A examples/decode-filter-encode/main.ts [CLIP [FOLDER]]`. Without a clip, the `ffmpeg` program makes
 * one; without a folder, what comes of it is in `out/decode-filter-encode`.
 *
 * @module
 */
import { type Frame, host, type HostTensor, imageInfo, ledger, MapperGraph } from "@samepage/interop";
import { FFmpegContext, type FFmpegTensor } from "@samepage/interop/ffmpeg";
import { OpenCLContext, type OpenCLTensor } from "@samepage/interop/opencl";
import { print } from "../edges/report.ts";
import { Blur } from "./blur.ts";
import { Sheet, shownOf } from "./sheet.ts";

const [given, folder = "out/decode-filter-encode"] = Deno.args;
const alive = JSON.stringify(ledger.alive);
await Deno.mkdir(folder, { recursive: true });
await run(given ?? await madeClip(`${folder}/clip.mp4`));
const left = JSON.stringify(ledger.alive);
print("left", left === alive ? "nothing: every native object was given back" : left);
if (left !== alive) Deno.exitCode = 1;

async function run(clip: string): Promise<void> {
  using ffmpeg = FFmpegContext.open();
  using cl = OpenCLContext.open();
  using graph = new MapperGraph([host, ffmpeg, cl]);
  using blur = new Blur(cl);
  await using decoder = ffmpeg.decode(clip, { progress: true });
  const { stream, duration = 0 } = await decoder.info();
  const { width = 0, height = 0, frameRate = [25, 1] } = stream;
  print("devices", `${ffmpeg.name}; ${cl.device.name}`);
  print("clip", `${clip}: ${stream.codec}, ${width} × ${height}, ${duration.toFixed(1)} s`);
  const expected = Math.max(1, Math.round(duration * frameRate[0] / frameRate[1]));
  const shown = shownOf(expected);
  using sheet = new Sheet(width, height);
  using blurred = host.allocateFrame(imageInfo({ format: "I420", width, height }), { rowAlign: 64 });
  await using out = ffmpeg.encode(`${folder}/blurred.mp4`, {
    ...{ codec: "libx264", frameRate, options: { preset: "ultrafast" } },
  });
  let [count, bytes] = [0, 0];
  const before = performance.now();
  for await (using frame of decoder) {
    if (frame.info.format !== "I420") throw new Error(`The kernel is for I420, and the clip is ${frame.info.format}.`);
    {
      await using from = graph.map(frame, cl, { access: "read" }) as Frame<OpenCLTensor>;
      await using to = graph.map(blurred, cl, { access: "write" }) as Frame<OpenCLTensor>;
      blur.run(from.planes, to.planes);
      bytes += from.route!.bytesMoved + to.route!.bytesMoved;
    }
    using picture = graph.map(blurred, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
    bytes += picture.route!.bytesMoved;
    await out.write(picture);
    const column = shown.indexOf(count++);
    if (column >= 0) {
      using seen = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
      sheet.draw(seen, column, 0);
      sheet.draw(blurred, column, 1);
    }
  }
  await out.close();
  const seconds = (performance.now() - before) / 1000;
  await sheet.write(ffmpeg, `${folder}/sheet.png`);
  print("frames", `${count}, ${(count / seconds).toFixed(0)} a second`);
  print("copied", `${bytes} bytes between FFmpeg and OpenCL`);
  print("files", `${folder}/blurred.mp4, ${folder}/sheet.png`);
  if (bytes > 0 || count === 0) Deno.exitCode = 1;
}

async function madeClip(path: string): Promise<string> {
  const pictures = ["-f", "lavfi", "-i", "testsrc2=s=640x360:r=25", "-t", "4", "-pix_fmt", "yuv420p"];
  const args = ["-nostdin", "-v", "error", "-y", ...pictures, "-c:v", "libx264", path];
  const { success } = await new Deno.Command("ffmpeg", { args, stdin: "null" }).output();
  if (!success) throw new Error("The ffmpeg program cannot make a clip: name one.");
  return path;
}
