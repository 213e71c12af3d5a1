// Both sides in one process: what a share and a connection do, hold and give back.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ArgumentError, DisposedError, host, ledger, MapperGraph, NativeCallError } from "../../mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { Level, openFds } from "../gc.ts";
import { HERE, open as openDevice, SOURCE } from "../opencl/help.ts";
import { TRANSPORTS, ucxTest } from "./help.ts";
import { SECRET, unusedPort } from "./ring_help.ts";

/** What stays of a context that has given up a process which hangs. */
const STAYS = { "ucx.context": 1, "ucx.worker": 1 };

const BYTES = { shape: [100_000], dtype: "u8" } as const;

for (const transport of TRANSPORTS) {
  ucxTest(`a share and a connection leave nothing behind over ${transport}`, async () => {
    const before = ledger.alive;
    {
      await using ucx = UcxContext.open({ transports: [transport] });
      await using there = host.allocate(BYTES);
      await using share = ucx.share([there], { access: "read-write" });
      await using remote = ucx.connect(share.ticket);
      await using here = host.allocate(BYTES);
      there.view().fill(5);
      await remote.tensors[0].get(here);
      assert(here.view().every((value) => value === 5));
    }
    assertEquals(ledger.alive, before);
  });

  ucxTest(`commands run in order, and a wait that blocks serves both sides, over ${transport}`, async () => {
    await using ucx = UcxContext.open({ transports: [transport] });
    await using there = host.allocate(BYTES);
    await using share = ucx.share([there], { access: "read-write" });
    await using remote = ucx.connect(share.ticket);
    await using one = host.allocate(BYTES);
    await using other = host.allocate(BYTES);
    for (let i = 1; i <= 20; i++) {
      one.view().fill(i);
      remote.tensors[0].put(one);
      remote.tensors[0].get(other).waitSync();
      assertEquals([other.view()[0], other.view()[99_999], there.view()[50_000]], [i, i, i]);
    }
  });

  ucxTest(`a share that ended can no longer be read over ${transport}`, async () => {
    const before = ledger.alive;
    await using ucx = UcxContext.open({ transports: [transport] });
    await using there = host.allocate(BYTES);
    const share = ucx.share([there]);
    const remote = ucx.connect(share.ticket, { timeout: 300 });
    const here = host.allocate(BYTES);
    await remote.tensors[0].get(here);
    await share[Symbol.asyncDispose]();
    assertThrows(() => share.ticket, DisposedError);
    await assertRejects(async () => await remote.tensors[0].get(here), NativeCallError, "ucp_get_nbx failed");
    for (const one of [here, remote]) {
      await assertRejects(async () => await one[Symbol.asyncDispose](), NativeCallError);
    }
    await ucx[Symbol.asyncDispose]();
    await there[Symbol.asyncDispose]();
    // Shared memory does not show that a share has ended, so the owner may as well hang.
    assertEquals(ledger.alive, transport === "posix" ? { ...before, ...STAYS } : before);
  });
}

ucxTest("the end of a put() means that its bytes are seen there", async () => {
  await using ucx = UcxContext.open({ transports: ["tcp"] });
  await using there = host.allocate(BYTES);
  await using share = ucx.share([there], { access: "read-write" });
  await using remote = ucx.connect(share.ticket);
  await using here = host.allocate(BYTES);
  for (let i = 1; i <= 20; i++) {
    here.view().fill(i);
    await remote.tensors[0].put(here);
    assert(there.view().every((value) => value === i));
  }
});

ucxTest("a tensor that ends takes its share along, and a context all of it", async () => {
  const ucx = UcxContext.open({ transports: ["tcp"] });
  await using there = host.allocate(BYTES);
  const [first, second] = [ucx.share([there]), ucx.share([there])];
  const remote = ucx.connect(first.ticket);
  await using here = host.allocate(BYTES);
  await remote.tensors[0].get(here);
  await there[Symbol.asyncDispose]();
  assertThrows(() => first.ticket, DisposedError);
  assertThrows(() => second.ticket, DisposedError);
  await ucx[Symbol.asyncDispose]();
  assertThrows(() => remote.tensors[0].get(here), DisposedError);
});

ucxTest("a command waits for what `after` names, and for the work on its tensor", async () => {
  await using ucx = UcxContext.open({ transports: ["tcp"] });
  await using there = host.allocate(BYTES);
  await using share = ucx.share([there]);
  await using remote = ucx.connect(share.ticket);
  await using here = host.allocate(BYTES);
  await using other = host.allocate(BYTES);
  there.view().fill(1);
  const first = remote.tensors[0].get(here);
  const fence = remote.tensors[0].get(other, { after: first });
  await here.finished();
  assert(first.reached());
  await fence;
  assertEquals([here.view()[7], other.view()[7]], [1, 1]);
});

ucxTest("a ticket of which any byte was changed is refused", () => {
  using ucx = UcxContext.open({ transports: ["tcp"] });
  using there = host.allocate(BYTES);
  using share = ucx.share([there]);
  const { ticket } = share;
  for (let i = 0; i < ticket.length; i++) {
    const changed = ticket.slice();
    changed[i] ^= 1 << (i % 8);
    assertThrows(() => ucx.connect(changed), ArgumentError, "ticket:");
    assertThrows(() => ucx.connect(ticket.subarray(0, i)), ArgumentError, "ticket:");
  }
});

/** Where this process's network has ports on which something listens, as the kernel writes them. */
function listening(): Set<string> {
  const lines = ["tcp", "tcp6"].flatMap((file) => Deno.readTextFileSync(`/proc/self/net/${file}`).split("\n").slice(1));
  const fields = lines.map((line) => line.trim().split(/\s+/));
  return new Set(fields.filter(([, , , state]) => state === LISTEN).map(([, place]) => place));
}

const [LISTEN, LOOPBACK] = ["0A", "0100007F"];

ucxTest("a share, and a ring at a port alone, listen on the loopback device and nowhere else", () => {
  const before = listening();
  using ucx = UcxContext.open();
  using there = host.allocate(BYTES);
  using _share = ucx.share([there]);
  const frames = [1, 2].map(() => host.allocate(BYTES));
  using _ring = ucx.rings({ secret: SECRET }).create(unusedPort(), { frames });
  const places = [...listening().difference(before)];
  assert(places.length >= 2 && places.every((place) => place.startsWith(`${LOOPBACK}:`)), `${places}`);
});

ucxTest("memory with an fd is shared as any other", async () => {
  await using ucx = UcxContext.open({ transports: ["posix", "tcp"] });
  await using there = host.allocate({ ...BYTES, sharable: true });
  await using share = ucx.share([there], { access: "read-write" });
  await using remote = ucx.connect(share.ticket);
  await using here = host.allocate({ ...BYTES, sharable: true });
  here.view().fill(3);
  await remote.tensors[0].put(here);
  assert(there.view().every((value) => value === 3));
});

for (const platform of HERE) {
  ucxTest(`a kernel on ${platform} waits for a get(), and a put() for the kernel`, async () => {
    await using ucx = UcxContext.open({ transports: ["tcp"] });
    using cl = openDevice(platform);
    using graph = new MapperGraph([host, cl]);
    using program = cl.program(SOURCE);
    using add = program.kernel("add");
    await using there = host.allocate(BYTES);
    await using share = ucx.share([there], { access: "read-write" });
    await using remote = ucx.connect(share.ticket);
    await using here = host.allocate(BYTES);
    for (let i = 1; i <= 5; i++) {
      there.view().fill(i);
      here.view().fill(0);
      remote.tensors[0].get(here); // nothing awaits it
      {
        await using seen = graph.map(here, cl);
        add.run({ items: [100_000] }, [seen, 40]);
      }
      await remote.tensors[0].put(here);
      assert(there.view().every((value) => value === i + 40), `turn ${i}: ${there.view()[0]}`);
    }
  });

  ucxTest(`memory of ${platform}'s device is refused, and shared once it is mapped to the host`, async () => {
    await using ucx = UcxContext.open({ transports: ["tcp"] });
    using cl = openDevice(platform);
    using graph = new MapperGraph([host, cl]);
    using there = cl.allocate({ shape: [4096], dtype: "u8" });
    cl.queue.fill(there, 7);
    const error = assertThrows(() => ucx.share([there]), ArgumentError, "UCX cannot use");
    assertEquals([error.argument, error.hint?.startsWith("Map it to the host")], ["tensors[0]", true]);
    await using seen = graph.map(there, host, { access: "read", copy: "allow" });
    await using share = ucx.share([seen]);
    await using remote = ucx.connect(share.ticket);
    await using here = host.allocate({ shape: [4096], dtype: "u8" });
    await remote.tensors[0].get(here);
    assert(here.view().every((value) => value === 7));
    assertEquals(seen.route.bytesMoved, seen.route.steps[0].transfer === "alias" ? 0 : 4096);
    await remote[Symbol.asyncDispose]();
    await share[Symbol.asyncDispose]();
  });
}

/** By hand: SAMEPAGE_CONNECTS=10000. */
const CONNECTS = Number(Deno.env.get("SAMEPAGE_CONNECTS") ?? 40);

ucxTest(`${CONNECTS} shares and connections, one after the other, are flat`, async () => {
  await using ucx = UcxContext.open({ transports: ["posix", "tcp"] });
  await using there = host.allocate({ shape: [64], dtype: "u8" });
  await using here = host.allocate({ shape: [64], dtype: "u8" });
  const turn = async () => {
    await using share = ucx.share([there]);
    await using remote = ucx.connect(share.ticket);
    await remote.tensors[0].get(here);
  };
  for (let i = 0; i < 5; i++) await turn();
  const alive = ledger.alive;
  const level = new Level(openFds);
  for (let i = 0; i < CONNECTS; i++) await turn();
  await level.assertBack("open fds");
  assertEquals(ledger.alive, alive);
});
