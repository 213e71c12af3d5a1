import type { Address } from "../../../ffi/address.ts";
import type { Call } from "../../core/contract.ts";
import { thenUndo } from "../../core/life/undo.ts";
import { cudart } from "../library.ts";
import { deviceTensor } from "../memory/device.ts";
import { CudaStream, type CudaStreamContext } from "../stream.ts";
import { onStream, type StreamLane } from "../stream_lane.ts";
import type { CudaTensor } from "../tensor.ts";
import { CudaTimer } from "../timer.ts";

/** A device's bandwidths in GB/s. */
export interface PeerBandwidth {
  /** Copies from another device's memory to its own. */
  readonly peer: number;
  /** Copies within its own memory, reads and writes added. */
  readonly own: number;
}

const BYTES = 64 * 1024 * 1024;
const TIMES = 4;

/** The device of each end of a copy. */
export interface PeerOrdinals {
  /** The ordinal of the target's device. */
  readonly to: number;
  /** The ordinal of the source's device. */
  readonly from: number;
}

/** A copy between devices (cudaMemcpyPeerAsync), by a stream of either. */
export function copyBetween(to: Address, from: Address, byteLength: number, ordinals: PeerOrdinals): Call<StreamLane> {
  const fn = "cudaMemcpyPeerAsync";
  const length = BigInt(byteLength);
  return onStream(fn, (on) => cudart()[fn](to, ordinals.to, from, ordinals.from, length, on));
}

export function bandwidth(reader: CudaStreamContext, owner: CudaStreamContext): PeerBandwidth {
  return thenUndo("measuring bandwidth", (undo) => {
    const made = <T extends Disposable>(object: T): T => {
      undo.push(() => object[Symbol.dispose]());
      return object;
    };
    const block = { shape: [BYTES], dtype: "u8" } as const;
    const [to, own, theirs] = [reader, reader, owner].map((context) => made(deviceTensor(context, block)));
    const [stream, timer] = [made(new CudaStream(reader)), made(new CudaTimer(reader))];
    return { peer: rate(stream, timer, to, theirs), own: 2 * rate(stream, timer, to, own) };
  });
}

function rate(stream: CudaStream, timer: CudaTimer, to: CudaTensor, from: CudaTensor): number {
  const ends = { to: to.context.device.ordinal, from: from.context.device.ordinal };
  const call = copyBetween(to.address, from.address, BYTES, ends);
  const copy = () => stream.line.submitRaw(call);
  copy();
  timer.start(stream);
  for (let i = 0; i < TIMES; i++) copy();
  timer.stop(stream);
  stream.finish();
  return TIMES * BYTES / timer.milliseconds() / 1e6;
}
