/** Pipelines over surfaces, on the driver of the tests: no GPU is needed. */
import { assertEquals, assertRejects } from "@std/assert";
import { type Frame, host, type HostTensor, MapperGraph } from "../../mod.ts";
import { pipeline, Sink, Source, StageError, Transform } from "../../src/pipeline/mod.ts";
import type { VaapiContext, VaapiTensor } from "../../src/vaapi/mod.ts";
import { driverTest } from "./help.ts";
import { picture, pixelsOf, randomFrame } from "./pixels.ts";

/** Random pictures, which it keeps. */
function random(count: number, sent: Uint8Array[][]): Source {
  return new Source({
    name: "random",
    async *frames() {
      for (let i = 0; i < count; i++) {
        const frame = await Promise.resolve(randomFrame("NV12"));
        sent.push(pixelsOf(frame));
        yield frame;
      }
    },
  });
}

const seen = (received: Uint8Array[][]) =>
  new Sink<HostTensor>({
    name: "seen",
    takes: { memory: host },
    write: (frame) => void received.push(pixelsOf(frame)),
  });

const copied = (va: VaapiContext) =>
  new Transform<VaapiTensor>({
    name: "surfaces",
    takes: { memory: va, format: "NV12" },
    gives: (info) => info,
    process(input, output) {
      using graph = new MapperGraph([host, va]);
      const options = { copy: "allow" } as const;
      using from = graph.map(input, host, { ...options, access: "read" }) as unknown as Frame<HostTensor>;
      using to = graph.map(output, host, { ...options, access: "write" }) as unknown as Frame<HostTensor>;
      for (const [i, plane] of to.planes.entries()) {
        plane.bytes({ access: "write" }).set(from.planes[i].bytes({ access: "read" }));
      }
    },
  });

driverTest("a stage of a pipeline works on surfaces, which it allocates once", [], async ({ va }) => {
  const [sent, received]: Uint8Array[][][] = [[], []];
  await using whole = pipeline(random(6, sent), copied(va), seen(received), { copy: "allow", frames: 3 });
  const { handOvers: [, surfaces], bytesMoved } = await whole.explain();
  assertEquals([surfaces.gives?.count, surfaces.gives?.memory.startsWith("vaapi")], [3, true]);
  const figures = await whole.run();
  assertEquals(received, sent);
  using frame = host.allocateFrame(picture("NV12"));
  const { byteLength } = frame;
  assertEquals([bytesMoved, figures.bytesMoved], [byteLength, 6 * byteLength]); // the way back is in place
});

driverTest("a surface that a stage cannot reach without a copy is refused, by the stage's name", [], async ({ va }) => {
  const error = await assertRejects(() => pipeline(random(2, []), copied(va), seen([])).run(), StageError, "copy");
  assertEquals(error.stage, "surfaces");
});
