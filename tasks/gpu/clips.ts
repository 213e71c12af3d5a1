/**
 * Clips for a GPU's decoder. The machine with the GPU has no `ffmpeg` to make them: `deno run -A tasks/gpu/clips.ts` makes
 * them in .gpu-kit/clips, which travels there.
 *
 * @module
 */
import { resolve } from "@std/path";
import { capture } from "../setup/capture.ts";

/** Where they are: in the folder that SAMEPAGE_CLIPS names, or with the kit. */
const CLIPS: string = Deno.env.get("SAMEPAGE_CLIPS") ??
  resolve(import.meta.dirname!, "../../.gpu-kit/clips");

const PICTURES = (size: string, frames: number) => [
  ...["-f", "lavfi", "-i", `testsrc2=s=${size}:r=30`, "-frames:v", `${frames}`, "-pix_fmt", "yuv420p"],
];
const X264 = ["-c:v", "libx264", "-preset", "veryfast"];
const X265 = ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error"];

const LARGE = [...PICTURES("1920x1080", 120), ...X264, "-g", "60", "-crf", "28"];

/** The clips, and how they are made: 3.7 MB. */
const MADE = {
  "h264-720.mp4": [...PICTURES("1280x720", 60), ...X264, "-bf", "2", "-g", "30", "-crf", "26"],
  "hevc-720.mp4": [...PICTURES("1280x720", 60), ...X265, "-crf", "28"],
  "av1-720.mp4": [...PICTURES("1280x720", 60), "-c:v", "libsvtav1", "-preset", "10", "-crf", "45"],
  "h264-1080.mp4": LARGE,
  // Without a container, so that several in a row are one longer clip.
  "h264-1080.h264": LARGE,
} as const;

/** The name of a clip: its codec, its rows, and its container. */
export type GpuClip = keyof typeof MADE;

/** The path of a clip. */
export function gpuClip(name: GpuClip): string {
  return `${CLIPS}/${name}`;
}

/** Why they are not here; undefined where they are. */
export function missingClips(): string | undefined {
  const names = Object.keys(MADE) as GpuClip[];
  const lacking = names.filter((name) => {
    try {
      return !Deno.statSync(gpuClip(name)).isFile;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return true;
      throw error;
    }
  });
  return lacking.length === 0 ? undefined : `${lacking.join(", ")} (deno run -A tasks/gpu/clips.ts)`;
}

if (import.meta.main) {
  await Deno.mkdir(CLIPS, { recursive: true });
  for (const [name, args] of Object.entries(MADE)) {
    const made = await capture("ffmpeg", ["-nostdin", "-v", "error", "-y", ...args, gpuClip(name as GpuClip)]);
    if (!made?.success) throw new Error(made?.text ?? "There is no ffmpeg program.");
    console.log(`${gpuClip(name as GpuClip)}: ${(await Deno.stat(gpuClip(name as GpuClip))).size} bytes`);
  }
}
