/**
 * A clip that the GPU decodes (NVDEC), and a CUDA kernel that makes a small preview of each frame, in place: of a
 * frame of 1080p, 110,592 bytes come to the host in place of 3,110,400. A contact sheet shows twelve of them.
 *
 * Run it as `deno run -A examples/nvdec-cuda/main.ts [CLIP [FOLDER]]`. Without a clip, the `ffmpeg` program makes one;
 * without a folder, the sheet is in `out/nvdec-cuda`.
 *
 * @module
 */
import { type Frame, InteropError } from "@samepage/interop";
import type { CudaContext, CudaTensor } from "@samepage/interop/cuda";
import { FFmpegContext, type FFmpegTensor } from "@samepage/interop/ffmpeg";
import { onGpu, says } from "../cuda-edges/gpu.ts";
import { openOr } from "../cuda-edges/open.ts";
import { print } from "../edges/report.ts";
import { Previews } from "./preview.ts";
import { Sheet } from "./sheet.ts";

const [given, folder = "out/nvdec-cuda"] = Deno.args;

await onGpu(async (cuda) => {
  const opened = openOr(() => FFmpegContext.open({ on: cuda }));
  if (opened instanceof InteropError) return print("FFmpeg", `none. ${opened.message}`);
  await using ffmpeg = opened;
  print("FFmpeg", ffmpeg.name);
  await Deno.mkdir(folder, { recursive: true });
  await run(cuda, ffmpeg, given ?? await madeClip(`${folder}/clip.mp4`));
});

async function run(cuda: CudaContext, ffmpeg: FFmpegContext, clip: string): Promise<void> {
  await using decoder = ffmpeg.decode<CudaTensor>(clip, { hardware: true });
  const { stream, duration = 0 } = await decoder.info();
  const { width = 0, height = 0, frameRate = [25, 1] } = stream;
  print("clip", `${clip}: ${stream.codec}, ${width} × ${height}, ${duration.toFixed(1)} s`);
  using previews = new Previews(cuda, width, height);
  using sheet = new Sheet(previews.height, Math.round(duration * frameRate[0] / frameRate[1]));
  let [count, whole] = [0, 0];
  const before = performance.now();
  for await (using frame of decoder) {
    if (!isOn(frame, cuda)) return print("frames", "in memory of the CPU's: this GPU does not decode the clip.");
    whole += frame.byteLength;
    previews.make(frame, (rgb) => sheet.draw(rgb, count));
    count++;
  }
  const seconds = (performance.now() - before) / 1000;
  await sheet.write(ffmpeg, `${folder}/sheet.png`);
  print("frames", `${count}, ${(count / seconds).toFixed(0)} a second, each decoded and scaled on the GPU`);
  print("moved", `${count * previews.byteLength} bytes to the host, of ${whole}`);
  print("sheet", says(sheet.isWhole, `${folder}/sheet.png`, "some of its pictures are missing"));
}

function isOn(frame: Frame<CudaTensor | FFmpegTensor>, cuda: CudaContext): frame is Frame<CudaTensor> {
  return frame.target === cuda;
}

async function madeClip(path: string): Promise<string> {
  const pictures = ["-f", "lavfi", "-i", "testsrc2=s=1920x1080:r=30", "-t", "4", "-pix_fmt", "yuv420p"];
  const args = ["-nostdin", "-v", "error", "-y", ...pictures, "-c:v", "libx264", path];
  const { success } = await new Deno.Command("ffmpeg", { args, stdin: "null" }).output();
  if (!success) throw new Error("The ffmpeg program cannot make a clip: name one.");
  return path;
}
