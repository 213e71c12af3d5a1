import { assert, assertEquals } from "@std/assert";
import { AccessError, DisposedError, host, InteropError, MapperGraph, Route, type Tensor } from "@samepage/interop";
import { chain, portMapper } from "@samepage/interop/backend";
import { hostToOpenCL, type OpenCLContext, type OpenCLTensor } from "@samepage/interop/opencl";
import {
  assertBytes,
  filled,
  gate,
  type Kernels,
  kernelsOf,
  LONG,
  open,
  PAIRS,
  type Platform,
  randomTensor,
  rejection,
  sleep,
  test,
  thrown,
  until,
  whereBytesMove,
  whereWorkCannotFail,
} from "./help.ts";

const SIZE = 8192;
const openCLToHost = portMapper("opencl", "host");

/** Two contexts on two platforms, and a graph over both and the host. */
interface Two extends Disposable, AsyncDisposable {
  readonly a: OpenCLContext;
  readonly b: OpenCLContext;
  readonly onA: Kernels;
  readonly onB: Kernels;
  readonly graph: MapperGraph;
}

function openTwo(first: Platform, second: Platform): Two {
  const a = open(first);
  const b = open(second);
  return {
    a,
    b,
    onA: kernelsOf(a),
    onB: kernelsOf(b),
    graph: new MapperGraph([host, a, b]),
    [Symbol.dispose]() {
      using _b = b;
      using _a = a;
    },
    async [Symbol.asyncDispose]() {
      await using _b = b;
      await using _a = a;
    },
  };
}

/** The host has to wait first. On rusticl 22.3 it may have done so by itself: a flush may not come back before. */
function assertWaits(on: OpenCLContext, { steps }: Route): void {
  assertEquals(steps.slice(1).some((step) => step.hostWait), false);
  if (on.device.platform === "rusticl" && !steps[0].hostWait) return;
  assert(steps[0].hostWait && `${new Route(steps, [])}`.includes("the host waits first"));
}

/** A test in both directions. */
function testBoth(
  name: string,
  run: (two: Two) => Promise<void> | void,
  reason: typeof whereWorkCannotFail = () => undefined,
) {
  for (const [first, second] of PAIRS.flatMap(([one, other]) => [[one, other], [other, one]])) {
    test(`${first} → ${second}: ${name}`, [first, second], async () => {
      await using two = openTwo(first, second);
      await run(two);
    }, reason(first, second));
  }
}

testBoth(
  "host → device → host → device, with work in flight on the first, and back",
  async ({ a, b, onA, onB, graph }) => {
    const { tensor, bytes } = randomTensor(SIZE);
    using source = tensor;
    {
      await using first = graph.map(source, a);
      onA.add.run({ items: [SIZE] }, [first, 2]);
      onA.slow.run({ items: [SIZE] }, [first, 1, LONG]);
      const explained = graph.explain(first, b);
      assertEquals(explained.steps.map((step) => [step.edge, step.transfer]), [
        ["opencl→host", "alias"],
        ["host→opencl", "alias"],
      ]);
      assertWaits(a, explained);
      {
        await using second = graph.map(first, b);
        assertEquals(second.route.steps.map((step) => step.edge), ["opencl→host", "host→opencl"]);
        assertEquals(second.route.bytesMoved, 0);
        thrown(AccessError, () => first.handle);
        thrown(AccessError, () => source.view());
        onB.doubleIt.run({ items: [SIZE] }, [second]);
        {
          await using third = graph.map(second, a);
          onA.add.run({ items: [SIZE] }, [third, 5]);
          await using fourth = graph.map(third, host, { access: "read" });
          assertBytes(fourth.bytes(), bytes.map((byte) => (byte + 3) * 2 + 5), "seen from four maps down");
        }
        onB.add.run({ items: [SIZE] }, [second, 1]);
      }
      onA.doubleIt.run({ items: [SIZE] }, [first]);
    }
    assertBytes(source.view(), bytes.map((byte) => (((byte + 3) * 2 + 5) + 1) * 2));
  },
  whereBytesMove,
);

testBoth("memory of the driver's own goes there and back", async ({ a, b, onA, onB, graph }) => {
  await using own = a.allocate({ shape: [SIZE], dtype: "u8" });
  onA.fill.run({ items: [SIZE] }, [own, 9]);
  {
    await using there = graph.map(own, b);
    // From the host on, a device that shares the system's memory takes the route through that, where it aliases and a
    // buffer over the same bytes would not.
    const [toHost, ...on] = there.route.steps.map((step) => step.edge);
    assertEquals([toHost, on.at(0)?.split("→")[0], on.at(-1)?.split("→")[1]], ["opencl→host", "host", "opencl"]);
    onB.add.run({ items: [SIZE] }, [there, 1]);
    await using back = graph.map(there, a);
    onA.add.run({ items: [SIZE] }, [back, 1]);
  }
  onA.add.run({ items: [SIZE] }, [own, 1]);
  await using seen = graph.map(own, host, { access: "read" });
  assertBytes(seen.bytes(), filled(SIZE, 9).map((byte) => byte + 3));
});

testBoth("disposing what lies in the middle ends what hangs on it", ({ a, b, onA, onB, graph }) => {
  for (const middle of [0, 1, 2]) {
    const { tensor, bytes } = randomTensor(SIZE);
    using source = tensor;
    const first = graph.map(source, a);
    onA.add.run({ items: [SIZE] }, [first, 1]);
    const second = graph.map(first, b);
    onB.add.run({ items: [SIZE] }, [second, 1]);
    const third = graph.map(second, a);
    onA.add.run({ items: [SIZE] }, [third, 1]);
    const all: Tensor[] = [first, second, third];
    all[middle][Symbol.dispose]();
    for (const tensor of all.slice(middle)) thrown(DisposedError, () => tensor.handle);
    if (middle > 0) void all[middle - 1].handle;
    first[Symbol.dispose]();
    assertBytes(source.view(), bytes.map((byte) => byte + 3), `disposed ${middle}`);
  }
}, whereBytesMove);

testBoth("the source disposed first ends all steps", ({ a, b, onA, onB, graph }) => {
  const { tensor } = randomTensor(SIZE);
  const first = graph.map(tensor, a);
  onA.add.run({ items: [SIZE] }, [first, 1]);
  const second = graph.map(first, b);
  onB.add.run({ items: [SIZE] }, [second, 1]);
  tensor[Symbol.dispose]();
  for (const gone of [first, second]) thrown(DisposedError, () => gone.handle);
  second[Symbol.dispose]();
});

testBoth("the graph disposed first ends all steps, newest first", ({ a, b, onA, onB, graph }) => {
  const { tensor, bytes } = randomTensor(SIZE);
  using source = tensor;
  const first = graph.map(source, a);
  onA.add.run({ items: [SIZE] }, [first, 1]);
  const second = graph.map(first, b);
  onB.add.run({ items: [SIZE] }, [second, 1]);
  graph[Symbol.dispose]();
  thrown(DisposedError, () => second.handle);
  thrown(DisposedError, () => graph.map(source, a));
  assertBytes(source.view(), bytes.map((byte) => byte + 2));
});

testBoth("either context disposed in the middle of a chain", async ({ a, b, onA, onB, graph }) => {
  for (const which of ["a", "b"] as const) {
    const { OpenCLContext } = await import("@samepage/interop/opencl");
    using a2 = OpenCLContext.attach(a.handle);
    using b2 = OpenCLContext.attach(b.handle);
    using own = new MapperGraph([host, a2, b2]);
    const { tensor, bytes } = randomTensor(SIZE);
    using source = tensor;
    const first = own.map(source, a2);
    const second = own.map(first, b2);
    const third = own.map(second, a2);
    kernelsOf(a2).add.run({ items: [SIZE] }, [third, 7]);
    (which === "a" ? a2 : b2)[Symbol.dispose]();
    thrown(DisposedError, () => third.handle);
    thrown(DisposedError, () => second.handle);
    if (which === "a") thrown(DisposedError, () => first.handle);
    else {
      void first.handle;
      first[Symbol.dispose]();
    }
    assertBytes(source.view(), bytes.map((byte) => byte + 7), which);
  }
  void [onA, onB, graph];
}, whereBytesMove);

testBoth("disposeAfter in the middle, with a fence of the other platform", async ({ a, b, onA, onB, graph }) => {
  const { tensor, bytes } = randomTensor(SIZE);
  using source = tensor;
  const first = graph.map(source, a);
  onA.slow.run({ items: [SIZE] }, [first, 1, LONG]);
  using event = gate();
  const second = graph.map(first, b);
  onB.add.run({ items: [SIZE] }, [second, 1], { after: event.fence });
  const fence = b.queue.fence();
  second.disposeAfter(fence);
  thrown(DisposedError, () => second.handle);
  // Its bytes are on their way back: others may have them, once the host has waited for what an event still holds.
  const explained = graph.explain(first, b);
  assert(explained.open && explained.steps[0].hostWait, `${explained}`);
  thrown(AccessError, () => graph.map(first, b));
  await event.complete();
  const third = graph.map(first, b);
  onB.add.run({ items: [SIZE] }, [third, 1]);
  third[Symbol.dispose]();
  first[Symbol.dispose]();
  assertBytes(source.view(), bytes.map((byte) => byte + 3));
});

testBoth("disposeAfter, then a map in the other platform: the host waits, and explain says so", async (two) => {
  const { a, b, onA, onB, graph } = two;
  const { tensor, bytes } = randomTensor(SIZE);
  using source = tensor;
  const first = graph.map(source, a);
  onA.slow.run({ items: [SIZE] }, [first, 1, LONG]);
  const fence = a.queue.fence();
  first.disposeAfter(fence);
  const explained = graph.explain(source, b);
  assertEquals(explained.steps.map((step) => step.edge), ["host→opencl"]);
  assertWaits(a, explained);
  {
    await using second = graph.map(source, b);
    onB.doubleIt.run({ items: [SIZE] }, [second]);
  }
  assertBytes(source.view(), bytes.map((byte) => (byte + 1) * 2));
}, whereBytesMove);

testBoth("usedBy a fence of the other platform: the end waits for it", async ({ a, b, onA, onB, graph }) => {
  const { tensor, bytes } = randomTensor(SIZE);
  using source = tensor;
  using event = gate();
  using other = b.allocate({ shape: [SIZE], dtype: "u8" });
  onB.fill.run({ items: [SIZE] }, [other, 1], { after: event.fence });
  const first = graph.map(source, a);
  onA.add.run({ items: [SIZE] }, [first, 1]);
  first.usedBy(b.queue.fence());
  thrown(AccessError, () => onA.add.run({ items: [SIZE] }, [first, 1])); // the host would wait for ever
  const ended = first[Symbol.asyncDispose]();
  let over = false;
  ended.then(() => over = true);
  await sleep(20);
  assert(!over);
  thrown(AccessError, () => source.view());
  await event.complete();
  await ended;
  assertBytes(source.view(), bytes.map((byte) => byte + 1));
});

testBoth("a map after a fence of the other platform", async ({ a, b, onA, onB, graph }) => {
  const { tensor, bytes } = randomTensor(SIZE);
  using source = tensor;
  using other = b.allocate({ shape: [SIZE], dtype: "u8" });
  onB.slow.run({ items: [SIZE] }, [other, 1, LONG]);
  const fence = b.queue.fence();
  {
    const { steps } = graph.explain(source, a, { after: fence });
    assert(steps[0].hostWait || fence.reached(), "a wait, unless a fast GPU is done by now");
    await using first = graph.map(source, a, { after: fence });
    assert(fence.reached());
    onA.add.run({ items: [SIZE] }, [first, 1]);
    using event = gate();
    thrown(AccessError, () => graph.map(first, b, { after: event.fence }));
    await event.complete();
    await using _ = graph.map(first, b, { after: event.fence });
  }
  assertBytes(source.view(), bytes.map((byte) => byte + 1));
});

testBoth("the first step's work fails: its dispose says so, and nothing is left", async ({ a, b, onA, graph }) => {
  const { tensor, bytes } = randomTensor(SIZE);
  using source = tensor;
  const first = graph.map(source, a);
  using event = gate();
  onA.add.run({ items: [SIZE] }, [first, 1], { after: event.fence });
  thrown(AccessError, () => graph.map(first, b));
  await event.fail();
  await rejection(InteropError, first[Symbol.asyncDispose]());
  assertBytes(source.view(), bytes);
}, whereWorkCannotFail);

testBoth("the last step's work fails: its own dispose says so, and the middle lives on", async (two) => {
  const { a, b, onA, onB, graph } = two;
  const { tensor, bytes } = randomTensor(SIZE);
  using source = tensor;
  {
    await using first = graph.map(source, a);
    onA.add.run({ items: [SIZE] }, [first, 1]);
    const second = graph.map(first, b);
    using event = gate();
    onB.add.run({ items: [SIZE] }, [second, 1], { after: event.fence });
    await event.fail();
    thrown(InteropError, () => second[Symbol.dispose]());
    onA.add.run({ items: [SIZE] }, [first, 1]);
  }
  assertBytes(source.view(), bytes.map((byte) => byte + 2));
}, whereWorkCannotFail);

testBoth("chain(…) does the same as the graph", async ({ a, b, onA, onB, graph }) => {
  const { tensor, bytes } = randomTensor(SIZE);
  using source = tensor;
  const there = chain([hostToOpenCL, a], openCLToHost, [hostToOpenCL, b]);
  using chained = new MapperGraph([host, a, b], [there]);
  {
    const explained = chained.explain(source, b);
    assertEquals(explained.steps.map((step) => [step.edge, step.transfer, step.bytesMoved]), [
      ["host→opencl→host→opencl", "alias", 0],
    ]);
    await using mapped: OpenCLTensor = chained.map(source, b);
    assertEquals(mapped.context, b);
    onB.add.run({ items: [SIZE] }, [mapped, 3]);
    thrown(AccessError, () => source.view());
  }
  {
    const other = chain([openCLToHost, host], hostToOpenCL);
    using across = new MapperGraph([host, a, b], [hostToOpenCL, other]);
    await using first = graph.map(source, a);
    onA.slow.run({ items: [SIZE] }, [first, 1, LONG]);
    const route = across.explain(first, b);
    assertEquals(route.steps.map((step) => step.edge), ["opencl→host→opencl"]);
    assertWaits(a, route);
    await using second = across.map(first, b);
    onB.doubleIt.run({ items: [SIZE] }, [second]);
  }
  assertBytes(source.view(), bytes.map((byte) => (byte + 4) * 2));
}, whereBytesMove);

testBoth("a chain whose second link fails leaves everything as it was", ({ a, b, graph }) => {
  const { tensor, bytes } = randomTensor(SIZE);
  using source = tensor;
  const broken = {
    from: "opencl",
    to: "host",
    probe: openCLToHost.probe.bind(openCLToHost),
    map() {
      throw new Error("broken");
    },
  };
  using chained = new MapperGraph([host, a, b], [chain([hostToOpenCL, a], broken, [hostToOpenCL, b])]);
  assertEquals(thrown(Error, () => chained.map(source, b)).message, "broken");
  assertBytes(source.view(), bytes);
  using _ = graph.map(source, b);
});

testBoth("many rounds trip, waits and all", async ({ a, b, onA, onB, graph }) => {
  const { tensor, bytes } = randomTensor(512);
  using source = tensor;
  const expected = bytes.slice();
  for (let i = 0; i < 30; i++) {
    await using first = graph.map(source, i % 2 === 0 ? a : b);
    const [near, far, other] = i % 2 === 0 ? [onA, onB, b] : [onB, onA, a];
    near.add.run({ items: [512] }, [first, i]);
    const second = graph.map(first, other);
    far.doubleIt.run({ items: [512] }, [second]);
    if (i % 3 === 0) second[Symbol.dispose]();
    else if (i % 3 === 1) await second[Symbol.asyncDispose]();
    else {
      const fence = other.queue.fence();
      second.disposeAfter(fence);
    }
    expected.forEach((byte, at) => expected[at] = (byte + i) * 2);
  }
  await until(() => source.grant.state === "live", "all maps have ended");
  assertBytes(source.view(), expected);
});
