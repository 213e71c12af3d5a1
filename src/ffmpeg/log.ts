import { type Address, NULL } from "../../ffi/address.ts";
import { AV_LOG_QUIET, AV_LOG_WARNING } from "../../ffi/avcodec59/constants.ts";
import { shown } from "../core/argument.ts";
import { NativeCallError, warn } from "../core/errors.ts";
import { mapPages, unmapPages } from "../core/native/blocks.ts";
import { openingOf } from "../core/native/library.ts";
import { bytesAt } from "../core/native/pin.ts";
import { Assembler, JA } from "../guard/assembler.ts";
import { loadFunctions } from "../guard/functions.ts";
import { symbolIn } from "../guard/load.ts";
import type { Code } from "../guard/x86_64.ts";
import { coding } from "./library.ts";

/** The ring's parts, in bytes: the least important level that is kept, the number of lines so far, and the lines. */
const RING = { level: 0, next: 4, lines: 64 } as const;
/** A line: its number from 1 on, once all of it is there, and its text. Both are powers of two, for the machine code. */
const [LINES, LINE, TEXT] = [64, 256, 8];

/** So many texts are reported of a file: a damaged one may have thousands. */
const MOST = 10;

/**
 * `void callback(void *avcl, int level, const char *format, va_list arguments)`, for x86-64 under the System V ABI. FFmpeg
 * calls it on any thread, where no JavaScript runs. Each call takes the next line of the ring, whoever writes the others,
 * and has FFmpeg write its text there.
 */
function callbackCode(ring: Address, formatLine: Address): Code {
  const code = new Assembler();
  code.op(0xf3, 0x0f, 0x1e, 0xfa); // endbr64
  code.op64([0x48, 0xb8], ring); // movabs rax, ring
  code.op(0x44, 0x0f, 0xb6, 0xc6); // movzx r8d, sil: the level without its colour
  code.op(0x44, 0x3b, 0x40, RING.level).jump(JA, "done"); // cmp r8d, [rax + level]
  code.op(0x55).stands("pushed"); // push rbp
  code.op(0x48, 0x89, 0xe5).stands("framed"); // mov rbp, rsp
  code.op(0x53).op(0x41, 0x54); // push rbx; push r12
  code.op(0x48, 0x83, 0xec, 16); // sub rsp, 16: an argument and an int; the stack is aligned to 16
  code.op32([0x41, 0xbc], 1).op(0xf0, 0x44, 0x0f, 0xc1, 0x60, RING.next); // mov r12d, 1; lock xadd [rax + next], r12d
  code.op(0x45, 0x89, 0xe0).op(0x41, 0x83, 0xe0, LINES - 1); // mov r8d, r12d; and r8d, lines - 1
  code.op(0x41, 0xc1, 0xe0, Math.log2(LINE)); // shl r8d, log2(line)
  code.op(0x4a, 0x8d, 0x5c, 0x00, RING.lines); // lea rbx, [rax + r8 + lines]
  code.op32([0xc7, 0x03], 0); // mov dword ptr [rbx], 0: it is being written
  code.op(0x4c, 0x8d, 0x43, TEXT); // lea r8, [rbx + text]
  code.op32([0x41, 0xb9], LINE - TEXT); // mov r9d, the text's size
  code.op32([0xc7, 0x44, 0x24, 8], 1); // mov dword ptr [rsp + 8], 1: the line begins with a prefix
  code.op(0x48, 0x8d, 0x44, 0x24, 8).op(0x48, 0x89, 0x04, 0x24); // lea rax, [rsp + 8]; mov [rsp], rax
  code.op64([0x48, 0xb8], formatLine).op(0xff, 0xd0); // movabs rax, av_log_format_line2; call rax
  code.op(0x41, 0xff, 0xc4).op(0x44, 0x89, 0x23); // inc r12d; mov [rbx], r12d
  code.op(0x48, 0x8d, 0x65, -16); // lea rsp, [rbp - 16]
  code.op(0x41, 0x5c).op(0x5b).op(0x5d).stands("left"); // pop r12; pop rbx; pop rbp
  code.label("done").op(0xc3); // ret
  return code.done();
}

interface Log {
  readonly words: Uint32Array<ArrayBuffer>;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Has FFmpeg write to it. */
  take(): void;
}

/** Null where no machine code may run. */
let log: Log | null | undefined;
/** The number of lines that were read. */
let read = 0;
/** What was reported since a decoder or an encoder was opened: each text once. */
const reported = new Set<string>();

/**
 * FFmpeg's log goes to {@link reportLog} from now on, and not to stderr. The isolate that asked last has it. Where no machine
 * code may run, there is none.
 */
export function takeLog(): void {
  const { codec } = coding();
  log ??= newLog();
  if (log === null) return codec.av_log_set_level(AV_LOG_QUIET);
  const level = Math.min(AV_LOG_WARNING, codec.av_log_get_level()); // the program may want less
  log.words[RING.level / 4] = Math.max(0, level);
  reported.clear();
  log.take();
}

function newLog(): Log | null {
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") return null;
  const { path } = openingOf("ffmpeg_codec")!;
  const [formatLine, setCallback] = ["av_log_format_line2", "av_log_set_callback"].map((name) => symbolIn(path!, name));
  const byteLength = RING.lines + LINES * LINE;
  const ring = mapPages(NULL, byteLength); // for good: any thread may write to it
  try {
    const { callback } = loadFunctions("ffmpeg-log", { callback: callbackCode(ring, formatLine) });
    const bytes = bytesAt(ring, byteLength, "ffmpeg", []);
    const type = { parameters: ["u64"], result: "void" } as const;
    const set = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create<typeof type>(setCallback)!, type);
    return { words: new Uint32Array(bytes.buffer), bytes, take: () => set.call(callback) };
  } catch (error) {
    unmapPages(ring, byteLength);
    if (error instanceof NativeCallError) return null; // no memfd, or none that may be executed
    throw error;
  }
}

/** Warns of what FFmpeg has said since the last call; it costs nothing where that is nothing. */
export function reportLog(): void {
  if (!log) return;
  const { words, bytes } = log;
  for (const next = Atomics.load(words, RING.next / 4); read !== next; read = (read + 1) >>> 0) {
    const at = RING.lines + (read % LINES) * LINE;
    const isThere = () => Atomics.load(words, at / 4) === read + 1;
    if (!isThere()) {
      if (next - read <= LINES) return; // it is still being written
      continue; // a later line has taken its place
    }
    const line = bytes.slice(at + TEXT, at + LINE);
    if (isThere()) report(new TextDecoder().decode(line.subarray(0, line.indexOf(0))));
  }
}

/** `[h264 @ 0x7f…] text` */
function report(line: string): void {
  const text = shown(line.replace(/ @ 0x[0-9a-f]+\]/g, "]").trim());
  if (text === "" || reported.has(text) || reported.size > MOST) return;
  reported.add(text);
  warn(reported.size > MOST ? "FFmpeg has said more, which is left out." : `FFmpeg: ${text}`);
}
