/** A pipeline over surfaces of a real driver's: pictures of the host's, a stage that writes surfaces, and the host. */
import { assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor, ledger, MapperGraph } from "../../../mod.ts";
import { dmabuf } from "../../../src/dmabuf/mod.ts";
import { pipeline, Sink, Source, Transform } from "../../../src/pipeline/mod.ts";
import { VaapiContext, type VaapiTensor } from "../../../src/vaapi/mod.ts";
import { assertAlive } from "../../alive.ts";
import { pixelsOf, randomFrame } from "../../vaapi/pixels.ts";
import { guestTest } from "../needs.ts";

const NODE = "/dev/dri/renderD128";

guestTest("a stage of a pipeline works on surfaces, which it allocates once", async () => {
  VaapiContext.open({ node: NODE })[Symbol.dispose](); // what drivers open once, and keep
  const { alive } = ledger;
  {
    using va = VaapiContext.open({ node: NODE });
    const [sent, received]: Uint8Array[][][] = [[], []];
    const source = new Source({
      name: "random",
      contexts: [dmabuf],
      async *frames() {
        for (let i = 0; i < 5; i++) {
          const frame = await Promise.resolve(randomFrame("NV12"));
          sent.push(pixelsOf(frame));
          yield frame;
        }
      },
    });
    const surfaces = new Transform<VaapiTensor>({
      name: "surfaces",
      takes: { memory: va, format: "NV12" },
      gives: (info) => info,
      process(input, output) {
        using graph = new MapperGraph([host, dmabuf, va]);
        const options = { copy: "allow" } as const;
        using from = graph.map(input, host, { ...options, access: "read" }) as unknown as Frame<HostTensor>;
        using to = graph.map(output, host, { ...options, access: "write" }) as unknown as Frame<HostTensor>;
        for (const [i, plane] of to.planes.entries()) {
          const [bytes, read] = [plane.bytes({ access: "write" }), from.planes[i].bytes({ access: "read" })];
          const [{ shape: [rows], strides: [stride] }, { strides: [fromStride] }] = [
            plane.layout,
            from.planes[i].layout,
          ];
          const row = plane.layout.byteLength - (rows - 1) * stride;
          for (let y = 0; y < rows; y++) bytes.set(read.subarray(y * fromStride, y * fromStride + row), y * stride);
        }
      },
    });
    const seen = new Sink<HostTensor>({
      name: "seen",
      takes: { memory: host },
      write: (frame) => void received.push(pixelsOf(frame)),
    });
    const whole = pipeline(source, surfaces, seen, { copy: "allow", frames: 2 });
    const plan = await whole.explain();
    console.log(String(plan));
    assertEquals(plan.handOvers[1].gives?.count, 2);
    console.log(String(await whole.run()));
    assertEquals(received, sent);
  }
  await assertAlive(alive, "alive after the test");
}, [NODE]);
