/**
 * One side of a ring, in tests: `ring_side.ts writer|reader TRANSPORTS DEVICE ADDRESS TIMEOUT SIZE WHEN_FULL`. It does what each
 * line of its input says, and prints what came of it: a value, or the name of a failure.
 *
 * @module
 */
import { NativeCallError } from "../../mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import type { WhenFull } from "../../src/channel/mod.ts";
import { create, type HostFrame, INFO, LARGE, open, publish, SECRET, unix, valueOf } from "./ring_help.ts";

const [side, transports, device, address, timeout, size, whenFull = "wait"] = Deno.args;
const ucx = UcxContext.open({ transports: transports.split(","), devices: [device] });
const how = address.startsWith("/") ? unix() : { secret: SECRET };
const rings = ucx.rings({ ...how, timeout: Number(timeout) });

async function* lines(): AsyncGenerator<string> {
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const all = (rest + text).split("\n");
    rest = all.pop()!;
    yield* all;
  }
}

/** With `"drop-oldest"`, the writer has one to fill beside those that its readers have not read. */
const FRAMES = whenFull === "wait" ? 2 : 3;

type Commands = Readonly<Record<string, (argument: string) => Promise<unknown>>>;

async function writer(): Promise<Commands> {
  const ring = create(rings, address, FRAMES, whenFull as WhenFull, size === "large" ? LARGE : INFO);
  return await Promise.resolve({
    readers: () => Promise.resolve(ring.readers),
    publish: (value) => publish(ring, Number(value)),
    room: async () => (await ring.next({ signal: AbortSignal.timeout(200) }))[Symbol.dispose](),
    flush: () => ring.flush({ signal: AbortSignal.timeout(30_000) }).then(() => "flushed"),
  });
}

async function reader(): Promise<Commands> {
  const ring = await open(rings, address);
  let frame: HostFrame | undefined;
  return {
    next: async () => (frame = await ring.next()) === undefined ? "the end" : valueOf(frame),
    missed: () => Promise.resolve(ring.missed),
    release: () => Promise.resolve(frame![Symbol.dispose]()).then(() => "released"),
  };
}

const commands = await (side === "writer" ? writer() : reader());
console.log("ready");
for await (const line of lines()) {
  const [name, argument] = line.split(" ");
  try {
    console.log(`${await commands[name](argument)}`);
  } catch (error) {
    console.log(error instanceof NativeCallError ? error.codeName : (error as Error).name);
  }
}
Deno.exit(0); // what a failure left behind is not what is tested
