// A long pipeline takes no more memory than a short one.
import { assert } from "@std/assert";
import { host, type HostTensor } from "../../mod.ts";
import { copy, crop, Flow, type Piece, pipeline, Sink, tee } from "../../src/pipeline/mod.ts";
import { gc } from "../gc.ts";
import { doubling, numbered, test } from "./help.ts";

const COUNT = 4000;

const pass = () =>
  new Flow({
    name: "pass",
    async *flow(frames) {
      for await (const frame of frames) yield frame;
    },
  });

const other = new Sink({ name: "other", write: () => {} });

const STAGES: Readonly<Record<string, (end: Sink<HostTensor>) => readonly Piece[]>> = {
  "a flow": (end) => [pass(), end],
  "crop()": (end) => [crop({ x: 0, y: 0, width: 4, height: 4 }), end],
  "tee()": (end) => [tee([copy(), end], [crop({ x: 0, y: 0, width: 4, height: 4 }), other])],
};

for (const [name, stages] of Object.entries(STAGES)) {
  test(`the heap is flat over ${COUNT} frames through ${name}`, async () => {
    let [count, first, last] = [0, 0, 0];
    const end = new Sink<HostTensor>({
      name: "end",
      takes: { memory: host },
      write: () => {
        if (++count !== COUNT / 4 && count !== COUNT) return;
        gc(); // without a turn of the event loop: a pipeline may be too busy for one
        [first, last] = [first || Deno.memoryUsage().heapUsed, Deno.memoryUsage().heapUsed];
      },
    });
    await pipeline(numbered(COUNT), doubling(), ...stages(end)).run();
    const grown = (last - first) / 2 ** 20;
    assert(grown < 2, `${grown.toFixed(1)} MiB more after ${COUNT} frames than after ${COUNT / 4}`);
  });
}
