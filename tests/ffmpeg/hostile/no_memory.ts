/**
 * Allocations that fail inside FFmpeg, in processes of their own.
 *
 * `deno run -A tests/ffmpeg/hostile/no_memory.ts 2000` has so many of each operation's fail, and prints what came of them.
 *
 * @module
 */
import { clip } from "../clips.ts";
import { NO_MEMORY } from "../frames.ts";
import { deno, type Ended } from "../../process.ts";

/** What is done, by the names that no_memory_child.ts has for it. */
export const OPERATIONS = ["attach", "avFrame", "decode", "into", "encode"] as const;

/** What came of the failures of an operation. */
export interface Shortage {
  /** How often what came. */
  readonly outcomes: Map<string, number>;
  /** Crashes inside FFmpeg itself: the allocation that failed, and the stack. */
  readonly theirs: string[];
  /** What else ended a process. */
  readonly ours: string[];
}

const ROOT = new URL("../../../", import.meta.url).pathname;

/** What a crash inside of FFmpeg has on top of its stack, under the C library and the handler. */
const OF_FFMPEG = /\/lib(av|sw)\w+[.-]/;
const BENEATH = /no_memory|libc\.so|libpthread/;

/** Has up to `most` of an operation's allocations fail, each alone, then with all that follow. */
export async function without(name: (typeof OPERATIONS)[number], most: number): Promise<Shortage> {
  const all: Shortage = { outcomes: new Map(), theirs: [], ours: [] };
  const child = new URL("no_memory_child.ts", import.meta.url).pathname;
  const flags = ["run", "-q", "-A", "--no-check", "--config", `${ROOT}deno.json`];
  const folder = await Deno.makeTempDir();
  try {
    for (let turn = 0; turn < 2 * most;) {
      const args = [NO_MEMORY, await clip("small.mp4"), folder, name, `${turn}`, `${most}`];
      const ended = await deno([...flags, child, ...args], { env: { LD_PRELOAD: NO_MEMORY } });
      turn = add(all, ended, name);
      for (const { name } of Deno.readDirSync(folder)) await Deno.remove(`${folder}/${name}`); // a crash leaves them
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  return all;
}

/** Returns the turn to go on with: infinity after the last one. */
function add({ outcomes, theirs, ours }: Shortage, { code, late, stdout, stderr }: Ended, name: string): number {
  const lines = stdout.trimEnd().split("\n");
  for (const line of lines) if (!line.startsWith("begin ")) outcomes.set(line, (outcomes.get(line) ?? 0) + 1);
  if (code === 0) return Infinity;
  const [, turn, nth] = lines.at(-1)!.split(" ").map(Number);
  const which = `${name}, allocation ${nth}${turn % 2 === 0 ? "" : " and all that follow"}`;
  const stack = stderr.split("crash\n")[1]?.split("\n").filter((line) => !BENEATH.test(line)) ?? [];
  const isTheirs = !late && OF_FFMPEG.test(stack[0] ?? "");
  (isTheirs ? theirs : ours).push(`${which}: ${isTheirs ? stack.slice(0, 6).join(" < ") : stderr}`);
  return turn === undefined || Number.isNaN(turn) ? Infinity : turn + 1;
}

if (import.meta.main) {
  for (const name of OPERATIONS) {
    const { outcomes, theirs, ours } = await without(name, Number(Deno.args[0]));
    console.log(name, Object.fromEntries(outcomes));
    for (const crash of theirs) console.log(`inside FFmpeg\t${crash}`);
    for (const crash of ours) console.log(`OURS\t${crash}`);
  }
}
