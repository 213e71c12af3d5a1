import { assert, assertEquals, assertThrows } from "@std/assert";
import { host, MapperGraph, region } from "../../mod.ts";
import { AccessError } from "../../src/core/errors.ts";
import { CudaManaged, type ManagedAttachment } from "../../src/cuda/memory/managed.ts";
import { ManagedTurns } from "../../src/cuda/memory/managed_turns.ts";
import type { Access } from "../../src/core/memory/access.ts";
import { fakeContext, FakeWork } from "../unit/fakes.ts";
import type { CudaContext } from "../../src/cuda/mod.ts";
import type { HostTensor } from "../../src/host/tensor.ts";
import { gpuTest, withCuda } from "./help.ts";

const INIT = { shape: [64], dtype: "u8" } as const;

/** The commands of two streams. */
const [ONE, OTHER] = [{ stream: 0x100n }, { stream: 0x200n }];

/** What a command uses. */
function used(tensor: HostTensor) {
  const access: Access = "read";
  return [{ tensor, access, argument: "x" }];
}

Deno.test("managed turns: a command takes views away, and new ones wait for it", () => {
  const turns = new ManagedTurns();
  using tensor = host.allocate(INIT);
  const work = new FakeWork();
  turns.track(tensor.grant.allocation, "global");
  const view = tensor.view();
  turns.before(ONE);
  assertEquals(view.length, 0);
  turns.after(ONE, work.fence);
  assertThrows(() => tensor.view(), AccessError, "work that has not finished");
  work.end();
  assertEquals(tensor.view().length, 64);
});

Deno.test("managed turns: what runs already, on any stream, is waited for by what is new", () => {
  const turns = new ManagedTurns();
  using tensor = host.allocate(INIT);
  const works = [new FakeWork(), new FakeWork()];
  for (const { line } of works) turns.join(line);
  turns.track(tensor.grant.allocation, "global");
  for (const work of works) {
    assertThrows(() => tensor.view(), AccessError);
    work.end();
  }
  tensor.view();
});

Deno.test("managed turns: memory of the host's is left to it, and refused to commands", () => {
  const turns = new ManagedTurns();
  using tensor = host.allocate(INIT);
  const { allocation } = tensor.grant;
  turns.track(allocation, "host");
  const view = tensor.view();
  turns.before(ONE);
  assertEquals(view.length, 64);
  assertThrows(() => turns.assertReachable(used(tensor), ONE), AccessError, "x: its block is attached to the host");
  turns.attached(allocation, ONE);
  turns.before(OTHER);
  assertEquals(view.length, 64);
  assertThrows(() => turns.assertReachable(used(tensor), OTHER), AccessError, "another stream");
  turns.assertReachable(used(tensor), { ...ONE }); // a stream is known by its handle
  turns.before(ONE);
  assertEquals(view.length, 0);
});

Deno.test("managed turns: with its stream destroyed, a block comes back to what it was allocated with", () => {
  const turns = new ManagedTurns();
  const work = new FakeWork();
  using own = host.allocate(INIT);
  using common = host.allocate(INIT);
  const [forHost, forAll] = [own.grant.allocation, common.grant.allocation];
  turns.track(forHost, "host");
  turns.track(forAll, "global");
  for (const allocation of [forHost, forAll]) turns.attached(allocation, ONE);
  turns.join(work.line); // from here on, something runs on another stream
  const view = common.view();
  turns.streamEnds(ONE, false); // its owner may go on with it
  assertThrows(() => turns.assertReachable(used(own), OTHER), AccessError, "another stream");
  assertThrows(() => turns.assertReachable(used(common), OTHER), AccessError, "another stream");
  assertEquals(view.length, 0);
  assertThrows(() => common.view(), AccessError, "work that has not finished"); // of whichever stream
  turns.streamEnds(ONE, true);
  turns.assertReachable(used(common), OTHER);
  assertThrows(() => turns.assertReachable(used(own), OTHER), AccessError, "attached to the host");
  assertEquals(own.view().length, 64);
});

Deno.test("managed turns: who takes over another part later waits for what runs, too", () => {
  const turns = new ManagedTurns();
  const work = new FakeWork();
  const own = host.allocate(INIT);
  turns.track(own.grant.allocation, "global");
  const { address } = own;
  using _first = host.wrap(address, { shape: [16], dtype: "u8" });
  own[Symbol.dispose]();
  turns.after(ONE, work.fence);
  using second = host.wrap(address + 32n, { shape: [16], dtype: "u8" });
  assertThrows(() => second.view(), AccessError, "work that has not finished");
  work.end();
  assertEquals(second.view().length, 16);
});

Deno.test("managed turns: where other work cannot be kept from a block, its stream's end waits for what runs", async () => {
  const turns = new ManagedTurns();
  const work = new FakeWork();
  using tensor = host.allocate(INIT);
  turns.track(tensor.grant.allocation, "global");
  turns.attached(tensor.grant.allocation, ONE);
  turns.join(work.line);
  await tensor.lend(() => {
    turns.streamEnds(ONE, true);
    assert(work.over);
  });
});

Deno.test("managed turns: a promise that holds such memory keeps the device from running", async () => {
  const turns = new ManagedTurns();
  using tensor = host.allocate(INIT);
  const { allocation } = tensor.grant;
  turns.track(allocation, "global");
  const { promise, resolve } = Promise.withResolvers<void>();
  const lent = tensor.lend((view) => promise.then(() => view.length));
  for (const refused of [() => turns.before(ONE), () => turns.takeViews(allocation)]) {
    assertThrows(refused, AccessError, "lent to a promise");
  }
  resolve();
  assertEquals(await lent, 64);
  turns.before(ONE);
});

Deno.test("managed turns: another API that has any part of a block keeps the device from running", () => {
  const turns = new ManagedTurns();
  using owner = host.allocate(INIT);
  turns.track(owner.grant.allocation, "global");
  {
    using half = owner.slice(region(owner.layout, [0], [32]));
    using mat = half.slice(region(half.layout, [0], [16])); // stands for what half was mapped to
    mat.resource.target = fakeContext("fake", ["fake.mat"]).targets[0];
    assertThrows(() => turns.before(ONE), AccessError, "fake.mat");
  }
  turns.before(ONE);
});

Deno.test("managed turns: who has a part of a block waits as well; what has ended is forgotten", () => {
  const turns = new ManagedTurns();
  using owner = host.allocate(INIT);
  using part = owner.slice(region(owner.layout, [0], [32]));
  using seer = part.slice(part.layout);
  const work = new FakeWork();
  turns.track(owner.grant.allocation, "global");
  turns.after(ONE, work.fence);
  assertThrows(() => seer.view(), AccessError);
  assert(seer.resource.busy);
  work.end();
  seer[Symbol.dispose]();
  turns.after(ONE, work.fence);
  part[Symbol.dispose]();
  owner[Symbol.dispose]();
  turns.before(ONE);
});

/** A context whose device says that it moves no managed memory while the CPU uses it. */
function withoutConcurrentAccess(cuda: CudaContext): CudaContext {
  const attributes = { ...cuda.device.attributes, concurrentManagedAccess: 0 };
  return Object.create(cuda, {
    device: { value: { ...cuda.device, attributes } },
  });
}

gpuTest(
  "on a device without concurrentManagedAccess a launch revokes the host's views of managed memory",
  () =>
    withCuda((cuda) => {
      assertEquals(cuda.managed.turns === undefined, cuda.device.attributes.concurrentManagedAccess === 1);
      const without = withoutConcurrentAccess(cuda);
      const managed = new CudaManaged(without);
      assert(managed.turns !== undefined);
      assertThrows(
        () => {
          using tensor = managed.allocate(INIT);
          managed.prefetch(tensor, "device");
        },
        Error,
        "concurrentManagedAccess is 0",
      );
      using tensor = managed.allocate(INIT);
      using graph = new MapperGraph([host, without]);
      using seen = graph.map(tensor, host) as HostTensor<"u8">;
      const view = seen.view();
      view.fill(3);
      managed.revokeViews();
      assertEquals(view.length, 0);
      assertEquals(seen.view()[0], 3);
    }),
);

const CHANGES: readonly (readonly [from: ManagedAttachment, to: ManagedAttachment])[] = [
  ["global", "host"],
  ["single", "host"],
  ["host", "global"],
  ["host", "single"],
  ["global", "single"],
  ["single", "global"],
];

for (const [from, to] of CHANGES) {
  gpuTest(`managed memory keeps its bytes from "${from}" to "${to}" (003, table 2)`, () =>
    withCuda((cuda) => {
      using graph = new MapperGraph([host, cuda]);
      using stream = cuda.createStream();
      using tensor = cuda.managed.allocate({ shape: [1 << 16], dtype: "u8", attach: "host" });
      const bytes = crypto.getRandomValues(new Uint8Array(1 << 16));
      {
        using seen = graph.map(tensor, host) as HostTensor<"u8">;
        seen.view().set(bytes);
      }
      cuda.managed.attach(tensor, from, stream);
      cuda.managed.attach(tensor, to, stream);
      stream.finish();
      const read = new Uint8Array(1 << 16);
      stream.read(tensor, read);
      assertEquals(read, bytes);
      using seen = graph.map(tensor, host) as HostTensor<"u8">;
      assertEquals(seen.view(), bytes);
    }));
}

gpuTest(
  "managed memory: what cannot be attached, prefetched or advised is refused before any call",
  () =>
    withCuda((cuda) => {
      using tensor = cuda.managed.allocate(INIT);
      using plain = cuda.allocate(INIT);
      using stream = cuda.createStream();
      using legacy = cuda.attachStream(1n);
      using part = tensor.slice({ ...tensor.layout, shape: [16], byteLength: 16 });
      const wrong: readonly (() => void)[] = [
        () => cuda.managed.attach(tensor, "nobody" as never),
        () => cuda.managed.attach(tensor, "single"),
        () => cuda.managed.attach(tensor, "single", legacy),
        () => cuda.managed.attach(part, "host"),
        () => cuda.managed.attach(plain, "host"),
        () => cuda.managed.prefetch(plain, "device", stream),
        () => cuda.managed.prefetch(tensor, "moon" as never),
        () => cuda.managed.prefetch(tensor, {} as never),
        () => cuda.managed.prefetch(tensor, "device", {} as never),
        () => cuda.managed.advise(plain, "read-mostly"),
        () => cuda.managed.advise(tensor, "often" as never),
        () => cuda.managed.adviceOn(plain),
      ];
      for (const each of wrong) assertThrows(each, Error, undefined, each.toString());
    }),
);
