import { assertEquals } from "@std/assert";
import { MapperGraph } from "../../mod.ts";
import { edgeOf } from "../../src/core/graph/mapper.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { host } from "../../src/host/mod.ts";
import { bytesAt } from "./bytes.ts";
import { FakeContext, type FakeTarget } from "./fake/context.ts";
import { fakeAlive, misuses } from "./fake/driver.ts";
import type { FakeFence } from "./fake/fence.ts";
import { fakeGate } from "./fake/gate.ts";
import { FAKE_MAPPERS, type FakeMapper, PRETENDERS } from "./fake/mapper.ts";
import type { FakeTensor } from "./fake/tensor.ts";
import { hostEnd } from "./host_end.ts";
import type { Candidate, End, Subject } from "./subject.ts";

/** The edges of the tests' own API, on two devices of its own. */
export function synthetic(): Candidate[] {
  return FAKE_MAPPERS.map((mapper) => ({
    edge: edgeOf(mapper),
    everyLaw: true,
    open: () => open(mapper, FAKE_MAPPERS),
  }));
}

/** Its edges that copy, and say that they alias: the suite has to find them out. */
export function pretenders(): Candidate[] {
  return PRETENDERS.map((mapper) => ({ edge: edgeOf(mapper), open: () => open(mapper, PRETENDERS) }));
}

function open(mapper: FakeMapper, mappers: readonly FakeMapper[]): Subject {
  const contexts = [new FakeContext("fake 0"), new FakeContext("fake 1"), new FakeContext("fake 2")];
  const graph = new MapperGraph([host, ...contexts], mappers);
  const end = (kind: string, device: number) => kind === "host" ? hostEnd : new FakeEnd(contexts[device].target(kind));
  return {
    graph,
    source: end(mapper.from, 0),
    target: end(mapper.to, 1),
    elsewhere: end(mapper.to, 2),
    expected: mapper.label,
    gate: () => fakeGate(contexts[mapper.to === "host" ? 0 : 1]),
    alive: fakeAlive,
    [Symbol.dispose]() {
      using all = new DisposableStack();
      all.defer(() => assertEquals(misuses.splice(0), []));
      for (const one of [...contexts, graph]) all.use(one);
    },
  };
}

class FakeEnd implements End {
  readonly target: FakeTarget;

  constructor(target: FakeTarget) {
    this.target = target;
  }

  allocate(...[init]: Parameters<End["allocate"]>): Tensor {
    return this.target.allocate(init);
  }

  allocateFrame(
    ...[info]: Parameters<NonNullable<End["allocateFrame"]>>
  ): ReturnType<NonNullable<End["allocateFrame"]>> {
    return this.target.allocateFrame(info);
  }

  submit(tensor: FakeTensor, bytes: Uint8Array) {
    return tensor.write(bytes);
  }

  async write(tensor: FakeTensor, bytes: Uint8Array): Promise<void> {
    await done(tensor.write(bytes));
  }

  async read(tensor: FakeTensor): Promise<Uint8Array> {
    const bytes = new Uint8Array(tensor.layout.byteLength);
    await done(tensor.read(bytes));
    return bytes;
  }

  readonly raw = {
    write: (tensor: FakeTensor, bytes: Uint8Array) => {
      const own = bytesAt(tensor.address, tensor.layout.byteLength);
      const fence = this.target.context.submit(() => own.set(bytes), []);
      return () => done(fence);
    },
    read: async (tensor: FakeTensor) => {
      const bytes = new Uint8Array(tensor.layout.byteLength);
      const own = bytesAt(tensor.address, tensor.layout.byteLength);
      await done(this.target.context.submit(() => bytes.set(own), []));
      return bytes;
    },
  };
}

async function done(fence: FakeFence): Promise<void> {
  using _ = fence;
  await fence.wait();
}
