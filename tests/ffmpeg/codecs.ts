/**
 * Clips that the program `ffmpeg` makes.
 *
 * @module
 */
const FOLDER = new URL("../../out/ffmpeg/clips/", import.meta.url).pathname; // git ignores it

/** How to make a clip of FFmpeg's test picture. */
export interface Clip {
  /** The codec's name, as `ffmpeg` has it. */
  readonly codec: string;
  /** The format of the file: its name's end. */
  readonly file: string;
  readonly size: string;
  readonly format: string;
  readonly frames?: number;
  /** More options of `ffmpeg`. */
  readonly options?: readonly string[];
}

/** A clip by its codec and what its name says of it. */
function nameOf({ codec, file, size, format, frames = 12 }: Clip): string {
  return `${codec}-${size}-${format}-${frames}.${file}`;
}

/** The file of a clip, made if it is not there. */
export async function clipOf(clip: Clip): Promise<string> {
  const { codec, size, format, frames = 12, options = [] } = clip;
  const path = `${FOLDER}${nameOf(clip)}`;
  if (await Deno.stat(path).then(() => true, () => false)) return path;
  await Deno.mkdir(FOLDER, { recursive: true });
  const unfinished = `${FOLDER}${crypto.randomUUID()}-${nameOf(clip)}`;
  const source = ["-f", "lavfi", "-i", `testsrc2=size=${size}:rate=25`, "-frames:v", `${frames}`];
  const args = ["-v", "error", ...source, "-c:v", codec, "-pix_fmt", format, ...options, unfinished];
  const { success, stderr } = await new Deno.Command("ffmpeg", { args }).output();
  if (!success) throw new Error(`${nameOf(clip)}: ${new TextDecoder().decode(stderr)}`);
  await Deno.rename(unfinished, path);
  return path;
}

const [H264, HEVC] = [["-bf", "2"], ["-x265-params", "log-level=error"]];
const VP = ["-deadline", "realtime", "-cpu-used", "8"];

type Coded = Omit<Clip, "size">;

/** Codecs that take buffers of others, in formats of one, two and three planes, and of more than eight bits. */
export const CODECS: readonly Coded[] = [
  { codec: "libx264", file: "mp4", format: "yuv420p", options: H264 },
  { codec: "libx264", file: "mkv", format: "yuv444p", options: H264 },
  { codec: "libx264", file: "mkv", format: "nv12", options: H264 },
  { codec: "libx264", file: "mkv", format: "yuv422p10le", options: H264 },
  { codec: "libx265", file: "mp4", format: "yuv420p", options: HEVC },
  { codec: "libx265", file: "mkv", format: "yuv420p10le", options: HEVC },
  { codec: "libvpx", file: "webm", format: "yuv420p", options: VP },
  { codec: "libvpx-vp9", file: "webm", format: "yuv420p", options: VP },
  { codec: "libvpx-vp9", file: "mkv", format: "yuv444p", options: VP },
  { codec: "mjpeg", file: "avi", format: "yuvj420p" },
  { codec: "mjpeg", file: "avi", format: "yuvj444p" },
  { codec: "mpeg1video", file: "mpg", format: "yuv420p" },
  { codec: "mpeg2video", file: "mpg", format: "yuv420p" },
  { codec: "mpeg4", file: "mp4", format: "yuv420p", options: ["-bf", "2"] },
  { codec: "msmpeg4", file: "avi", format: "yuv420p" },
  { codec: "wmv2", file: "avi", format: "yuv420p" },
  { codec: "ffv1", file: "mkv", format: "yuv420p10le" },
  { codec: "ffv1", file: "mkv", format: "bgra" },
  { codec: "huffyuv", file: "mkv", format: "yuv422p" },
  { codec: "utvideo", file: "mkv", format: "gbrp" },
  { codec: "magicyuv", file: "mkv", format: "yuv420p" },
  { codec: "png", file: "mkv", format: "rgb24" },
  { codec: "qtrle", file: "mov", format: "rgb24" },
  { codec: "prores_ks", file: "mov", format: "yuv422p10le" },
  { codec: "libtheora", file: "ogv", format: "yuv420p" },
  { codec: "snow", file: "mkv", format: "yuv420p", options: ["-strict", "experimental"] },
  { codec: "jpeg2000", file: "mkv", format: "rgb24" },
  { codec: "asv1", file: "avi", format: "yuv420p" },
  { codec: "v210", file: "mov", format: "yuv422p10le" },
];

/** A file of several clips one after the other, of a format without a header. */
export async function joined(name: string, clips: readonly Clip[]): Promise<string> {
  const path = `${FOLDER}${name}`;
  const parts = await Promise.all(clips.map(async (clip) => await Deno.readFile(await clipOf(clip))));
  const unfinished = `${FOLDER}${crypto.randomUUID()}-${name}`;
  await Deno.writeFile(unfinished, new Uint8Array(await new Blob(parts).arrayBuffer()));
  await Deno.rename(unfinished, path);
  return path;
}
