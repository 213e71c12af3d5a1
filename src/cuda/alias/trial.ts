import { until } from "../../core/device/proofs.ts";
import type { Undo } from "../../core/life/undo.ts";
import { bytesAt } from "../../core/native/pin.ts";
import type { CudaContext } from "../context.ts";
import { ANSWER } from "./answer_ptx.ts";
import type { Sample } from "./samples.ts";

/** Bytes that the device reads, and as many that it writes. */
const LENGTH = 512;

/** The two words by which host and kernel talk. */
const STARTED = 0;
const GO = 1;

/** Where the two halves begin, in bytes. */
const QUESTION = 64;
const ANSWERED = QUESTION + LENGTH;

/** Bytes that an experiment takes. */
export const TRIAL_BYTES: number = ANSWERED + LENGTH;

/** How long a kernel waits for the host's question, and the host for each word of it, in milliseconds. */
const PATIENCE_MS = 500;

/** Tries: a busy machine may keep host and device apart for as long as their patience lasts. */
const TRIES = 3;

/**
 * What kept memory from being an alias; undefined where nothing did. While one kernel runs, it is asked and answers: it
 * says that it has started, the host writes fresh random bytes and says so, the kernel writes what it makes of them, and
 * the host sees that. Between them nobody calls CUDA.
 */
export function trial(context: CudaContext, sample: Sample, undo: Undo): string | undefined {
  const program = context.programFromPtx(ANSWER);
  undo.push(() => program[Symbol.dispose]());
  const types = ["unsigned long long", "unsigned int", "unsigned int", "unsigned int"] as const;
  const kernel = program.kernel("samepage_answer", types);
  const stream = context.createStream();
  undo.push(() => stream[Symbol.dispose]());
  const { buffer } = bytesAt(sample.host, TRIAL_BYTES, "cuda", undo);
  const launch = (token: number, patience: number) =>
    kernel.run({ grid: [1], block: [1], stream }, [sample.device, LENGTH, token, patience]);
  launch(1, 1); // once beforehand: nothing is left to load
  stream.finish();
  let missed: string | undefined;
  for (let i = 0; i < TRIES; i++) {
    missed = ask(buffer, launch);
    stream.finish();
    if (missed === undefined) return undefined;
  }
  return missed;
}

/** One question, and what was missed of the answer. */
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
  return seen ? undefined : "the CPU did not see what a running kernel made of bytes that it had written";
}
