// What ends while a ring over UCX is opened or ended: a context, a ring, a wait.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { DisposedError, host, ledger, NativeCallError } from "../../mod.ts";
import { type Address, NULL } from "../../ffi/address.ts";
import { UCS_INPROGRESS } from "../../ffi/ucx/errors.ts";
import type { UCP } from "../../ffi/ucx/functions.ts";
import { type Conn, UcxContext } from "../../src/ucx/mod.ts";
import { ucp } from "../../src/ucx/library.ts";
import { Messages } from "../../src/ucx/ring/messages.ts";
import { warningsOf } from "../warnings.ts";
import { TRANSPORTS, ucxTest } from "./help.ts";
import {
  create,
  freshPath,
  type HostFrame,
  LARGE,
  open,
  openRings,
  publish,
  SECRET,
  unix,
  until,
  valueOf,
} from "./ring_help.ts";

/** A connection that calls back before each read and each write. */
function watched(conn: Deno.Conn, before: () => void): Conn {
  return {
    read(bytes) {
      before();
      return conn.read(bytes);
    },
    write(bytes) {
      before();
      return conn.write(bytes);
    },
    close: () => conn.close(),
  };
}

ucxTest("ring: open() throws where its context ends, in each of its steps, and leaves nothing", async () => {
  const path = freshPath();
  const { ucx, rings } = openRings(["tcp"]);
  await using _ = ucx;
  await using ring = create(rings, path);
  const alive = ledger.alive;
  const endsAt = async (step: number) => {
    const own = UcxContext.open({ transports: ["tcp"] });
    let left = step;
    const connect = async (path: string) =>
      watched(await unix().connect(path), () => {
        if (left-- === 0) own[Symbol.dispose]();
      });
    const opening = own.rings({ connect }).open<HostFrame>(path, { contexts: [host] });
    if (step < 0) own[Symbol.dispose](); // while it connects
    const error = await opening.then(() => undefined, (error) => error);
    const isOpen = own.resource.isLive;
    own[Symbol.dispose]();
    await until(() => ring.readers === 0, "the reader has gone");
    assert(isOpen || error instanceof DisposedError, `at step ${step}: ${error}`);
    return isOpen;
  };
  await warningsOf(async () => { // the writer turns those away that have ended
    let step = -1;
    while (!await endsAt(step)) step++;
    assert(step >= 3, `there are only ${step} steps`);
  });
  assertEquals(ledger.alive, alive);
});

ucxTest("ring: open() is given up while it connects, and the connection that comes later is closed", async () => {
  using ucx = UcxContext.open({ transports: ["tcp"] });
  const comes = Promise.withResolvers<Conn>();
  const connect = () => comes.promise;
  const late = assertRejects(() => open(ucx.rings({ connect, timeout: 100 }), "nowhere"), Error, "UCS_ERR_TIMED_OUT");
  const stop = new AbortController();
  const contexts = [host];
  const stopped = ucx.rings({ connect }).open("nowhere", { contexts, signal: stop.signal }).catch((error) => error);
  stop.abort("enough");
  assertEquals(await stopped, "enough");
  await late;
  let closed = 0;
  comes.resolve({ read: () => Promise.reject(), write: () => Promise.reject(), close: () => void closed++ });
  await until(() => closed === 2, "both are closed");
});

for (const [ofWriter, ofReader] of [[60_000, 200], [200, 60_000]]) {
  ucxTest(`ring: a writer's timeout of ${ofWriter} ms and a reader's of ${ofReader} ms end no ring`, async () => {
    await using ucx = UcxContext.open({ transports: ["tcp"] });
    const path = freshPath();
    await using ring = create(ucx.rings({ ...unix(), timeout: ofWriter }), path);
    await using reader = await open(ucx.rings({ ...unix(), timeout: ofReader }), path);
    const next = reader.next();
    await new Promise((resolve) => setTimeout(resolve, 1_000)); // five times the shorter one
    await publish(ring, 7);
    using frame = await next;
    assertEquals(valueOf(frame!), 7);
  });
}

ucxTest("ring: create() throws what the system says of an address", () => {
  using ucx = UcxContext.open({ transports: ["tcp"] });
  const rings = ucx.rings({ secret: SECRET });
  const elsewhere = assertThrows(() => create(rings, "192.0.2.1:7000"), NativeCallError); // no machine has it
  assertEquals([elsewhere.fn, elsewhere.codeName], ["listen", "EADDRNOTAVAIL"]);
});

ucxTest("ring: end() ends where the ring is disposed while a reader has not read", async () => {
  const path = freshPath();
  const { ucx, rings } = openRings(["tcp"]);
  await using _ = ucx;
  const ring = create(rings, path);
  await using reader = await open(rings, path);
  await ring.joined();
  await publish(ring, 1);
  const end = ring.end();
  await new Promise((resolve) => setTimeout(resolve, 10));
  ring[Symbol.dispose]();
  await end;
  assert(reader.resource.isLive);
});

ucxTest("ring: next() returns a frame or the end where the writer ends while it is on its way", async () => {
  const { ucx: near, rings: here } = openRings(["tcp"]);
  await using _ = near;
  for (let i = 0; i < 5; i++) {
    const path = freshPath();
    const { ucx, rings } = openRings(["tcp"]);
    const ring = create(rings, path, 3, "wait", LARGE);
    await using reader = await open(here, path);
    await ring.joined();
    await publish(ring, 1);
    await publish(ring, 2);
    const stop = new AbortController();
    const wait = reader.next({ signal: stop.signal });
    await until(() => reader.resource.isLive, "a turn");
    stop.abort("the bytes are on their way");
    const first = await wait.catch(() => undefined); // it may have come whole before
    first?.[Symbol.dispose]();
    ucx[Symbol.dispose](); // its memory has gone
    {
      using frame = await reader.next();
      if (frame !== undefined) assertEquals(valueOf(frame), first === undefined ? 1 : 2);
    }
    assertEquals(await reader.next(), undefined);
  }
});

ucxTest("ring: the end of a context while a frame comes ends next(), which uses its worker no more", async () => {
  const path = freshPath();
  const { ucx: near, rings: here } = openRings(["tcp"]);
  await using _ = near;
  const { ucx, rings } = openRings(["tcp"]);
  await using ring = create(here, path, 3, "wait", LARGE);
  const reader = await open(rings, path);
  await ring.joined();
  const calls = ucp() as { -readonly [name in keyof UCP]: UCP[name] };
  const { ucp_tag_msg_recv_nbx: receive, ucp_request_check_status: status } = calls;
  const { ucp_worker_progress: progress, ucp_worker_destroy: destroy } = calls;
  let request: Address = NULL;
  let [isMoving, late] = [true, 0];
  const destroyed = new Set<bigint>();
  calls.ucp_tag_msg_recv_nbx = (worker, at, count, ...rest) => {
    const made = receive(worker, at, count, ...rest);
    return count > 100_000n ? request = made : made;
  };
  calls.ucp_request_check_status = (of) => isMoving && of === request ? UCS_INPROGRESS : status(of);
  calls.ucp_worker_progress = (worker) => {
    if (destroyed.has(worker)) late++;
    const moves = destroyed.has(worker) ? 0 : progress(worker);
    return isMoving && request !== NULL ? 1 : moves;
  };
  calls.ucp_worker_destroy = (worker) => {
    destroyed.add(worker);
    destroy(worker);
  };
  try {
    const next = assertRejects(() => reader.next(), DisposedError);
    await publish(ring, 1);
    await until(() => request !== NULL, "the frame is on its way");
    isMoving = false;
    ucx[Symbol.dispose]();
    isMoving = true; // for whoever still asks
    await next;
    assertEquals([destroyed.size, late], [1, 0]);
  } finally {
    Object.assign(calls, {
      ...{ ucp_tag_msg_recv_nbx: receive, ucp_request_check_status: status },
      ...{ ucp_worker_progress: progress, ucp_worker_destroy: destroy },
    });
  }
});

for (const reads of [false, true]) {
  const how = reads ? "has read" : "has not read what it said";
  ucxTest(`ring: open() throws ECONNRESET where the writer ends in the handshake, and ${how}`, async () => {
    const path = freshPath();
    const { ucx, rings } = openRings(["tcp"]);
    await using _ = ucx;
    using listener = Deno.listen({ transport: "unix", path });
    const ends = async () => {
      using conn = await listener.accept();
      if (reads) await conn.read(new Uint8Array(65_536));
      else await new Promise((resolve) => setTimeout(resolve, 20)); // what has come is lost, so it is a reset
    };
    const [error] = await Promise.all([assertRejects(() => open(rings, path), NativeCallError), ends()]);
    assertEquals([error.codeName, error.hint?.includes("turned this process away")], ["ECONNRESET", true]);
  });
}

ucxTest("ring: with the end of a reader, what had come and was not read is dropped", async () => {
  const path = freshPath();
  const { ucx, rings } = openRings(["tcp"]);
  await using _ = ucx;
  await using ring = create(rings, path, 64);
  const { next } = Messages.prototype;
  const calls = ucp() as { ucp_tag_probe_nb: UCP["ucp_tag_probe_nb"] };
  const { ucp_tag_probe_nb: probe } = calls;
  let left = 0;
  const reader = await open(rings, path);
  await ring.joined();
  Messages.prototype.next = () => undefined; // no notice is read
  calls.ucp_tag_probe_nb = (...of) => {
    const found = probe(...of);
    if (found !== 0n) left++;
    return found;
  };
  try {
    for (let i = 0; i < 64; i++) await publish(ring, i);
    reader[Symbol.dispose]();
    const end = performance.now() + 30_000;
    // What comes after its end is dropped by the next one's.
    while (left === 0 && performance.now() < end) (await open(rings, path))[Symbol.dispose]();
    assert(left > 0);
  } finally {
    calls.ucp_tag_probe_nb = probe;
    Messages.prototype.next = next;
  }
});

for (const transport of TRANSPORTS) {
  ucxTest(`ring: a frame's end while it is on its way ends the links before, over ${transport}`, async () => {
    const path = freshPath();
    const { ucx, rings } = openRings([transport]);
    await using _ = ucx;
    const alive = ledger.alive;
    const frames = Array.from({ length: 3 }, () => host.allocateFrame(LARGE));
    {
      await using ring = rings.create(path, { frames });
      await using reader = await open(rings, path);
      await ring.joined();
      await publish(ring, 1);
      frames[0][Symbol.dispose](); // UCX may read its bytes until the links have ended
      assertEquals(await reader.next(), undefined);
      await until(() => ring.readers === 0, "the reader has gone");
    }
    assertEquals(ledger.alive, alive);
  });
}
