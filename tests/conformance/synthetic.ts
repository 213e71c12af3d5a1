import { assertEquals } from "@std/assert";
import { MapperGraph } from "../../mod.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { host } from "../../src/host/mod.ts";
import { bytesAt } from "./bytes.ts";
import { hostEnd } from "./host_end.ts";
import type { Candidate, End, Subject } from "./subject.ts";
import { FakeContext, type FakeTarget } from "./template/queue/context.ts";
import { command } from "./template/queue/driver.ts";
import { fakeAlive, misuses } from "./template/queue/library.ts";
import { KINDS } from "./template/queue/memory.ts";
import type { FakeTensor } from "./template/queue/tensor.ts";

/** The edges of the template that the suite runs over: the graph makes more of its ports. */
const EDGES = [
  ["host", "fake.alias"],
  ["fake.alias", "host"],
  ["host", "fake.migrate"],
  ["fake.migrate", "host"],
  ["host", "fake.copy"],
  ["fake.copy", "host"],
  ["fake.alias", "fake.alias"],
  ["fake.alias", "fake.migrate"],
  ["fake.migrate", "fake.copy"],
] as const satisfies readonly Edge[];

/** Edges that copy, and say that they alias. */
const PRETENDERS = [["host", "fake.pretend"], ["fake.pretend", "host"]] as const satisfies readonly Edge[];

type Kind = "host" | keyof typeof KINDS;
type Edge = readonly [from: Kind, to: Kind];

/** The edges of the tests' own API, on two devices of its own. */
export function synthetic(): Candidate[] {
  return EDGES.map((edge) => ({ edge: edge.join("→"), everyLaw: true, open: () => open(edge) }));
}

/** Its edges that copy, and say that they alias: the suite has to find them out. */
export function pretenders(): Candidate[] {
  return PRETENDERS.map((edge) => ({ edge: edge.join("→"), open: () => open(edge) }));
}

function open([from, to]: Edge): Subject {
  const kinds = [from, to].filter((kind) => kind !== "host");
  const contexts = [0, 1, 2].map((i) => new FakeContext(`fake ${i}`, kinds));
  const graph = new MapperGraph([host, ...contexts]);
  const end = (kind: Kind, device: number) => kind === "host" ? hostEnd : new FakeEnd(contexts[device].target(kind));
  return {
    graph,
    source: end(from, 0),
    target: end(to, 1),
    elsewhere: end(to, 2),
    expected: KINDS[to === "host" ? from as keyof typeof KINDS : to] ?? "alias",
    ...(from === "fake.alias" && to === "host" ? { withoutCalls: true } : {}), // the host has its address already
    alive: fakeAlive,
    openContext: () => new FakeContext("one more", kinds),
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

  submit(tensor: FakeTensor, bytes: Uint8Array): Fence {
    const { queue } = this.target.context;
    const own = bytesAt(tensor.address, bytes.length);
    queue.submit([{ tensor, access: "write", argument: "tensor" }], command(() => own.set(bytes), [tensor.rawHandle]));
    return queue.fence();
  }

  // deno-lint-ignore require-await -- what it throws is a rejection, as at every end
  async write(tensor: FakeTensor, bytes: Uint8Array): Promise<void> {
    this.target.context.queue.write(tensor, bytes);
  }

  // deno-lint-ignore require-await
  async read(tensor: FakeTensor): Promise<Uint8Array> {
    const bytes = new Uint8Array(tensor.layout.byteLength);
    this.target.context.queue.read(tensor, bytes);
    return bytes;
  }

  readonly raw = {
    write: (tensor: FakeTensor, bytes: Uint8Array) => {
      const own = bytesAt(tensor.address, tensor.layout.byteLength);
      const fence = this.target.context.line.submitRaw(command(() => own.set(bytes), []));
      return () => fence.wait();
    },
    read: async (tensor: FakeTensor) => {
      const bytes = new Uint8Array(tensor.layout.byteLength);
      const own = bytesAt(tensor.address, tensor.layout.byteLength);
      await this.target.context.line.submitRaw(command(() => bytes.set(own), [])).wait();
      return bytes;
    },
  };
}
