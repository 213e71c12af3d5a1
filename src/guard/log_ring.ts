import { type Address, NULL } from "../../ffi/address.ts";
import { shown } from "../core/argument.ts";
import { NativeCallError, warn } from "../core/errors.ts";
import { mapPages, unmapPages } from "../core/native/blocks.ts";
import { bytesAt } from "../core/native/pin.ts";
import { Assembler, JA } from "./assembler.ts";
import { loadFunctions } from "./functions.ts";
import { isMachine } from "./machine.ts";
import type { Code } from "./x86_64.ts";

/** Offsets in the ring: the least important level that is kept, the number of lines so far, and the lines. */
const RING = { level: 0, next: 4, lines: 64 } as const;
/** A line is its number, counted from 1 and written last, and its text. Powers of two, for the machine code. */
const [LINES, LINE, TEXT] = [64, 256, 8];
const BYTES = RING.lines + LINES * LINE;

/** How many texts are reported between calls of {@link LogRing.begin}: a damaged file may cause thousands. */
const MOST = 10;

/** The bytes of a line's text, with the 0 at its end. */
const TEXT_BYTES = LINE - TEXT;

/**
 * Turns what a library logs on threads without JavaScript into warnings. Its callback is machine code, which writes into
 * a ring: each call takes the next line, also while other threads write theirs.
 */
export class LogRing {
  /** The library's name, with which each warning begins. */
  readonly #library: string;
  readonly #words: Uint32Array<ArrayBuffer>;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly callback: Address;
  #read = 0;
  /** Each text is reported once. */
  readonly #reported = new Set<string>();

  /**
   * Makes a ring that is never freed, because any thread may write to it; undefined if no machine code may run.
   *
   * @param write adds the instructions that write the text. The callback's arguments are in rdi, rdx and rcx as C passes
   * them, and the level in esi. `r8` is the address of the text, `r9d` is {@link TEXT_BYTES}, and 16 bytes at `rsp` are
   * free
   */
  static open(library: string, write: (code: Assembler) => void): LogRing | undefined {
    if (!isMachine()) return undefined;
    const ring = mapPages(NULL, BYTES);
    try {
      const { callback } = loadFunctions(`${library.toLowerCase()}-log`, { callback: callbackCode(ring, write) });
      return new LogRing(library, ring, callback);
    } catch (error) {
      unmapPages(ring, BYTES);
      if (error instanceof NativeCallError) return undefined; // no memfd, or none that may be executed
      throw error;
    }
  }

  private constructor(library: string, ring: Address, callback: Address) {
    [this.#library, this.callback] = [library, callback];
    this.#bytes = bytesAt(ring, BYTES, "guard", []);
    this.#words = new Uint32Array(this.#bytes.buffer);
  }

  /** Keeps lines up to this level from now on. */
  keep(level: number): void {
    this.#words[RING.level / 4] = level;
  }

  /** Lets each text be reported again. */
  begin(): void {
    this.#reported.clear();
  }

  /** Warns about what the library has logged since the last call, if anything. */
  report(clean: (line: string) => string): void {
    for (const next = Atomics.load(this.#words, RING.next / 4); this.#read !== next;) {
      const number = (this.#read + 1) >>> 0;
      const at = RING.lines + (this.#read % LINES) * LINE;
      const isThere = () => Atomics.load(this.#words, at / 4) === number;
      if (!isThere() && next - this.#read <= LINES) return; // it is still being written
      const line = this.#bytes.slice(at + TEXT, at + LINE);
      if (isThere()) this.#warn(clean(new TextDecoder().decode(line.subarray(0, line.indexOf(0)))));
      this.#read = number; // if it is not there, a later line has taken its place
    }
  }

  #warn(line: string): void {
    const text = shown(line.trim());
    const reported = this.#reported;
    if (text === "" || reported.has(text) || reported.size > MOST) return;
    reported.add(text);
    warn(reported.size > MOST ? `${this.#library} has said more, which is left out.` : `${this.#library}: ${text}`);
  }
}

/** A `void` callback with a level in esi, for x86-64 under the System V ABI. */
function callbackCode(ring: Address, write: (code: Assembler) => void): Code {
  const code = new Assembler();
  code.entry();
  code.op64([0x48, 0xb8], ring); // movabs rax, ring
  code.op(0x44, 0x0f, 0xb6, 0xc6); // movzx r8d, sil: the level, without flags in its other bytes
  code.op(0x44, 0x3b, 0x40, RING.level).jump(JA, "done"); // cmp r8d, [rax + level]
  code.op(0x55).stands("pushed"); // push rbp
  code.op(0x48, 0x89, 0xe5).stands("framed"); // mov rbp, rsp
  code.op(0x53).op(0x41, 0x54); // push rbx; push r12
  code.op(0x48, 0x83, 0xec, 16); // sub rsp, 16: the stack is aligned to 16
  code.op32([0x41, 0xbc], 1).op(0xf0, 0x44, 0x0f, 0xc1, 0x60, RING.next); // mov r12d, 1; lock xadd [rax + next], r12d
  code.op(0x45, 0x89, 0xe0).op(0x41, 0x83, 0xe0, LINES - 1); // mov r8d, r12d; and r8d, lines - 1
  code.op(0x41, 0xc1, 0xe0, Math.log2(LINE)); // shl r8d, log2(line)
  code.op(0x4a, 0x8d, 0x5c, 0x00, RING.lines); // lea rbx, [rax + r8 + lines]
  code.op32([0xc7, 0x03], 0); // mov dword ptr [rbx], 0: it is being written
  code.op(0x4c, 0x8d, 0x43, TEXT); // lea r8, [rbx + text]
  code.op32([0x41, 0xb9], TEXT_BYTES); // mov r9d, the text's size
  write(code);
  code.op(0x41, 0xff, 0xc4).op(0x44, 0x89, 0x23); // inc r12d; mov [rbx], r12d
  code.op(0x48, 0x8d, 0x65, -16); // lea rsp, [rbp - 16]
  code.op(0x41, 0x5c).op(0x5b).op(0x5d).stands("left"); // pop r12; pop rbx; pop rbp
  code.label("done").op(0xc3); // ret
  return code.done();
}
