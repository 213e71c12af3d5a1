// Uses frames and files while allocations inside FFmpeg fail: one, or all from that one on. So many are chosen, from the
// first to the last. Prints which before each begins, so that the last line names the one that ended the process.

import { type Frame, host, imageInfo, InteropError, ledger, MapperGraph } from "@samepage/interop";
import { FFmpegContext, type FFmpegTensor } from "@samepage/interop/ffmpeg";
import { until } from "../../conformance/bytes.ts";
import { CFrame, inC } from "../frames.ts";

const [library, path, folder, name, first, most] = Deno.args;
const bytes = Deno.readFileSync(path);
const { symbols: memory } = Deno.dlopen(library, {
  fail_after: { parameters: ["i64", "i32"], result: "void" },
  passed: { parameters: ["i64"], result: "i64" },
  end_failures: { parameters: [], result: "i64" },
  show_crashes: { parameters: [], result: "void" },
});
memory.show_crashes();

using ffmpeg = FFmpegContext.open();
using graph = new MapperGraph([host, ffmpeg]);
using made = CFrame.picture("yuv420p", 16, 8);
inC().add_side_data(made.pointer);

const I420 = imageInfo({ format: "I420", width: 64, height: 48 });

const OPERATIONS: Readonly<Record<string, (threads: number) => Promise<void>>> = {
  async attach() {
    await using _ = ffmpeg.attach(made.pointer, { access: "read" });
    using _copy = ffmpeg.attach(made.pointer, { access: "read-write", copy: "allow" });
  },
  async avFrame() {
    using picture = host.allocateFrame(I420);
    picture.metadata.add("displayMatrix", { matrix: [0, 1, 2, 3, 4, 5, 6, 7, 8] });
    await using mapped = graph.map(picture, ffmpeg, { access: "read" });
    inC().freed(ffmpeg.avFrame(mapped));
  },
  async decode(threads) {
    for await (using _ of ffmpeg.decode(bytes, { threads, from: 0.3 })) { /* each is decoded */ }
  },
  async into(threads) {
    for await (using _ of ffmpeg.decode(bytes, { threads, into: host, slots: 4 })) { /* each is decoded */ }
  },
  async encode(threads) {
    await using out = ffmpeg.encode(`${folder}/out.mkv`, { codec: "ffv1", threads, audio: { codec: "aac" } });
    for await (using frame of ffmpeg.decode(bytes, { stream: "audio", threads })) await out.write(frame);
    for (let i = 0; i < 3; i++) {
      using picture = host.allocateFrame(I420, { rowAlign: 64 });
      using mapped = graph.map(picture, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
      await out.write(mapped);
    }
    await out.close();
  },
};

const MANY = 10n ** 9n;
const operation = OPERATIONS[name];
await operation(1);
memory.fail_after(MANY, 0);
await operation(1);
const total = Number(memory.passed(MANY));
memory.end_failures();
await until(() => ledger.alive["native.flag"] === undefined);
const { alive } = ledger;

const chosen = Math.min(Number(most), total);
for (let turn = Number(first); turn < 2 * chosen; turn++) {
  const [nth, every] = [Math.floor(Math.floor(turn / 2) * total / chosen), turn % 2];
  console.log(`begin ${turn} ${nth}`);
  memory.fail_after(BigInt(nth), every);
  let error: unknown;
  await operation(1 + turn % 4).catch((caught) => error = caught);
  memory.end_failures();
  if (error !== undefined && !(error instanceof InteropError)) throw error;
  console.log(error === undefined ? "through" : (error as InteropError).name);
  if (!await until(() => JSON.stringify(ledger.alive) === JSON.stringify(alive), 5000)) {
    throw new Error(`alive: ${JSON.stringify(ledger.alive)}, before: ${JSON.stringify(alive)}`);
  }
  const left = Array.from(Deno.readDirSync(folder), (entry) => entry.name).filter((name) => name !== "out.mkv");
  if (left.length > 0) throw new Error(`a file is left: ${left}`);
}
