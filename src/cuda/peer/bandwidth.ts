import { throwAll } from "../../core/errors.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import type { CudaContext } from "../context.ts";
import type { CudaStream } from "../stream.ts";
import type { CudaTensor } from "../tensor.ts";
import type { CudaTimer } from "../timer.ts";

/** A device's bandwidths in GB/s. */
export interface PeerBandwidth {
  /** From another device's memory to its own. */
  readonly peer: number;
  /** Within its own memory, reads and writes together. */
  readonly own: number;
}

/** The bytes of one copy, and the number of timed copies after a first untimed one. */
const BYTES = 64 * 1024 * 1024;
const TIMES = 4;

/** Measures copies of 64 MiB between events. Access is enabled already. */
export function bandwidth(reader: CudaContext, owner: CudaContext): PeerBandwidth {
  const undo: Undo = [];
  const made = <T extends Disposable>(object: T): T => {
    undo.push(() => object[Symbol.dispose]());
    return object;
  };
  let measured: PeerBandwidth;
  try {
    const block = { shape: [BYTES], dtype: "u8" } as const;
    const [to, own, theirs] = [reader, reader, owner].map((context) => made(context.allocate(block)));
    const [stream, timer] = [made(reader.createStream()), made(reader.timer())];
    measured = { peer: rate(stream, timer, to, theirs), own: 2 * rate(stream, timer, to, own) };
  } catch (error) {
    throwAll([error, ...unwind(undo)], "measuring bandwidth");
    throw error;
  }
  throwAll(unwind(undo), "measuring bandwidth");
  return measured;
}

/** The bandwidth of copies from one tensor to another, in GB/s. */
function rate(stream: CudaStream, timer: CudaTimer, to: CudaTensor, from: CudaTensor): number {
  const ends = { to: to.context.device.ordinal, from: from.context.device.ordinal };
  const call = stream.context.peers.copy(to.address, from.address, BYTES, ends);
  const copy = () => stream.line.submitRaw(call);
  copy();
  timer.start(stream);
  for (let i = 0; i < TIMES; i++) copy();
  timer.stop(stream);
  stream.finish();
  return TIMES * BYTES / timer.milliseconds() / 1e6;
}
