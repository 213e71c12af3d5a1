import { MapperGraph } from "../../mod.ts";
import type { Address } from "../../ffi/address.ts";
import type { LayoutInit } from "../../src/core/layout/layout.ts";
import type { ImageInfo } from "../../src/core/layout/frame_info.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import type { AttachOptions } from "../../src/core/tensors/adopt.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import type { UsmKind } from "../../src/core/tensors/unified.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import { host } from "../../src/host/mod.ts";
import { LevelZeroContext, type LevelZeroTensor, type LevelZeroUsm } from "../../src/levelzero/mod.ts";
import { levelZero } from "../../src/levelzero/library.ts";
import { struct } from "../../src/levelzero/struct.ts";
import { behave, counts, DEVICE, useDrivers } from "../levelzero/drivers.ts";
import { asBytes, bytesAt, separateFrame } from "./bytes.ts";
import { SIZE } from "./case.ts";
import { hostEnd } from "./host_end.ts";
import type { Candidate, End, Foreign, RawEnd, Subject } from "./subject.ts";

/** Why the driver of the tests is not here. */
export const noLevelZero: string | undefined = await useDrivers();

/** What keeps the queue busy for some milliseconds. */
const BUSY = 8 << 20;

const TO_HOST = "levelzero.usm→host";
const TO_ANOTHER = "levelzero.usm→levelzero.usm";

/** The edges of Level Zero's memory, on the driver of the tests. */
export function levelzeros(): Candidate[] {
  const here = (candidate: Candidate): Candidate =>
    noLevelZero === undefined ? candidate : { ...candidate, open: noLevelZero };
  return [
    ...(["host", "shared", "device"] as const).map((kind, i): Candidate => ({
      edge: TO_HOST,
      device: `${kind} memory`,
      covered: i > 0,
      open: () => opened(kind, "host"),
    })),
    { edge: TO_ANOTHER, device: "device memory", open: () => opened("device", "another"), openedElsewhere: true },
  ].map(here);
}

function opened(kind: UsmKind, to: "host" | "another"): Subject {
  const { ends: [one, other, third], contexts, ...rest } = levelZeroEnds(kind, 3);
  return {
    ...rest,
    graph: new MapperGraph([host, ...contexts]),
    source: one,
    target: to === "host" ? hostEnd : other,
    elsewhere: to === "host" ? hostEnd : third,
    expected: to === "host" && kind === "device" ? "copy" : "alias",
    ...(to === "host" && kind !== "device" ? { withoutCalls: true } : {}), // the host has its address already
  };
}

/** Ends in contexts of their own, and what a subject has of them. */
export function levelZeroEnds(kind: UsmKind, count: number) {
  behave();
  const { misused } = counts();
  const ends = Array.from({ length: count }, () => new LevelZeroEnd(kind));
  return {
    ends,
    contexts: ends.map(({ target: { context } }) => context),
    alive: () => counts().alive,
    openContext: () => LevelZeroContext.open({ device: DEVICE }),
    [Symbol.dispose]() {
      using all = new DisposableStack();
      all.defer(() => {
        const { misused: since } = counts();
        if (since > misused) throw new Error(`the driver was misused ${since - misused} times`);
      });
      for (const end of ends) all.use(end);
    },
  };
}

/** Level Zero's end of an edge: copies of a command list's write and read, with samepage's checks and without. */
class LevelZeroEnd implements End, Disposable {
  readonly target: LevelZeroUsm;
  readonly hidden: boolean;
  readonly #context: LevelZeroContext;
  readonly #kind: UsmKind;
  readonly #busy: LevelZeroTensor;

  constructor(kind: UsmKind) {
    this.#context = LevelZeroContext.open({ device: DEVICE });
    this.target = this.#context.usm;
    this.#kind = kind;
    this.hidden = kind === "device";
    this.#busy = this.target.allocate({ kind: "host", shape: [BUSY], dtype: "u8" });
    this.raw = kind === "device" ? this.#raw : { ...this.#raw, look: (tensor) => look(tensor as LevelZeroTensor) };
    using few = this.target.allocate({ kind: "host", shape: [16], dtype: "u8" });
    this.#context.queue.fill(this.#busy, 1); // behind it they are all in flight at a time
    for (let i = 0; i < 40; i++) this.#context.queue.fill(few, 1); // the events that it will use again
    this.#context.queue.finish();
  }

  allocate(init: LayoutInit): Tensor {
    return this.target.allocate({ ...init, kind: this.#kind });
  }

  allocateFrame(info: ImageInfo): Frame {
    return separateFrame((init) => this.allocate(init), info);
  }

  foreign(): Foreign {
    const { handle, device } = this.#context;
    const out = new BigUint64Array(1);
    const desc = struct("ze_device_mem_alloc_desc_t");
    const code = this.#kind === "host"
      ? levelZero().zeMemAllocHost(handle, struct("ze_host_mem_alloc_desc_t"), BigInt(SIZE), 0n, out)
      : levelZero().zeMemAllocDevice(handle, desc, BigInt(SIZE), 0n, device.handle, out);
    if (code !== 0) throw new Error(`the driver refused: ${code}`);
    const pointer = out[0] as Address;
    const attach = (length: number, options?: AttachOptions) =>
      this.target.attach(pointer, { shape: [length], dtype: "u8" }, options);
    return {
      attach: (options) => attach(SIZE, options),
      misfit: (options) => attach(SIZE + 1, options),
      [Symbol.dispose]: () => void levelZero().zeMemFree(handle, pointer),
    };
  }

  submit(tensor: Tensor, bytes: Uint8Array): Fence {
    const from = this.#filled(bytes);
    const { queue } = this.#context;
    queue.fill(this.#busy, 1);
    using to = asBytes(tensor);
    queue.copy(from, to as LevelZeroTensor);
    const fence = queue.fence();
    from.disposeAfter(fence);
    tensor.usedBy(fence);
    return fence;
  }

  // deno-lint-ignore require-await -- what it throws is a rejection, as at every end
  async write(tensor: Tensor, bytes: Uint8Array): Promise<void> {
    this.#context.queue.write(tensor as LevelZeroTensor, bytes);
  }

  // deno-lint-ignore require-await
  async read(tensor: Tensor): Promise<Uint8Array> {
    const bytes = new Uint8Array(tensor.layout.byteLength);
    this.#context.queue.read(tensor as LevelZeroTensor, bytes);
    return bytes;
  }

  readonly raw: RawEnd;

  readonly #raw: RawEnd = {
    write: (tensor: Tensor, bytes: Uint8Array) => {
      const from = this.#filled(bytes);
      const { address } = tensor as LevelZeroTensor;
      const fence = this.#context.queue.line.submitRaw(this.target.copyCall(address, from.address, bytes.length));
      return async () => {
        await fence.wait();
        from[Symbol.dispose]();
      };
    },
    read: (tensor: Tensor) => {
      const { address, layout: { byteLength } } = tensor as LevelZeroTensor;
      const bytes = new Uint8Array(byteLength);
      const into = addressOf(bytes, "levelzero");
      this.#context.queue.line.submitRaw(this.target.copyCall(into, address, byteLength)).waitSync();
      return Promise.resolve(bytes);
    },
  };

  #filled(bytes: Uint8Array): LevelZeroTensor {
    const tensor = this.target.allocate({ kind: "host", shape: [bytes.length], dtype: "u8" });
    this.#context.queue.write(tensor, bytes);
    return tensor;
  }

  [Symbol.dispose](): void {
    this.#context[Symbol.dispose]();
  }
}

function look({ address, layout: { byteLength } }: LevelZeroTensor): Uint8Array {
  return bytesAt(address, byteLength);
}
