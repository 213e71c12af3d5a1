import { Allocation } from "../../../src/core/memory/allocation.ts";
import type { Context, DeviceId, Target } from "../../../src/core/graph/context.ts";
import type { Fence } from "../../../src/core/life/fence.ts";
import type { Frame } from "../../../src/core/tensors/frame.ts";
import { type ImageInfo, planeLayouts } from "../../../src/core/layout/frame_info.ts";
import { Grant } from "../../../src/core/memory/grant.ts";
import { describeLayout, type Layout, layout, type LayoutInit } from "../../../src/core/layout/layout.ts";
import { ledger } from "../../../src/core/life/ledger.ts";
import type { Mapped } from "../../../src/core/tensors/mapped.ts";
import type { Transfer } from "../../../src/core/graph/route.ts";
import { Resource } from "../../../src/core/life/resource.ts";
import type { Undo } from "../../../src/core/life/undo.ts";
import { fake, FAKE_OK } from "./driver.ts";
import { check, FakeFence } from "./fence.ts";
import { fakeFrame, FakeTensor } from "./tensor.ts";

/** The kinds of memory, and what a map between the host and each of them does. */
export const KINDS = {
  "fake.alias": "alias",
  "fake.migrate": "migrate",
  "fake.copy": "copy",
  "fake.pretend": "copy",
} as const satisfies Record<string, Transfer>;

/** The name of a kind of the fake's memory; `"fake.pretend"` copies, and says that it aliases. */
export type FakeKind = keyof typeof KINDS;

/** One kind of memory in a context. */
export class FakeTarget implements Target<FakeTensor> {
  readonly kind: FakeKind;
  readonly context: FakeContext;

  constructor(kind: FakeKind, context: FakeContext) {
    this.kind = kind;
    this.context = context;
  }

  is(value: Mapped): value is FakeTensor {
    return value.target === this;
  }

  /** Zeroed memory. */
  allocate(init: LayoutInit): FakeTensor {
    const made = layout(init);
    const name = `${this.kind} tensor ${describeLayout(made)}`;
    const { handle, resource } = this.#own(made.byteOffset + made.byteLength, made.byteOffset, name);
    return new FakeTensor({ target: this, handle, layout: made, resource });
  }

  /** One block for all planes. */
  allocateFrame(info: ImageInfo): Frame<FakeTensor> {
    const layouts = planeLayouts(info);
    const last: Layout = layouts[layouts.length - 1];
    const { handle, resource } = this.#own(last.byteOffset + last.byteLength, 0, `${this.kind} frame ${info.format}`);
    return fakeFrame(this, resource, info, layouts.map((l) => ({ handle, layout: l })));
  }

  #own(byteLength: number, start: number, name: string): { handle: bigint; resource: Resource } {
    this.context.resource.assertLive();
    const handle = this.context.memory(byteLength, undefined);
    const free = () => check(fake.fakeRelease(handle), "fakeRelease");
    const allocation = new Allocation({ kind: "fake.memory", byteLength, free });
    allocation.join();
    const grants = [Grant.root(allocation, start, byteLength, "read-write", name)];
    const undo = [() => allocation.leave()];
    return { handle, resource: new Resource({ name, grants, undo, owners: [this.context.resource] }) };
  }
}

const out = new BigUint64Array(1);

/** An open device of the fake. */
export class FakeContext implements Context {
  readonly api = "fake";
  readonly name: string;
  readonly id: DeviceId = {};
  readonly targets: readonly FakeTarget[];
  readonly resource: Resource;
  readonly #queue: bigint;

  constructor(name: string) {
    this.name = name;
    check(fake.fakeCreateQueue(out), "fakeCreateQueue");
    const queue = this.#queue = out[0];
    ledger.add("fake.queue");
    const release = () => {
      ledger.remove("fake.queue");
      check(fake.fakeReleaseQueue(queue), "fakeReleaseQueue");
    };
    this.resource = new Resource({ name, undo: [release] });
    this.targets = Object.keys(KINDS).map((kind) => new FakeTarget(kind as FakeKind, this));
  }

  /** The target of a kind. */
  target(kind: string): FakeTarget {
    return this.targets.find((target) => target.kind === kind)!;
  }

  /** Memory of the device's own, or the host's at an address. */
  memory(byteLength: number, address: bigint | undefined): bigint {
    if (address === undefined) check(fake.fakeAllocate(byteLength, out), "fakeAllocate");
    else check(fake.fakeImport(address, byteLength, out), "fakeImport");
    return out[0];
  }

  /** The same, counted by the ledger, for as long as the undo list says. */
  counted(byteLength: number, address: bigint | undefined, undo: Undo): bigint {
    const handle = this.memory(byteLength, address);
    ledger.add("fake.memory");
    undo.push(() => {
      ledger.remove("fake.memory");
      check(fake.fakeRelease(handle), "fakeRelease");
    });
    return handle;
  }

  /** Work for the device with some memory, after other work of any device of the fake. */
  submit(work: () => void, memory: readonly bigint[], after: readonly Fence[] = []): FakeFence {
    const waits = after.map((fence) => (fence as FakeFence).event);
    check(fake.fakeSubmit(this.#queue, work, memory, waits, out), "fakeSubmit");
    return new FakeFence(this, this, out[0]);
  }

  /** Work that is done when the test says so. */
  userEvent(): { fence: FakeFence; set(code?: number): void } {
    check(fake.fakeCreateUserEvent(out), "fakeCreateUserEvent");
    const fence = new FakeFence(this, {}, out[0]);
    return { fence, set: (code = FAKE_OK) => check(fake.fakeSetUserEvent(fence.event, code), "fakeSetUserEvent") };
  }

  [Symbol.dispose](): void {
    this.resource.dispose();
  }
}
