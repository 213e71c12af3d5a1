// Both sides of a ring over UCX in one process: what readers get, and how writers wait for them.

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { type Address, NULL } from "../../ffi/address.ts";
import { UCS_INPROGRESS } from "../../ffi/ucx/errors.ts";
import type { UCP } from "../../ffi/ucx/functions.ts";
import { ArgumentError, DisposedError, host, type HostTensor, imageInfo, ledger } from "../../mod.ts";
import { MessageError } from "../../src/channel/mod.ts";
import { encodedFacts } from "../../src/channel/ring/facts.ts";
import { ucp } from "../../src/ucx/library.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { assertAlive } from "../alive.ts";
import { collect, Level, openFds } from "../gc.ts";
import { warningsOf } from "../warnings.ts";
import { TRANSPORTS, ucxTest } from "./help.ts";
import {
  create,
  freshPath,
  type HostFrame,
  INFO,
  LARGE,
  open,
  openRings,
  publish,
  SECRET,
  until,
  unusedPort,
  valueOf,
} from "./ring_help.ts";

/** As many as still come inside of their notices, one more, and some that UCX moves in parts. */
const LENGTHS = [1, 16_384, 16_385, 300_000] as const;

for (const transport of TRANSPORTS) {
  for (const length of LENGTHS) {
    ucxTest(`ring: two readers see ${length} bytes as they were published, over ${transport}`, async () => {
      const { ucx, rings } = openRings([transport]);
      await using _ = ucx;
      const path = freshPath();
      const frames = Array.from({ length: 2 }, () => host.allocate({ shape: [length], dtype: "u8" }));
      await using ring = rings.create<HostTensor>(path, { frames });
      const open = () => rings.open<HostTensor>(path, { contexts: [host] });
      await using first = await open();
      await using second = await open();
      await until(() => ring.readers === 2, "two readers");
      for (let turn = 1; turn <= 5; turn++) {
        const tensor = await ring.next();
        const sent = tensor.bytes().map((_, i) => turn * 37 + i % 251);
        tensor.bytes().set(sent);
        await ring.publish(tensor);
        for (const reader of [first, second]) {
          using got = (await reader.next())!;
          assertEquals(got.bytes(), sent);
        }
      }
    });
  }

  for (const { ahead, most } of [{ ahead: 1, most: 3 }, { ahead: 2, most: 2 }]) {
    const name = `ring: most releases of 4 frames go ${most} in a message where ${ahead} are published at a time`;
    ucxTest(`${name}, over ${transport}`, async () => {
      const { ucx, rings } = openRings([transport]);
      await using _ = ucx;
      const path = freshPath();
      await using ring = create(rings, path, 4);
      await using reader = await open(rings, path);
      await ring.joined();
      const calls = ucp() as { ucp_tag_send_nbx: UCP["ucp_tag_send_nbx"] };
      const { ucp_tag_send_nbx } = calls;
      const releases: number[] = [];
      calls.ucp_tag_send_nbx = (endpoint, at, count, tag, param) => {
        if (count < 1_000n) releases.push(Number(count) / 24); // the notice of a frame has that frame besides
        return ucp_tag_send_nbx(endpoint, at, count, tag, param);
      };
      try {
        for (let turn = 0; turn < 120; turn += ahead) {
          const values = Array.from({ length: ahead }, (_, i) => turn + i);
          for (const value of values) await publish(ring, value);
          for (const value of values) {
            using frame = (await reader.next())!;
            assertEquals(valueOf(frame), value);
          }
        }
        await ring.flush();
      } finally {
        calls.ucp_tag_send_nbx = ucp_tag_send_nbx;
      }
      assertEquals(releases.reduce((sum, count) => sum + count), 120);
      const times = (together: number) => releases.filter((count) => count === together).length;
      assertEquals([1, 2, 3, 4].toSorted((a, b) => times(b) - times(a))[0], most);
    });
  }

  ucxTest(
    `ring: frames that fill the place of their message wait, as many as there are, over ${transport}`,
    async () => {
      const { ucx, rings } = openRings([transport]);
      await using _ = ucx;
      const path = freshPath();
      const info = imageInfo({ format: "GRAY8", width: 128, height: 128 }); // the most that come inside of their notices
      await using ring = create(rings, path, 12, "wait", info);
      await using reader = await open(rings, path);
      await ring.joined();
      for (let turn = 0; turn < 5; turn++) {
        const values = Array.from({ length: 12 }, (_, i) => turn * 12 + i);
        for (const value of values) {
          const frame = await ring.next();
          frame.planes[0].bytes().fill(value);
          frame.metadata.set("json", { message: "" });
          const room = 20_480 - 24 - 16_384 - encodedFacts(frame)!.length;
          frame.metadata.set("json", { message: "x".repeat(room) });
          await ring.publish(frame);
        }
        await new Promise((resolve) => setTimeout(resolve, 20)); // all of them come, and are not taken
        for (const value of values) {
          using frame = (await reader.next())!;
          assertEquals(valueOf(frame), value);
        }
      }
    },
  );

  ucxTest(`ring: three readers see each frame as it was published, over ${transport}`, async () => {
    const alive = ledger.alive;
    {
      const { ucx: _ucx, rings } = openRings([transport]);
      await using ucx = _ucx;
      const path = freshPath();
      await using ring = create(rings, path, 2);
      const readers = await Promise.all(Array.from({ length: 3 }, () => open(rings, path)));
      await until(() => ring.readers === 3, "three readers");
      const seen = readers.map(async (reader) => {
        const values: number[] = [];
        for await (const frame of reader) values.push(valueOf(frame));
        return values;
      });
      const all = Array.from({ length: 30 }, (_, i) => i + 1);
      for (const value of all) await publish(ring, value);
      await ring.flush();
      await ring[Symbol.asyncDispose]();
      assertEquals(await Promise.all(seen), [all, all, all]);
      for (const reader of readers) await reader[Symbol.asyncDispose]();
      assertEquals(ucx.resource.isLive, true);
    }
    await assertAlive(alive, "after the rings");
  });
}

ucxTest("ring: a frame's times, metadata and access come along", async () => {
  const { ucx: _ucx, rings } = openRings(["tcp"]);
  await using _ = _ucx;
  const path = freshPath();
  await using ring = create(rings, path);
  await using reader = await open(rings, path);
  await ring.joined();
  const frame = await ring.next({ media: { duration: 40n } });
  frame.metadata.add("detections", { boxes: Array.from({ length: 4_000 }, (_, i) => i), name: "cat" });
  for (const plane of frame.planes) plane.bytes().fill(9);
  await ring.publish(frame, { timestamp: 123n });
  using got = (await reader.next())!;
  assertEquals([valueOf(got), reader.sequence, got.access, got.info.media?.duration], [9, 1, "read", 40n]);
  assertEquals(got.metadata.get("timestamp")?.pts, 123n);
  assertEquals((got.metadata.get("detections") as { boxes: number[] }).boxes.length, 4_000);
  assertEquals(reader.credentials, undefined);
});

ucxTest("ring: a writer waits for its slowest reader, and a signal ends the wait", async () => {
  const { ucx: _ucx, rings } = openRings(["tcp"]);
  await using _ = _ucx;
  const path = freshPath();
  await using ring = create(rings, path, 2);
  await using reader = await open(rings, path);
  await ring.joined();
  await publish(ring, 1);
  await publish(ring, 2);
  const reason = new Error("enough");
  const stop = new AbortController();
  const wait = ring.next({ signal: stop.signal });
  stop.abort(reason);
  assertEquals(await assertRejects(() => wait), reason);
  (await reader.next())![Symbol.dispose]();
  await publish(ring, 3); // the first one's memory
  for (const expected of [2, 3]) {
    using frame = (await reader.next())!;
    assertEquals(valueOf(frame), expected);
  }
});

for (const [size, info] of Object.entries({ small: INFO, large: LARGE })) {
  ucxTest(`ring: a reader whose wait for a ${size} frame is given up gets it by its next one`, async () => {
    const { ucx: _ucx, rings } = openRings(["tcp"]);
    await using _ = _ucx;
    const path = freshPath();
    await using ring = create(rings, path, 2, "wait", info);
    await using reader = await open(rings, path);
    await ring.joined();
    for (let i = 1; i <= 40; i++) {
      const stop = new AbortController();
      const wait = reader.next({ signal: stop.signal }).then((frame) => frame![Symbol.dispose](), () => "given up");
      await publish(ring, i);
      if (i % 3 === 0) await new Promise((resolve) => setTimeout(resolve, i % 4));
      stop.abort();
      if (await wait !== "given up") continue;
      using frame = (await reader.next())!;
      assertEquals(valueOf(frame), i);
    }
    await ring.flush();
  });
}

ucxTest("ring: the next frame's bytes come while the program has the one before", async () => {
  const { ucx, rings } = openRings(["tcp"]);
  await using _ = ucx;
  const path = freshPath();
  await using ring = create(rings, path, 3, "wait", LARGE);
  await using reader = await open(rings, path);
  await ring.joined();
  const calls = ucp() as { ucp_tag_msg_recv_nbx: UCP["ucp_tag_msg_recv_nbx"] };
  const { ucp_tag_msg_recv_nbx } = calls;
  let begun = 0;
  calls.ucp_tag_msg_recv_nbx = (...of) => {
    if (of[2] >= 100_000n) begun++;
    return ucp_tag_msg_recv_nbx(...of);
  };
  try {
    for (const value of [1, 2, 3]) await publish(ring, value);
    using first = (await reader.next())!;
    await until(() => begun === 2, "the second begins to come");
    for (const expected of [2, 3]) {
      using frame = (await reader.next())!;
      assertEquals([valueOf(first), valueOf(frame)], [1, expected]);
    }
    assertEquals(begun, 3);
  } finally {
    calls.ucp_tag_msg_recv_nbx = ucp_tag_msg_recv_nbx;
  }
});

ucxTest("ring: a frame whose wait was given up keeps its place, whichever is disposed meanwhile", async () => {
  const { ucx, rings } = openRings(["tcp"]);
  await using _ = ucx;
  const path = freshPath();
  await using ring = create(rings, path, 3, "wait", LARGE);
  await using reader = await open(rings, path);
  await ring.joined();
  await publish(ring, 1);
  const first = (await reader.next())!;
  const calls = ucp() as { ucp_tag_send_nbx: UCP["ucp_tag_send_nbx"] };
  const { ucp_tag_send_nbx } = calls;
  let send: (() => Address) | undefined;
  calls.ucp_tag_send_nbx = (...of) => {
    if (of[2] < 100_000n) return ucp_tag_send_nbx(...of);
    send = () => ucp_tag_send_nbx(...of);
    return NULL;
  };
  try {
    const wait = reader.next({ signal: AbortSignal.timeout(100) }); // its notice has come by then, as a rule
    await publish(ring, 2);
    await assertRejects(() => wait, DOMException);
  } finally {
    calls.ucp_tag_send_nbx = ucp_tag_send_nbx;
  }
  first[Symbol.dispose]();
  const request = send!();
  using second = (await reader.next())!;
  assertEquals(valueOf(second), 2);
  await until(() => ucp().ucp_request_check_status(request) !== UCS_INPROGRESS, "it is sent");
  ucp().ucp_request_free(request);
});

for (const whenFull of ["wait", "drop-oldest"] as const) {
  ucxTest(`ring: with ${whenFull}, a reader that keeps all frames but one gets each that follows`, async () => {
    const { ucx, rings } = openRings(["tcp"]);
    await using _ = ucx;
    const path = freshPath();
    await using ring = create(rings, path, 3, whenFull);
    await using reader = await open(rings, path);
    await ring.joined();
    const signal = AbortSignal.timeout(30_000);
    using kept = new DisposableStack();
    const frames: HostFrame[] = [];
    for (let i = 1; i <= 8; i++) {
      await publish(ring, i);
      const frame = (await reader.next({ signal }))!;
      if (i <= 2) frames.push(kept.use(frame));
      assertEquals(valueOf(frame), i);
      if (i > 2) frame[Symbol.dispose]();
    }
    assertEquals(frames.map(valueOf), [1, 2]);
  });
}

ucxTest("ring: with drop-oldest a slow reader misses frames, and the writer does not wait", async () => {
  const { ucx: _ucx, rings } = openRings(["tcp"]);
  await using _ = _ucx;
  const path = freshPath();
  await using ring = create(rings, path, 3, "drop-oldest");
  await using reader = await open(rings, path);
  await ring.joined();
  for (let i = 1; i <= 10; i++) await publish(ring, i);
  {
    using first = (await reader.next())!;
    assertEquals(valueOf(first), 1);
  }
  using second = (await reader.next())!;
  assert(valueOf(second) >= 9, `${valueOf(second)}`);
  assertEquals(reader.missed, valueOf(second) - 2);
});

ucxTest("ring: streams hand frames on, and end with the ring", async () => {
  const { ucx: _ucx, rings } = openRings(["tcp"]);
  await using _ = _ucx;
  const path = freshPath();
  await using ring = create(rings, path, 3);
  await using reader = await open(rings, path);
  await ring.joined();
  const seen: number[] = [];
  const reading = reader.readable.pipeTo(
    new WritableStream<HostFrame>({
      write(frame) {
        seen.push(valueOf(frame));
        frame[Symbol.dispose]();
      },
    }),
  );
  const writer = ring.writable.getWriter();
  for (let i = 1; i <= 5; i++) {
    const frame = await ring.next();
    for (const plane of frame.planes) plane.bytes().fill(i);
    await writer.write(frame);
  }
  await writer.close();
  await ring[Symbol.asyncDispose]();
  await reading;
  assertEquals(seen, [1, 2, 3, 4, 5]);
});

ucxTest("ring: a ring of tensors, and frames whose rows have gaps", async () => {
  const { ucx: _ucx, rings } = openRings(["tcp"]);
  await using _ = _ucx;
  for (
    const frames of [
      Array.from({ length: 2 }, () => host.allocate({ shape: [5, 3], dtype: "f32", rowAlign: 64 })),
      Array.from(
        { length: 2 },
        () => host.allocateFrame(imageInfo({ format: "RGB", width: 5, height: 7 }), { rowAlign: 64 }),
      ),
    ]
  ) {
    const path = freshPath();
    await using ring = rings.create(path, { frames: frames as HostFrame[] });
    await using reader = await open(rings, path);
    await ring.joined();
    const frame = await ring.next();
    const [plane] = frame.planes ?? [frame];
    plane.bytes().fill(3);
    await ring.publish(frame);
    using got = (await reader.next())!;
    const [there] = got.planes ?? [got];
    assertEquals([there.layout.strides, there.bytes()[0]], [plane.layout.strides, 3]);
  }
});

ucxTest("ring: frames that lie in several ways make no ring", async () => {
  const { ucx, rings } = openRings(["tcp"]);
  await using _ = ucx;
  const info = imageInfo({ format: "RGB", width: 5, height: 7 });
  const frames = [host.allocateFrame(info), host.allocateFrame(info, { rowAlign: 64 })];
  assertThrows(() => rings.create(freshPath(), { frames }), ArgumentError, "frames[1]: its bytes lie in another way");
  for (const frame of frames) frame[Symbol.dispose]();
});

ucxTest("ring: a secret admits readers that know it, and no others", async () => {
  await using ucx = UcxContext.open({ transports: ["tcp"] });
  const port = unusedPort();
  await using ring = create(ucx.rings({ secret: SECRET }), port, 2);
  const other = ucx.rings({ secret: new Uint8Array(32), timeout: 2_000 });
  await assertRejects(() => open(other, port), MessageError, "secret: the writer turned this reader away");
  await using reader = await open(ucx.rings({ secret: new TextEncoder().encode(SECRET) }), `127.0.0.1:${port}`);
  await ring.joined();
  await publish(ring, 4);
  using frame = (await reader.next())!;
  assertEquals([valueOf(frame), ring.readers], [4, 1]);
});

ucxTest("ring: a reader that is forgotten ends, but not while a view of its frame is kept", async () => {
  const { ucx, rings } = openRings(["tcp"]);
  await using _ = ucx;
  const path = freshPath();
  await using ring = create(rings, path, 2);
  const warnings = await warningsOf(async () => {
    await (async () => {
      const view = await (async () => {
        const reader = await open(rings, path);
        await ring.joined();
        await publish(ring, 7);
        return (await reader.next())!.planes[0].bytes();
      })();
      await collect();
      await collect();
      assertEquals([view[0], ring.readers], [7, 1]);
    })();
    for (let tries = 0; ring.readers > 0 && tries < 20; tries++) await collect(1);
  });
  assertEquals(ring.readers, 0);
  assertMatch(warnings.join(), /ring at .* was never disposed/);
});

ucxTest("ring: the end of a context is the end of its rings", async () => {
  const { ucx, rings } = openRings(["tcp"]);
  const path = freshPath();
  const ring = create(rings, path, 2);
  const reader = await open(rings, path);
  const wait = reader.next();
  const rejected = assertRejects(() => wait, DisposedError);
  await ring.joined();
  await ucx[Symbol.asyncDispose]();
  await rejected;
  await assertRejects(() => ring.next(), DisposedError);
  await assertRejects(() => reader.next(), DisposedError);
  assertThrows(() => create(rings, freshPath(), 2), DisposedError);
});

ucxTest("ring: no frames make no ring, and an address without a listener is refused", async () => {
  const { ucx: _ucx, rings } = openRings(["tcp"]);
  await using _ = _ucx;
  assertThrows(() => rings.create(freshPath(), { frames: [] }), ArgumentError, "expected 2 to 1024 frames");
  await assertRejects(() => open(rings, freshPath()), Error, "ENOENT");
});

/** Rings and readers, one after the other. By hand: SAMEPAGE_CONNECTS=10000. */
const CONNECTS = Number(Deno.env.get("SAMEPAGE_CONNECTS") ?? 60);

ucxTest(`ring: ${CONNECTS} readers, one after the other, leave nothing`, async () => {
  const { ucx: _ucx, rings } = openRings(["tcp"]);
  await using _ = _ucx;
  const path = freshPath();
  await using ring = create(rings, path, 2);
  const turn = async (i: number) => {
    await using reader = await open(rings, path);
    await ring.joined();
    await publish(ring, i % 256);
    using frame = (await reader.next())!;
    assertEquals(valueOf(frame), i % 256);
  };
  const turns = async (count: number) => {
    for (let i = 0; i < count; i++) await turn(i);
    await until(() => ring.readers === 0, "no reader");
  };
  await turns(10);
  const alive = ledger.alive;
  const level = new Level(openFds);
  await turns(CONNECTS);
  await level.assertBack("open fds");
  assertEquals(ledger.alive, alive);
});
