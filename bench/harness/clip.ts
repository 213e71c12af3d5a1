/**
 * The clip that a figure works on.
 *
 * @module
 */
import { clip, type ClipName } from "../../tests/ffmpeg/clips.ts";
import { BUILT } from "./c.ts";

/** How many frames of a clip a figure works on: SAMEPAGE_BENCH_FRAMES, or `most` if that is not set. */
export function framesOf(most: number): number {
  return Number(Deno.env.get("SAMEPAGE_BENCH_FRAMES") ?? most);
}

/** A clip's first frames, in a file of their own. */
export async function beginningOf(name: ClipName, frames: number): Promise<string> {
  const path = `${BUILT}${frames}_of_${name}`;
  await Deno.mkdir(BUILT, { recursive: true });
  const args = ["-nostdin", "-v", "error", "-y", "-i", await clip(name), "-frames:v", `${frames}`, "-c", "copy", path];
  const { success } = await new Deno.Command("ffmpeg", { args, stdin: "null" }).output();
  if (!success) throw new Error(`ffmpeg cannot cut ${name}.`);
  return path;
}
