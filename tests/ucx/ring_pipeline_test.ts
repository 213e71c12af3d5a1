// A pipeline cut in two, whose halves could be on two machines.

import { assert, assertEquals, assertRejects } from "@std/assert";
import type { HostTensor } from "../../mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { copy, fromRing, pipeline, Sink, toRing } from "../../src/pipeline/mod.ts";
import { numbered } from "../pipeline/help.ts";
import { ucxTest } from "./help.ts";
import { Child } from "./child.ts";
import { create, freshPath, openRings, publish, unix } from "./ring_help.ts";

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

ucxTest("fromRing({ reconnect }) goes on with the next writer once nothing is heard of the last one", async () => {
  let path = freshPath();
  await using silent = new Child("ring_side.ts", ["writer", "tcp", "lo", path, "10000", "small"]);
  assertEquals(await silent.line(), "ready");
  const connect = () => Deno.connect({ transport: "unix", path });
  const { ucx, rings } = openRings(["tcp"]);
  await using _ = ucx;
  const seen: number[] = [];
  const stop = new AbortController();
  const sink = new Sink({
    name: "sink",
    write: ({ planes: [plane] }) => void seen.push((plane as HostTensor).bytes()[0]),
  });
  const source = fromRing(ucx.rings({ connect, timeout: 300 }), path, { reconnect: true });
  const reading = pipeline(source, sink, { signal: stop.signal }).run();
  const ended = assertRejects(() => reading, Error, "enough");
  const untilSeen = async (value: number, publishOne: () => Promise<unknown>) => {
    for (const end = performance.now() + 30_000; !seen.includes(value) && performance.now() < end;) {
      await publishOne();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert(seen.includes(value), `never: ${value}`);
  };
  // The reader waits for 300 ms, in which no sign of life need come, and joins again: it may be away for a moment.
  await untilSeen(1, () => silent.ask("publish 1"));
  path = freshPath();
  await using next = create(rings, path);
  silent.signal("SIGSTOP"); // its machine may as well have lost its power
  try {
    await untilSeen(2, () => publish(next, 2));
  } finally {
    silent.signal("SIGCONT");
    stop.abort(new Error("enough"));
  }
  await ended;
  assertEquals([...new Set(seen)], [1, 2]);
});
