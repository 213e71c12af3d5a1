/**
 * 5. What users open: a device, its line of work, and the kinds of memory that it has.
 *
 * @module
 */
import { Line } from "../../../../src/core/device/line.ts";
import type { Memory, MemoryTarget } from "../../../../src/core/contract.ts";
import { PrintedTarget } from "../../../../src/core/graph/context.ts";
import { DeviceContext } from "../../../../src/core/graph/device_context.ts";
import type { ImageInfo } from "../../../../src/core/layout/frame_info.ts";
import type { LayoutInit } from "../../../../src/core/layout/layout.ts";
import type { Frame } from "../../../../src/core/tensors/frame.ts";
import type { Mapped } from "../../../../src/core/tensors/mapped.ts";
import { allocateFrame, allocateTensor } from "../../../../src/core/tensors/over.ts";
import { driver, FakeLane } from "./driver.ts";
import { type FakeKind, isInPlace, memoryOf } from "./memory.ts";
import { FakeQueue } from "./queue.ts";
import type { FakeTensor } from "./tensor.ts";

/** One kind of memory in a context. */
export class FakeTarget extends PrintedTarget<FakeContext> implements MemoryTarget<FakeTensor> {
  /** The kind's name, which edges use. */
  readonly kind: FakeKind;
  /** True if the host uses it in place. */
  readonly isInPlace: boolean;
  /** What it gives to other kinds of memory, and what it takes from them. */
  readonly ports: Memory<FakeTensor>;

  /** Made by contexts. */
  constructor(kind: FakeKind, context: FakeContext) {
    super(context);
    this.kind = kind;
    this.isInPlace = isInPlace(kind);
    this.ports = memoryOf(kind, context.line);
  }

  /** True for a tensor that lives here. */
  is(value: Mapped): value is FakeTensor {
    return value.target === this;
  }

  /** Zeroed memory. */
  allocate(init: LayoutInit): FakeTensor {
    return allocateTensor(this, init);
  }

  /** One block for all planes. */
  allocateFrame(info: ImageInfo): Frame<FakeTensor> {
    return allocateFrame(this, info);
  }
}

/** An open device of the fake. */
export class FakeContext extends DeviceContext {
  /** The API's name. */
  override readonly api = "fake";
  /** The kinds of memory that it has. */
  override readonly targets: readonly FakeTarget[];
  /** Its work, in order. */
  readonly line: Line<FakeLane>;
  /** What fills, copies, reads and writes. */
  readonly queue: FakeQueue;

  /** Opens it, with some kinds of memory. */
  constructor(name: string, kinds: readonly FakeKind[] = ["fake.alias", "fake.migrate", "fake.copy"]) {
    super("fake", { name, id: {} }, []); // two contexts with the same UUID are on the same device; the fake has none
    const owners = [this.resource];
    this.line = new Line<FakeLane>({ driver, name, owners, open: (events) => new FakeLane(events) });
    this.queue = new FakeQueue(this);
    this.targets = kinds.map((kind) => new FakeTarget(kind, this));
    this.opened(); // from now on a warning says if it was never disposed
  }

  /** The target of a kind. */
  target(kind: string): FakeTarget {
    return this.targets.find((target) => target.kind === kind)!;
  }
}
