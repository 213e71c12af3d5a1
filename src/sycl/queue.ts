import type { Address } from "../../ffi/address.ts";
import type { DPCTLSyclEventRef, DPCTLSyclQueueRef } from "../../ffi/sycl/handles.ts";
import { isMade } from "../core/argument.ts";
import type { Call, Commands } from "../core/contract.ts";
import { assertFew } from "../core/device/box.ts";
import { Line, type Use } from "../core/device/line.ts";
import { type FillValue, patternIn } from "../core/device/pattern.ts";
import { DeviceQueue, type Direction, type HostBytes } from "../core/device/queue.ts";
import { wrongMemory } from "../core/device/wrong_memory.ts";
import { countOf, placesOf, type Runs, runsBetween, runsOf } from "../core/layout/runs.ts";
import type { Access } from "../core/memory/access.ts";
import type { SyclContext } from "./context.ts";
import { command, SyclLane } from "./lane.ts";
import { checks, sycl } from "./library.ts";
import { copyCall, SyclTensor } from "./usm.ts";

/** A queue, which runs its commands in order. Work on a tensor waits for the earlier work on it. */
export class SyclQueue extends DeviceQueue<SyclLane, SyclTensor> {
  /** Its context. */
  override readonly context: SyclContext;
  /** Its line of work. For mappers. */
  override readonly line: Line<SyclLane>;
  /** SYCL's commands. */
  protected override readonly commands: Commands<SyclLane, SyclTensor>;

  /** Made by `sycl.createQueue()`, and once by the context. */
  constructor(context: SyclQueue["context"], driver: Line<SyclLane>["driver"]) {
    super();
    this.context = context;
    this.commands = commandsOf(context);
    const { raw: { context: owner, device }, resource } = context;
    this.line = new Line<SyclLane>({
      driver,
      name: `sycl queue (${context.name})`,
      owners: [resource],
      open: (events) => new SyclLane(owner, device, events),
    });
  }

  /** The `DPCTLSyclQueueRef`, a `sycl::queue*`. Declare work that you submit to it yourself with `tensor.usedBy`. */
  get handle(): DPCTLSyclQueueRef {
    this.resource.assertLive();
    return this.line.lane.queue;
  }
}

const TAKES = { expected: "a SyclTensor", target: "sycl.usm" };

function commandsOf(context: SyclContext): Commands<SyclLane, SyclTensor> {
  return {
    checks,

    useOf(tensor: SyclTensor, access: Access, argument: string): Use {
      if (!isMade(tensor, SyclTensor)) throw wrongMemory(checks, tensor, access, argument, TAKES);
      tensor.assertUsable(access);
      checks.assertHere(tensor.target.context, context, argument, tensor.name);
      return { tensor, access, argument };
    },

    fill(to: SyclTensor, value: FillValue): Call<SyclLane>[] {
      const pattern = patternIn(value, to.layout.dtype, checks);
      const { fn, submit } = fillOf(pattern);
      const { length, dimensions } = runsOf([to.layout]);
      assertFits(to, { length, dimensions }, pattern.length, fn);
      const count = BigInt(length / pattern.length);
      return placesOf([0], dimensions).map(([place]) => {
        const at = to.address + BigInt(place) as Address;
        return command(fn, ({ queue }) => submit(queue, at, count));
      });
    },

    copy(from: SyclTensor, to: SyclTensor): Call<SyclLane>[] {
      const { length, dimensions } = runsBetween(from, to, { api: "sycl", argument: "to" });
      assertFew(countOf(dimensions), to.name, { api: "sycl", argument: "to", fn: "DPCTLQueue_Memcpy" });
      return placesOf([0, 0], dimensions).map(([source, target]) =>
        copyCall(to.address + BigInt(target) as Address, from.address + BigInt(source) as Address, length)
      );
    },

    move(direction: Direction, { rawHandle }: SyclTensor, { bytes, address }: HostBytes, begin: number) {
      const own = rawHandle + BigInt(begin) as Address;
      const [to, from] = direction === "read" ? [address, own] : [own, address];
      return [copyCall(to, from, bytes.length)];
    },
  };
}

type Fill = (queue: DPCTLSyclQueueRef, at: Address, count: bigint) => DPCTLSyclEventRef;

/** The command for a pattern of 1 to 16 bytes. */
function fillOf(pattern: Uint8Array<ArrayBuffer>): { readonly fn: string; readonly submit: Fill } {
  const view = new DataView(pattern.buffer);
  const lib = sycl();
  switch (pattern.length) {
    case 1:
      return { fn: "DPCTLQueue_Fill8", submit: (...to) => lib.DPCTLQueue_Fill8(...with_(to, view.getUint8(0))) };
    case 2:
      return {
        fn: "DPCTLQueue_Fill16",
        submit: (...to) => lib.DPCTLQueue_Fill16(...with_(to, view.getUint16(0, true))),
      };
    case 4:
      return {
        fn: "DPCTLQueue_Fill32",
        submit: (...to) => lib.DPCTLQueue_Fill32(...with_(to, view.getUint32(0, true))),
      };
    case 8:
      return {
        fn: "DPCTLQueue_Fill64",
        submit: (...to) => lib.DPCTLQueue_Fill64(...with_(to, view.getBigUint64(0, true))),
      };
    case 16:
      return { fn: "DPCTLQueue_Fill128", submit: (...to) => lib.DPCTLQueue_Fill128(...with_(to, pattern)) };
  }
  throw checks.wrong("value", `SYCL fills with 1, 2, 4, 8 or 16 bytes, and these are ${pattern.length}.`);
}

function with_<V>([queue, at, count]: Parameters<Fill>, value: V): [DPCTLSyclQueueRef, Address, V, bigint] {
  return [queue, at, value, count];
}

/** SYCL fills whole patterns, at multiples of their size. */
function assertFits({ name, address }: SyclTensor, { length, dimensions }: Runs, size: number, fn: string): void {
  assertFew(countOf(dimensions), name, { api: "sycl", fn, argument: "to" });
  const steps = [length, Number(address % BigInt(size)), ...dimensions.map(({ strides }) => strides[0])];
  const odd = steps.find((step) => step % size !== 0);
  if (odd === undefined) return;
  const what = `the rows of ${name}, or their length, are no multiples of the pattern's ${size} bytes: ${odd}.`;
  throw checks.unfit("to", what, undefined, fn);
}
