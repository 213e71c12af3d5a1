// Decodes mutations of a clip, one after the other, and prints the number of each before it begins: the last number is
// that of the one that has ended the process.

import { host, type HostTensor, InteropError, ledger } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { mutated } from "./mutate.ts";

const [path, stream, first, count] = Deno.args;
const clip = Deno.readFileSync(path);
const LIMIT_MS = 10_000;

const outcomes = new Map<string, number>();
for (let seed = Number(first); seed < Number(first) + Number(count); seed++) {
  console.log(`begin ${seed}`);
  const outcome = await decode(mutated(clip, seed), seed);
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
}
console.log(JSON.stringify({ outcomes: Object.fromEntries(outcomes), alive: ledger.alive }));

/** What comes of it, in a word. Anything but an error of samepage's ends the process. */
async function decode(bytes: Uint8Array, seed: number): Promise<string> {
  using ffmpeg = FFmpegContext.open();
  const signal = AbortSignal.timeout(LIMIT_MS);
  let frames = 0;
  try {
    const options = { stream: stream as "video", threads: 1 + seed % 3, signal, ...(seed % 5 === 0 && { from: 0.3 }) };
    const into = seed % 2 === 0 ? { into: host, slots: 4 } : {};
    for await (using frame of ffmpeg.decode<HostTensor>(bytes, { ...options, ...into })) {
      frames++;
      for (const { address, layout: { byteLength } } of frame.planes) read(address, byteLength);
    }
    return frames > 0 ? "frames" : "no frames";
  } catch (error) {
    if (signal.aborted && error === signal.reason) return `late ${seed}`;
    if (error instanceof InteropError) return `${frames > 0 ? "frames, then " : ""}${error.name} ${error.fn ?? ""}`;
    throw error;
  }
}

/** Touches the first byte and the last one: what a layout reaches has to be there. */
function read(address: bigint, byteLength: number): void {
  const view = new Deno.UnsafePointerView(Deno.UnsafePointer.create(address)!);
  view.getUint8(0);
  view.getUint8(byteLength - 1);
}
