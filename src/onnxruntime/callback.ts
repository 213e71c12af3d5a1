import type { Address } from "../../ffi/address.ts";
import { callbackAddress } from "../core/native/callbacks.ts";
import { Assembler } from "../guard/assembler.ts";
import { loadFunctions } from "../guard/functions.ts";
import { assertMachine } from "../guard/machine.ts";

/** Where the words of a run lie, in what its callback gets. */
export const RUN = {
  /** The semaphore that is posted. */
  flag: 0,
  /** The run's status, which its reader releases. */
  status: 1,
  /** The values of inputs, then of outputs. */
  values: 2,
} as const;

let ended: Address | undefined;

/**
 * The address of `void ended(void *run, OrtValue **, size_t, OrtStatus *status)`, which RunAsync calls on a thread of its own:
 * it keeps the status, and posts the run's semaphore. `sem_post` alone would lose the status.
 *
 * @throws {InteropError} where there is no machine code for this machine.
 */
export function endedCallback(): Address {
  if (ended !== undefined) return ended;
  assertMachine("What ends a run on ONNX Runtime's threads", { api: "onnxruntime", hint: "Use run()." });
  const code = new Assembler();
  code.op(0xf3, 0x0f, 0x1e, 0xfa); // endbr64: an indirect call may arrive here
  code.op(0x48, 0x89, 0x4f, 8 * RUN.status); // mov [rdi + status], rcx
  code.op(0x48, 0x8b, 0x3f); // mov rdi, [rdi + flag]
  code.op64([0x48, 0xb8], callbackAddress("sem_post")); // mov rax, sem_post
  code.op(0xff, 0xe0); // jmp rax
  return ended = loadFunctions("onnxruntime", { ended: code.done() }).ended;
}
