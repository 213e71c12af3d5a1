// A pipeline cut in two, whose halves could be on two machines.

import { assertEquals } from "@std/assert";
import type { HostTensor } from "../../mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { copy, fromRing, pipeline, Sink, toRing } from "../../src/pipeline/mod.ts";
import { numbered } from "../pipeline/help.ts";
import { ucxTest } from "./help.ts";
import { freshPath, unix } from "./ring_help.ts";

for (const keeps of [false, true]) {
  ucxTest(`toRing() and fromRing() run over UCX${keeps ? ", behind which a sink keeps two frames" : ""}`, async () => {
    await using ucx = UcxContext.open({ transports: ["tcp"] });
    const rings = ucx.rings(unix());
    const path = freshPath();
    const seen: number[] = [];
    const kept: Disposable[] = [];
    const sink = new Sink({
      name: "sink",
      write(frame) {
        seen.push((frame.planes[0] as HostTensor).bytes()[0]);
        if (keeps && kept.length < 2) kept.push(frame.borrow("read"));
      },
      close() {
        for (const frame of kept) frame[Symbol.dispose]();
      },
    });
    const [sent, got] = await Promise.all([
      pipeline(numbered(30), copy(), toRing(rings, path, { join: true })).run(),
      pipeline(fromRing(rings, path, { wait: true }), sink).run(),
    ]);
    assertEquals(seen.length, 30);
    assertEquals([sent.frames, got.frames], [30, 30]);
  });
}
