/**
 * Mutations of five small clips, decoded in processes of their own.
 *
 * `deno run -A tests/ffmpeg/hostile/attack.ts 20000` decodes so many, and prints what came of them.
 *
 * @module
 */
import { clip, type ClipName } from "../clips.ts";

const CLIPS: readonly (readonly [name: ClipName, stream: "video" | "audio"])[] = [
  ["small.mp4", "video"],
  ["small.mkv", "video"],
  ["small.ts", "video"],
  ["small.png", "video"],
  ["small.wav", "audio"],
];

/** Bytes that a process may write to: a picture may say that it has gigabytes, and this machine must not believe it. */
const MAX_BYTES = 3_000_000_000;
const BATCH = 500;

/** What came of the mutations. */
export interface Outcomes {
  /** How often what came. */
  readonly outcomes: Map<string, number>;
  /** Those that ended their process: the clip, the seed, and how. */
  readonly crashes: string[];
}

/** Decodes so many mutations of each clip. */
export async function attack(count: number, first = 0): Promise<Outcomes> {
  const all: Outcomes = { outcomes: new Map(), crashes: [] };
  for (const [name, stream] of CLIPS) {
    for (let seed = first; seed < first + count;) {
      seed = await batch(all, name, stream, seed, Math.min(BATCH, first + count - seed));
    }
  }
  return all;
}

/** Returns the seed to go on with: after one that ended the process, the next. */
async function batch(all: Outcomes, name: ClipName, stream: string, seed: number, count: number): Promise<number> {
  const child = new URL("child.ts", import.meta.url).pathname;
  const config = new URL("../../../deno.json", import.meta.url).pathname;
  const program = [Deno.execPath(), "run", "-q", "-A", "--no-check", "--config", config, child];
  const { success, code, signal, stdout, stderr } = await new Deno.Command("prlimit", {
    args: [`--data=${MAX_BYTES}`, "--core=0", ...program, await clip(name), stream, `${seed}`, `${count}`],
    env: { NO_COLOR: "1" },
  }).output();
  const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
  const said = new TextDecoder().decode(stderr).replaceAll(/^samepage: FFmpeg(:| has said more).*\n/gm, ""); // what FFmpeg warns of
  if (said !== "") all.crashes.push(`${name}, from seed ${seed} on: stderr: ${said.slice(0, 2000)}`);
  if (success) {
    const { outcomes, alive } = JSON.parse(lines.at(-1)!);
    if (Object.keys(alive).length > 0) all.crashes.push(`${name} ${seed}: alive: ${JSON.stringify(alive)}`);
    for (const [outcome, times] of Object.entries<number>(outcomes)) {
      const key = `${name}: ${outcome}`;
      all.outcomes.set(key, (all.outcomes.get(key) ?? 0) + times);
    }
    return seed + count;
  }
  const last = Number(lines.at(-1)!.replace("begin ", ""));
  all.crashes.push(`${name}, seed ${last}: ${signal ?? `exit code ${code}`}`);
  return (Number.isNaN(last) ? seed + count : last) + 1;
}

if (import.meta.main) {
  const { outcomes, crashes } = await attack(Math.ceil(Number(Deno.args[0]) / CLIPS.length), Number(Deno.args[1] ?? 0));
  for (const [outcome, times] of [...outcomes].sort()) console.log(`${times}\t${outcome}`);
  for (const crash of crashes) console.log(`ended\t${crash}`);
  Deno.exit(crashes.length > 0 ? 1 : 0);
}
