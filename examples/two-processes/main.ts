/**
 * A pipeline that is cut in two: one process paints frames, another finds out what they show, in the same memory. The first
 * reader is killed in the middle; the next one goes on, and the painter has lost nothing.
 *
 * Run it as `deno run -A examples/two-processes/main.ts [FRAMES]`.
 *
 * @module
 */
import { host, type HostTensor, imageInfo, ledger } from "@samepage/interop";
import { FrameRing } from "@samepage/interop/channel";
import { fromRing, pipeline, Sink, Source, toRing, Transform } from "@samepage/interop/pipeline";
import { print } from "../edges/report.ts";

const [first = "120", path] = Deno.args;
const INFO = imageInfo({ format: "GRAY8", width: 640, height: 360 });
const FATAL = 40;

if (path !== undefined) await read(path, first === "dies");
else await write(Number(first));

/** The process that paints, and starts the others. */
async function write(count: number): Promise<void> {
  const alive = JSON.stringify(ledger.alive);
  const folder = await Deno.makeTempDir();
  const start = (how: string) =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", new URL(import.meta.url).pathname, how, `${folder}/ring`],
      stdin: "null",
    }).spawn();
  const empty = new Source({
    name: "empty",
    async *frames() {
      for (let i = 0; i < count; i++) yield await Promise.resolve(host.allocateFrame(INFO));
    },
  });
  let painted = 0;
  const paint = new Transform<HostTensor>({
    ...{ name: "paint", takes: { memory: host }, gives: () => INFO },
    process: async (_, { planes: [plane] }) => {
      plane.bytes({ access: "write" }).fill(++painted % 256);
      if (painted === FATAL + 1) {
        await reader.status; // it is dead, and gave back what it had by that
        reader = start("lives");
      }
    },
  });
  let reader = start("dies");
  const figures = await pipeline(empty, paint, toRing(FrameRing, `${folder}/ring`, { join: true })).run();
  await reader.status;
  await Deno.remove(folder, { recursive: true });
  print("painted", `${figures.frames} frames, ${figures.bytesMoved} bytes copied`);
  const left = JSON.stringify(ledger.alive);
  print("left", left === alive ? "nothing: every native object was given back" : left);
  if (left !== alive || figures.frames !== count) Deno.exitCode = 1;
}

/** A process that reads what is painted. */
async function read(path: string, dies: boolean): Promise<void> {
  let [seen, wrong] = [0, 0];
  const look = new Sink<HostTensor>({
    ...{ name: "look", takes: { memory: host } },
    write: ({ planes: [plane] }) => {
      const bytes = plane.bytes({ access: "read" });
      if (bytes.some((value) => value !== bytes[0])) wrong++;
      if (++seen !== FATAL || !dies) return;
      print("reader", `${seen} frames, ${wrong} torn; it dies`);
      Deno.kill(Deno.pid, "SIGKILL");
    },
  });
  const { bytesMoved } = await pipeline(fromRing(FrameRing, path, { wait: true }), look).run();
  print("reader", `${seen} frames, ${wrong} torn, ${bytesMoved} bytes copied`);
}
