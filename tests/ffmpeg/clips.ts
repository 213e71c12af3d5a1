/**
 * Clips that the `ffmpeg` program makes, and what it says of them.
 *
 * @module
 */
const FOLDER = new URL("../../out/ffmpeg/clips/", import.meta.url).pathname; // git ignores it

const PICTURES = (size: string, rate: number) => ["-f", "lavfi", "-i", `testsrc2=s=${size}:r=${rate}`];
const SOUND = ["-f", "lavfi", "-i", "sine=440:r=44100"];
const X264 = ["-c:v", "libx264", "-threads", "1", "-pix_fmt", "yuv420p", "-g", "12"];

/** The clips, and how they are made. Each is made once. */
const CLIPS = {
  "h264.mp4": [...PICTURES("160x120", 25), ...SOUND, "-t", "2", ...X264, "-c:a", "aac", "-movflags", "+faststart"],
  "h264.mkv": [...PICTURES("160x120", 25), "-t", "2", ...X264],
  "h264.ts": [...PICTURES("160x120", 25), "-t", "2", ...X264],
  "av1.mkv": [...PICTURES("160x120", 25), "-t", "0.4", "-c:v", "libsvtav1", "-preset", "12", "-pix_fmt", "yuv420p"],
  // Only the first picture is decoded without others, and the file has no index.
  "one_key.ts": [...PICTURES("64x48", 10), "-t", "20", ...X264, "-g", "1000", "-sc_threshold", "0"],
  // Each packet takes a while to read.
  "raw.mkv": [...PICTURES("1920x1080", 25), "-frames:v", "8", "-c:v", "rawvideo", "-pix_fmt", "yuv420p"],
  "larger.ts": [...PICTURES("320x180", 25), "-t", "1", ...X264],
  "theora.ogv": [...PICTURES("64x48", 25), "-frames:v", "12", "-c:v", "libtheora"],
  // The codec says nothing of a pixel's shape, and the file does.
  "wide.mov": [...PICTURES("64x48", 10), "-frames:v", "2", "-vf", "setsar=4/3", "-c:v", "qtrle", "-pix_fmt", "rgb24"],
  "sound.wav": [...SOUND, "-t", "0.5", "-ac", "2"],
  "picture.png": [...PICTURES("64x48", 1), "-frames:v", "1", "-pix_fmt", "rgb24"],
  "upwards.avi": [
    ...[...PICTURES("64x48", 10), "-frames:v", "2", "-c:v", "rawvideo", "-pix_fmt", "bgr24"],
    ...["-flipped_raw_rgb", "1"],
  ],
  "palette.png": [...PICTURES("64x48", 1), "-frames:v", "1", "-pix_fmt", "pal8"],
  "hd.mp4": [...PICTURES("1920x1080", 25), "-t", "2", ...X264, "-preset", "fast"],
  // Its digits are large enough for a detector of text.
  "text.mp4": [
    ...[...PICTURES("640x360", 25), "-frames:v", "300", "-vf", "scale=1920:1080"],
    ...[...X264, "-preset", "ultrafast"],
  ],
  "long.mp4": [...PICTURES("640x360", 25), "-t", "20", ...X264, "-preset", "ultrafast"],
  // Some kB each, for what changes bytes of them.
  "small.mp4": [...PICTURES("64x48", 10), ...SOUND, "-t", "1", ...X264, "-c:a", "aac", "-b:a", "16k"],
  "small.mkv": [...PICTURES("64x48", 10), "-t", "1", "-c:v", "mpeg4", "-q:v", "12"],
  "short.mkv": [...PICTURES("64x48", 10), "-frames:v", "3", "-c:v", "mpeg4", "-q:v", "12"],
  "small.ts": [...PICTURES("64x48", 10), "-t", "1", "-c:v", "mpeg2video", "-q:v", "12"],
  "small.png": [...PICTURES("64x48", 1), "-frames:v", "1", "-pix_fmt", "rgba"],
  "small.wav": [...SOUND, "-t", "0.05", "-c:a", "adpcm_ms"],
} as const;

export type ClipName = keyof typeof CLIPS;

/** Why there are none; undefined where there are. */
export const missing: string | undefined = await isThere() ? undefined : "the ffmpeg program";

async function isThere(): Promise<boolean> {
  try {
    return (await new Deno.Command("ffmpeg", { args: ["-version"], stdout: "null" }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** The path of a clip. */
export async function clip(name: ClipName): Promise<string> {
  const path = `${FOLDER}${name}`;
  if (await Deno.stat(path).then(() => true, () => false)) return path;
  await Deno.mkdir(FOLDER, { recursive: true });
  const folder = await Deno.makeTempDir({ dir: FOLDER }); // another process may be making the same
  try {
    await ffmpeg([...CLIPS[name], "-bitexact", `${folder}/${name}`]);
    await Deno.rename(`${folder}/${name}`, path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  return path;
}

/** What the program decodes, as bytes. */
export async function decodedByProgram(path: string, ...how: readonly string[]): Promise<Uint8Array<ArrayBuffer>> {
  return await ffmpeg(["-i", path, ...how, "-"]);
}

async function ffmpeg(args: readonly string[]): Promise<Uint8Array<ArrayBuffer>> {
  const command = new Deno.Command("ffmpeg", { args: ["-nostdin", "-v", "error", "-y", ...args], stdin: "null" });
  const { success, stdout, stderr } = await command.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return stdout;
}
