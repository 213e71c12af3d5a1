import { assert, assertEquals, assertThrows } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import { AccessError } from "../../src/core/errors.ts";
import { CudaManaged, type ManagedAttachment } from "../../src/cuda/memory/managed.ts";
import { ManagedTurns } from "../../src/cuda/memory/managed_turns.ts";
import { FakeFence, FakeWork } from "../unit/fakes.ts";
import type { CudaContext } from "../../src/cuda/mod.ts";
import type { HostTensor } from "../../src/host/tensor.ts";
import { gpuTest, withCuda } from "./help.ts";

const INIT = { shape: [64], dtype: "u8" } as const;

/** A stream, as far as turns know one. */
function fakeStream() {
  return { timeline: {}, resource: { state: "live" as "live" | "freed" } };
}

Deno.test("managed turns: a command takes views away, and new ones wait for it", () => {
  const turns = new ManagedTurns();
  using tensor = host.allocate(INIT);
  const [stream, work] = [fakeStream(), new FakeWork()];
  turns.track(tensor.grant.allocation, "global", []);
  const view = tensor.view();
  turns.before(stream.timeline);
  assertEquals(view.length, 0);
  using fence = new FakeFence(work);
  turns.after(stream.timeline, fence);
  assertThrows(() => tensor.view(), AccessError, "work that is not done");
  work.end();
  assertEquals(tensor.view().length, 64);
});

Deno.test("managed turns: what runs already is waited for by what is new", () => {
  const turns = new ManagedTurns();
  using tensor = host.allocate(INIT);
  const work = new FakeWork();
  using fence = new FakeFence(work);
  turns.track(tensor.grant.allocation, "global", [fence]);
  assertThrows(() => tensor.view(), AccessError);
  work.end();
  tensor.view();
});

Deno.test("managed turns: memory of the host's is left to it, and refused to commands", () => {
  const turns = new ManagedTurns();
  using tensor = host.allocate(INIT);
  const { allocation } = tensor.grant;
  const [stream, other] = [fakeStream(), fakeStream()];
  turns.track(allocation, "host", []);
  const view = tensor.view();
  turns.before(stream.timeline);
  assertEquals(view.length, 64);
  assertThrows(() => turns.assertReachable(allocation, stream.timeline, "x"), AccessError, "attached to the host");
  turns.attached(allocation, "single", stream);
  turns.before(other.timeline);
  assertEquals(view.length, 64);
  assertThrows(() => turns.assertReachable(allocation, other.timeline, "x"), AccessError, "another stream");
  turns.assertReachable(allocation, stream.timeline, "x");
  turns.before(stream.timeline);
  assertEquals(view.length, 0);
  stream.resource.state = "freed"; // what was attached to it is everybody's again
  turns.assertReachable(allocation, other.timeline, "x");
});

Deno.test("managed turns: a promise that holds such memory keeps the device from running", async () => {
  const turns = new ManagedTurns();
  using tensor = host.allocate(INIT);
  const stream = fakeStream();
  turns.track(tensor.grant.allocation, "global", []);
  const { promise, resolve } = Promise.withResolvers<void>();
  const lent = tensor.lend((view) => promise.then(() => view.length));
  assertThrows(() => turns.before(stream.timeline), AccessError, "lent to a promise");
  resolve();
  assertEquals(await lent, 64);
  turns.before(stream.timeline);
});

Deno.test("managed turns: who of the host maps a part of it takes turns as well; what has ended is forgotten", () => {
  const turns = new ManagedTurns();
  using owner = host.allocate(INIT);
  using seer = host.allocate(INIT); // stands for what owner was mapped to
  const [stream, work] = [fakeStream(), new FakeWork()];
  turns.track(owner.grant.allocation, "global", []);
  turns.seenByHost(owner.grant.allocation, seer.resource);
  using fence = new FakeFence(work);
  turns.after(stream.timeline, fence);
  assertThrows(() => seer.view(), AccessError);
  work.end();
  seer[Symbol.dispose]();
  turns.after(stream.timeline, fence);
  owner[Symbol.dispose]();
  turns.before(stream.timeline);
});

/** A context whose device says that it moves no managed memory while the CPU uses it. */
function withoutConcurrentAccess(cuda: CudaContext): CudaContext {
  const attributes = { ...cuda.device.attributes, concurrentManagedAccess: 0 };
  return Object.create(cuda, {
    device: { value: { ...cuda.device, attributes } },
    workInFlight: { value: () => cuda.workInFlight() },
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
