import { until } from "../../core/device/proofs.ts";
import type { Undo } from "../../core/life/undo.ts";
import { bytesAt } from "../../core/native/pin.ts";
import { programFromPtx } from "../program.ts";
import { CudaStream, type CudaStreamContext } from "../stream.ts";
import { ANSWER } from "./answer_ptx.ts";
import type { Sample } from "./samples.ts";

/** The bytes that the device reads, and also the bytes that it writes. */
const LENGTH = 512;

const STARTED = 0;
const GO = 1;

const QUESTION = 64;
const ANSWERED = QUESTION + LENGTH;

export const TRIAL_BYTES: number = ANSWERED + LENGTH;

/** How long a kernel waits for the host's question, and the host for each word of it, in milliseconds. */
const PATIENCE_MS = 500;

/** Several tries, because a busy machine may stop the host for longer than the kernel waits. */
const TRIES = 3;

/**
 * Why the memory is not an alias; undefined if it is one. Host and kernel exchange bytes while the kernel runs, without any
 * CUDA call: the kernel signals its start, the host writes random bytes and signals that, and the kernel writes a reply, which
 * the host has to see.
 */
export function trial(context: CudaStreamContext, sample: Sample, undo: Undo): string | undefined {
  const program = programFromPtx(context, ANSWER);
  undo.push(() => program[Symbol.dispose]());
  const types = ["unsigned long long", "unsigned int", "unsigned int", "unsigned int"] as const;
  const kernel = program.kernel("samepage_answer", types);
  const stream = new CudaStream(context);
  undo.push(() => stream[Symbol.dispose]());
  const { buffer } = bytesAt(sample.host, TRIAL_BYTES, "cuda", undo);
  const launch = (token: number, patience: number) =>
    kernel.run({ groups: [1], groupSize: [1] }, [sample.device, LENGTH, token, patience], { stream });
  launch(1, 1); // once beforehand, so that the driver has loaded the kernel
  stream.finish();
  let missed: string | undefined;
  for (let i = 0; i < TRIES; i++) {
    missed = ask(buffer, launch);
    stream.finish();
    if (missed === undefined) return undefined;
  }
  return missed;
}

/** One exchange. Returns which writes were not seen; undefined if all were. */
function ask(buffer: ArrayBuffer, launch: (token: number, patience: number) => void): string | undefined {
  const words = new Int32Array(buffer, 0, 2);
  const question = new Uint8Array(buffer, QUESTION, LENGTH);
  const answer = new Uint8Array(buffer, ANSWERED, LENGTH);
  const fresh = crypto.getRandomValues(new Uint8Array(LENGTH));
  const token = crypto.getRandomValues(new Int32Array(1))[0] | 1;
  const expected = fresh.map((byte, i) => byte ^ ((token + i) & 0xff));
  words.fill(0);
  question.fill(0);
  answer.set(expected.map((byte) => ~byte));
  launch(token >>> 0, PATIENCE_MS);
  if (!until(() => Atomics.load(words, STARTED) === token, PATIENCE_MS)) {
    return "the CPU did not see that the kernel had started";
  }
  question.set(fresh);
  Atomics.store(words, GO, token);
  const seen = until(() => answer.every((byte, i) => byte === expected[i]), PATIENCE_MS);
  return seen ? undefined : "the CPU did not see a running kernel's answer to the bytes that it wrote";
}
