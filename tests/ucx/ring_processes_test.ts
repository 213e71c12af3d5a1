// Rings between processes, one of which dies, hangs, or cannot be reached for a while.

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type Address, NULL } from "../../ffi/address.ts";
import { UCS_INPROGRESS } from "../../ffi/ucx/errors.ts";
import type { UCP } from "../../ffi/ucx/functions.ts";
import { ledger, NativeCallError } from "../../mod.ts";
import { sleepSync } from "../../src/core/pace.ts";
import { ucp } from "../../src/ucx/library.ts";
import { assertAlive } from "../alive.ts";
import { Child } from "./child.ts";
import { TRANSPORTS, ucxTest } from "./help.ts";
import { create, freshPath, INFO, LARGE, open, openRings, publish, until, valueOf } from "./ring_help.ts";

const side = (name: string, transport: string, path: string, timeout: number, size = "small") =>
  new Child("ring_side.ts", [name, transport, "lo", path, `${timeout}`, size]);

const SIZES = { small: INFO, large: LARGE };

for (const transport of TRANSPORTS) {
  ucxTest(`ring: another process gets each frame over ${transport}`, async () => {
    const path = freshPath();
    const { ucx, rings } = openRings([transport]);
    await using _ = ucx;
    await using ring = create(rings, path, 2);
    await using reader = side("reader", transport, path, 10_000);
    assertEquals(await reader.line(), "ready");
    await ring.joined();
    for (let i = 1; i <= 20; i++) {
      await publish(ring, i);
      assertEquals([await reader.ask("next"), await reader.ask("release")], [`${i}`, "released"]);
    }
  });

  for (const [size, info] of Object.entries(SIZES)) {
    ucxTest(`ring: a reader that is killed gives its ${size} frames back, over ${transport}`, async () => {
      const path = freshPath();
      const { ucx, rings } = openRings([transport]);
      await using _ = ucx;
      await using ring = create(rings, path, 2, "wait", info);
      await using reader = side("reader", transport, path, 10_000);
      assertEquals(await reader.line(), "ready");
      await ring.joined();
      await publish(ring, 1);
      assertEquals(await reader.ask("next"), "1"); // and it keeps it
      await publish(ring, 2);
      reader.signal("SIGKILL");
      for (let i = 3; i <= 6; i++) await publish(ring, i);
      await ring.flush({ signal: AbortSignal.timeout(30_000) });
      assertEquals(ring.readers, 0);
    });
  }

  ucxTest(`ring: a reader that hangs is given up after the timeout, over ${transport}`, async () => {
    const path = freshPath();
    const { ucx, rings } = openRings([transport], { timeout: 500 });
    await using _ = ucx;
    await using ring = create(rings, path, 2, "wait", LARGE);
    await using reader = side("reader", transport, path, 500);
    assertEquals(await reader.line(), "ready");
    await ring.joined();
    await publish(ring, 1);
    assertEquals(await reader.ask("next"), "1");
    reader.signal("SIGSTOP");
    for (let i = 2; i <= 6; i++) await publish(ring, i);
    await ring.flush({ signal: AbortSignal.timeout(30_000) });
    assertEquals(ring.readers, 0);
    reader.signal("SIGCONT"); // what it gets now would be other frames' bytes
    assertMatch(await reader.ask("next"), /^(UCS_ERR_\w+|the end)$/);
  });

  for (const size of Object.keys(SIZES)) {
    ucxTest(
      `ring: a writer of ${size} frames that is killed is the end for its readers, over ${transport}`,
      async () => {
        const path = freshPath();
        await using writer = side("writer", transport, path, 10_000, size);
        assertEquals(await writer.line(), "ready");
        const { ucx, rings } = openRings([transport]);
        await using _ = ucx;
        await using reader = await open(rings, path);
        while (await writer.ask("readers") !== "1");
        assertEquals(await writer.ask("publish 7"), "1");
        using frame = (await reader.next())!;
        const end = reader.next();
        writer.signal("SIGKILL");
        assertEquals(await end, undefined);
        assertEquals(valueOf(frame), 7); // the reader has the frame, though its writer has ended
      },
    );
  }

  ucxTest(`ring: a writer that hangs is given up by its readers, over ${transport}`, async () => {
    const path = freshPath();
    await using writer = side("writer", transport, path, 500);
    assertEquals(await writer.line(), "ready");
    const { ucx, rings } = openRings([transport], { timeout: 500 });
    await using _ = ucx;
    await using reader = await open(rings, path);
    while (await writer.ask("readers") !== "1");
    writer.signal("SIGSTOP");
    const error = await assertRejects(() => reader.next(), NativeCallError);
    assertEquals([error.api, error.codeName], ["ucx", "UCS_ERR_TIMED_OUT"]);
    await until(() => !reader.resource.isLive, "its end");
    writer.signal("SIGCONT");
  });
}

/** Has a reader end whose frame is on its way from a writer that hangs. `onEnd` is given the frame's request. */
async function endMidFrame(transport: string, onEnd: (request: Address) => void): Promise<void> {
  const path = freshPath();
  await using writer = side("writer", transport, path, 10_000, "large");
  assertEquals(await writer.line(), "ready");
  const { ucx, rings } = openRings([transport]);
  await using _ = ucx;
  const reader = await open(rings, path);
  while (await writer.ask("readers") !== "1");
  assertEquals(await writer.ask("publish 7"), "1");
  let request: Address = NULL;
  const calls = ucp() as { ucp_tag_msg_recv_nbx: UCP["ucp_tag_msg_recv_nbx"] };
  const { ucp_tag_msg_recv_nbx: receive } = calls;
  const begun = new AbortController();
  calls.ucp_tag_msg_recv_nbx = (worker, at, count, ...rest) => {
    const isFrame = count > 100_000n;
    if (isFrame) writer.signal("SIGSTOP");
    if (isFrame) sleepSync(50); // until it stands still
    const made = receive(worker, at, count, ...rest);
    if (isFrame) request = made;
    if (isFrame) begun.abort("the frame is on its way");
    return made;
  };
  try {
    assertEquals(await reader.next({ signal: begun.signal }).catch((reason) => reason), "the frame is on its way");
    assertEquals(ucp().ucp_request_check_status(request), UCS_INPROGRESS);
    onEnd(request);
    reader[Symbol.dispose]();
  } finally {
    calls.ucp_tag_msg_recv_nbx = receive;
    writer.signal("SIGCONT");
  }
  assertEquals(await writer.ask("flush"), "flushed"); // it goes on
}

for (const transport of TRANSPORTS) {
  ucxTest(`ring: a reader that ends in the middle of a frame gives all memory back, over ${transport}`, async () => {
    const { alive } = ledger;
    await endMidFrame(transport, () => {});
    await assertAlive(alive, "after its end");
  });
}

ucxTest("ring: a reader that ends in the middle of a frame frees no memory that UCX may write to", async () => {
  const calls = ucp() as { -readonly [name in keyof UCP]: UCP[name] };
  const { ucp_request_check_status: status, ucp_mem_unmap: unmap } = calls;
  let left = 20;
  let early = 0;
  try {
    await endMidFrame("tcp", (request) => {
      calls.ucp_request_check_status = (of) => of === request && left-- > 0 ? UCS_INPROGRESS : status(of);
      calls.ucp_mem_unmap = (...of) => {
        if (left > 0) early++;
        return unmap(...of);
      };
    });
  } finally {
    Object.assign(calls, { ucp_request_check_status: status, ucp_mem_unmap: unmap });
  }
  assertEquals([left < 0, early], [true, 0]);
});

ucxTest("ring: a reader of a frame that UCX never ends keeps its memory until the worker's end", async () => {
  const calls = ucp() as { -readonly [name in keyof UCP]: UCP[name] };
  const { ucp_request_check_status: status, ucp_mem_unmap: unmap, ucp_worker_destroy: destroy } = calls;
  const { alive } = ledger;
  const log: string[] = [];
  try {
    await endMidFrame("tcp", (request) => {
      // As for a message that comes in pieces, where its sender stands still before the last one.
      calls.ucp_request_check_status = (of) => of === request ? UCS_INPROGRESS : status(of);
      calls.ucp_mem_unmap = (...of) => (log.push("unmap"), unmap(...of));
      calls.ucp_worker_destroy = (...of) => (log.push("destroy"), destroy(...of));
    });
  } finally {
    Object.assign(calls, { ucp_request_check_status: status, ucp_mem_unmap: unmap, ucp_worker_destroy: destroy });
  }
  assertEquals(log, ["destroy", "unmap", "unmap"]);
  await assertAlive(alive, "after its end");
});
