/**
 * The machine code by which decoders take buffers of ours, for x86-64 under the System V ABI. FFmpeg calls it on its own
 * threads, where no JavaScript runs. It reads a control block and calls FFmpeg; it has no state of its own.
 *
 * @module
 */
import { AV_NUM_DATA_POINTERS } from "../../ffi/avutil57/constants.ts";
import { Assembler, JA, JNZ, JZ } from "../guard/assembler.ts";
import type { Code } from "../guard/x86_64.ts";
import type { Structs } from "./versions.ts";

/** The most planes that a pixel format has. */
const PLANES = AV_NUM_DATA_POINTERS / 2;

/** Where the parts of a control block lie, in bytes. */
export const CONTROL = {
  /** `av_buffer_pool_get` */
  get: 0,
  /** `avcodec_default_get_buffer2` */
  fallback: 8,
  /** The `AVBufferPool` that `get` is called with. */
  pool: 16,
  /** The only pixel format of its frames, 32 bits. */
  format: 24,
  /** The most pixels across and down, 32 bits each. */
  width: 28,
  height: 32,
  /** How many planes there are, 32 bits. */
  planes: 36,
  /** Where each plane begins in a buffer, 64 bits. */
  offsets: 40,
  /** Bytes from a row of each plane to the next, 32 bits. */
  linesizes: 40 + 8 * PLANES,
  /** How many of the buffers the pool has not asked for yet, 32 bits. */
  left: 40 + 12 * PLANES,
  /** Their `AVBufferRef`s. */
  buffers: 48 + 12 * PLANES,
} as const;

/**
 * `int get_buffer2(AVCodecContext *s, AVFrame *frame, int flags)`. `s->opaque` is the control block. A frame of its format
 * that is not too large gets a buffer of the pool. If the pool is empty, and for every other frame, FFmpeg's own function
 * goes on with the same arguments.
 */
export function getBufferCode({ AVFrame, AVBufferRef, AVCodecContext }: Structs): Code {
  const { opaque } = AVCodecContext.fields;
  const { format, width, height, buf, data, linesize, extended_data } = AVFrame.fields;
  const code = new Assembler();
  code.entry();
  code.op32([0x48, 0x8b, 0x87], opaque.offset); // mov rax, [rdi + opaque]
  code.op32([0x8b, 0x8e], format.offset).op(0x3b, 0x48, CONTROL.format); // mov ecx, [rsi + format]; cmp ecx, [rax + …]
  code.jump(JNZ, "fallback");
  code.op32([0x8b, 0x8e], width.offset).op(0x3b, 0x48, CONTROL.width); // mov ecx, [rsi + width]; cmp ecx, [rax + …]
  code.jump(JA, "fallback"); // unsigned, so that a negative size is too large
  code.op32([0x8b, 0x8e], height.offset).op(0x3b, 0x48, CONTROL.height); // mov ecx, [rsi + height]; cmp ecx, [rax + …]
  code.jump(JA, "fallback");

  // What a call may change is kept: rbx is the control block, r12 the context, r13 the frame, [rbp - 32] the flags.
  code.op(0x55).stands("pushed"); // push rbp
  code.op(0x48, 0x89, 0xe5).stands("framed"); // mov rbp, rsp
  code.op(0x53).op(0x41, 0x54).op(0x41, 0x55); // push rbx; push r12; push r13
  code.op(0x48, 0x83, 0xec, 8); // sub rsp, 8: the stack is aligned to 16 again
  code.op(0x48, 0x89, 0xc3); // mov rbx, rax
  code.op(0x49, 0x89, 0xfc).op(0x49, 0x89, 0xf5); // mov r12, rdi; mov r13, rsi
  code.op(0x89, 0x55, -32); // mov [rbp - 32], edx
  code.op(0x48, 0x8b, 0x7b, CONTROL.pool); // mov rdi, [rbx + pool]
  code.op(0xff, 0x53, CONTROL.get); // call [rbx + get]
  code.op(0x48, 0x85, 0xc0).jump(JZ, "empty"); // test rax, rax

  code.op32([0x49, 0x89, 0x85], buf.offset); // mov [r13 + buf], rax
  code.op32([0x48, 0x8b, 0x90], AVBufferRef.fields.data.offset); // mov rdx, [rax + data]
  code.op(0x8b, 0x4b, CONTROL.planes); // mov ecx, [rbx + planes]
  code.label("plane"); // from the last to the first
  code.op(0xff, 0xc9); // dec ecx
  code.op(0x48, 0x8b, 0x44, 0xcb, CONTROL.offsets).op(0x48, 0x01, 0xd0); // mov rax, [rbx + rcx * 8 + …]; add rax, rdx
  code.op32([0x49, 0x89, 0x84, 0xcd], data.offset); // mov [r13 + rcx * 8 + data], rax
  code.op(0x8b, 0x44, 0x8b, CONTROL.linesizes); // mov eax, [rbx + rcx * 4 + linesizes]
  code.op32([0x41, 0x89, 0x84, 0x8d], linesize.offset); // mov [r13 + rcx * 4 + linesize], eax
  code.op(0x85, 0xc9).jump(JNZ, "plane"); // test ecx, ecx
  code.op32([0x49, 0x8d, 0x85], data.offset); // lea rax, [r13 + data]
  code.op32([0x49, 0x89, 0x85], extended_data.offset); // mov [r13 + extended_data], rax
  code.op(0x31, 0xc0); // xor eax, eax
  leave(code).op(0xc3); // ret

  code.label("empty").stands("framed");
  code.op(0x4c, 0x89, 0xe7).op(0x4c, 0x89, 0xee); // mov rdi, r12; mov rsi, r13
  code.op(0x8b, 0x55, -32); // mov edx, [rbp - 32]
  code.op(0x48, 0x89, 0xd8); // mov rax, rbx
  leave(code);
  code.label("fallback").op(0xff, 0x60, CONTROL.fallback); // jmp [rax + fallback]
  return code.done();
}

/** Gives back what a caller keeps its values in, and the frame. */
function leave(code: Assembler): Assembler {
  code.op(0x48, 0x8d, 0x65, -24); // lea rsp, [rbp - 24]
  return code.op(0x41, 0x5d).op(0x41, 0x5c).op(0x5b).op(0x5d).stands("left"); // pop r13; pop r12; pop rbx; pop rbp
}

/**
 * `AVBufferRef *alloc(void *opaque, size_t size)`: the next buffer of a control block, which is `opaque`; null where none
 * is left. A pool calls it under its own lock.
 */
export function allocCode(): Code {
  const code = new Assembler();
  code.entry();
  code.op(0x31, 0xc0); // xor eax, eax
  code.op(0x8b, 0x4f, CONTROL.left).op(0x85, 0xc9).jump(JZ, "none"); // mov ecx, [rdi + left]; test ecx, ecx
  code.op(0xff, 0xc9).op(0x89, 0x4f, CONTROL.left); // dec ecx; mov [rdi + left], ecx
  code.op(0x48, 0x8b, 0x44, 0xcf, CONTROL.buffers); // mov rax, [rdi + rcx * 8 + buffers]
  code.label("none").op(0xc3); // ret
  return code.done();
}
