import type { Address } from "../../ffi/address.ts";
import { callbackAddress } from "../core/native/callbacks.ts";
import { functionsByAddress } from "../core/native/library.ts";
import { Assembler } from "../guard/assembler.ts";
import { loadFunctions } from "../guard/functions.ts";
import { assertMachine } from "../guard/machine.ts";
import { byStubs } from "../guard/stubs.ts";

/** The indices of a run's words. */
export const RUN = {
  /** The semaphore that is posted at the run's end. */
  flag: 0,
  /** The run's status. The code that reads it releases it. */
  status: 1,
  /** OrtApi's function `Run`. */
  fn: 2,
  /** Its eight arguments. */
  session: 3,
  options: 4,
  inputNames: 5,
  inputs: 6,
  inputCount: 7,
  outputNames: 8,
  outputCount: 9,
  outputs: 10,
  /** The values of inputs, then of outputs. */
  values: 11,
} as const;

interface RunCode {
  /** Runs on another thread. */
  RunElsewhere(run: Address): Promise<void>;
}

export const SYMBOLS = { RunElsewhere: { parameters: ["u64"], result: "void", nonblocking: true } } as const;

let made: RunCode | undefined;

/**
 * `void RunElsewhere(void *run)`, on a Deno thread: calls `Run`, keeps its status, and posts the run's semaphore, so that a
 * thread that blocks sees the end too. OrtApi's RunAsync is no alternative: it takes one of the session's threads, and a run
 * on two threads takes twice as long.
 *
 * @throws {InteropError} on machines that are not x86-64.
 */
export function runCode(): RunCode {
  if (made !== undefined) return made;
  assertMachine("A run on another thread", { api: "onnxruntime", hint: "Use run()." });
  const { elsewhere } = loadFunctions("onnxruntime", { elsewhere: codeOf(callbackAddress("sem_post")) });
  return made = functionsByAddress("onnxruntime_run", SYMBOLS, () => elsewhere, byStubs) as unknown as RunCode;
}

function codeOf(post: Address) {
  const at = (word: number) => 8 * word;
  return new Assembler()
    .entry()
    .op(0x53) // push rbx: the stack is aligned from here on
    .op(0x48, 0x89, 0xfb) // mov rbx, rdi
    .op(0xff, 0x73, at(RUN.outputs)) // push [rbx + outputs]
    .op(0xff, 0x73, at(RUN.outputCount)) // push [rbx + outputCount]
    .op(0x48, 0x8b, 0x7b, at(RUN.session)) // mov rdi, [rbx + session]
    .op(0x48, 0x8b, 0x73, at(RUN.options)) // mov rsi, [rbx + options]
    .op(0x48, 0x8b, 0x53, at(RUN.inputNames)) // mov rdx, [rbx + inputNames]
    .op(0x48, 0x8b, 0x4b, at(RUN.inputs)) // mov rcx, [rbx + inputs]
    .op(0x4c, 0x8b, 0x43, at(RUN.inputCount)) // mov r8, [rbx + inputCount]
    .op(0x4c, 0x8b, 0x4b, at(RUN.outputNames)) // mov r9, [rbx + outputNames]
    .op(0xff, 0x53, at(RUN.fn)) // call [rbx + fn]
    .op(0x48, 0x83, 0xc4, 16) // add rsp, 16
    .op(0x48, 0x89, 0x43, at(RUN.status)) // mov [rbx + status], rax
    .op(0x48, 0x8b, 0x3b) // mov rdi, [rbx + flag]
    .op64([0x48, 0xb8], post) // mov rax, sem_post
    .op(0x5b) // pop rbx
    .op(0xff, 0xe0) // jmp rax: nothing of the run is touched once it is posted
    .done();
}
