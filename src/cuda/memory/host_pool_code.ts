/**
 * The machine code of a pool of page-locked blocks, for x86-64 under the System V ABI: other libraries take blocks on their
 * own threads, where no JavaScript runs. The sizes of blocks are powers of two. Idle blocks are in one list for each size; CUDA
 * makes a block if the list is empty.
 *
 * @module
 */
import { ENOMEM } from "../../../ffi/libc/errors.ts";
import { PAGE } from "../../core/native/blocks.ts";
import { Assembler, JA, JMP, JNZ, JZ } from "../../guard/assembler.ts";
import type { Code } from "../../guard/x86_64.ts";

/** The offsets of the state's fields in bytes. `lock`, `open` and `flags` have 32 bits, all others 64. */
export const STATE = {
  lock: 0x00,
  /** 0 if no block may be made. */
  open: 0x08,
  /** cudaHostAlloc's flags. */
  flags: 0x0c,
  /** The `CUcontext` that blocks are made in. */
  context: 0x10,
  cuCtxPushCurrent: 0x18,
  cudaHostAlloc: 0x20,
  cuCtxPopCurrent: 0x28,
  /** The bytes of all blocks. */
  held: 0x30,
  /** The bytes of blocks in use, and of those that CUDA is making now. */
  lent: 0x38,
  /** The first idle block of each size, by the exponent. */
  idle: 0x40,
} as const;

/** The exponents of the sizes: from a page to the limit of addresses. */
export const SIZES = { least: Math.log2(PAGE), most: 47 } as const;

/** The fields before a block, by their offsets from its first byte. */
export const HEADER = { next: -24, exponent: -16, made: -8, length: 32 } as const;

/** The bytes allocated beyond a block's size, because CUDA's memory may begin anywhere, but the block begins at a page. */
const SLACK: number = HEADER.length + PAGE;

/** `int take(void **block, size_t alignment, size_t size)`: 0, or ENOMEM. Blocks begin at a page. */
export function takeCode(state: bigint): Code {
  const code = new Assembler();
  code.op(0x55).stands("pushed"); // push rbp
  code.op(0x48, 0x89, 0xe5).stands("framed"); // mov rbp, rsp
  code.op(0x53).op(0x41, 0x54).op(0x41, 0x55); // push rbx; push r12; push r13
  code.op(0x48, 0x83, 0xec, 24); // sub rsp, 24: room for two words at rbp - 40, and the alignment to 16
  code.op(0x49, 0x89, 0xfc); // mov r12, rdi

  // r13: the size, rounded up to a power of two and at least a page. rcx: its exponent.
  code.op(0x48, 0xff, 0xca); // dec rdx
  code.op32([0x48, 0x81, 0xca], PAGE - 1); // or rdx, 4095
  code.op(0x48, 0x0f, 0xbd, 0xca).op(0xff, 0xc1); // bsr rcx, rdx; inc ecx
  code.op(0x83, 0xf9, SIZES.most).jump(JA, "fail"); // cmp ecx, 47
  code.op(0x45, 0x31, 0xed).op(0x49, 0x0f, 0xab, 0xcd); // xor r13d, r13d; bts r13, rcx

  code.op64([0x48, 0xbb], state); // movabs rbx, state
  code.op(0x48, 0x89, 0xda); // mov rdx, rbx
  lock(code, "taking");
  code.op(0x48, 0x8b, 0x44, 0xca, STATE.idle); // mov rax, [rdx + rcx * 8 + idle]
  code.op(0x48, 0x85, 0xc0).jump(JNZ, "pop"); // test rax, rax

  // No block is idle: CUDA makes one, on any thread, in the pool's context. The lock is free meanwhile. The block counts as
  // lent before this code checks that the pool is open, so that a call that closes the pool sees the block and keeps the
  // context.
  code.op(0xf0, 0x4c, 0x01, 0x6a, STATE.lent); // lock add [rdx + lent], r13: a load would overtake another store
  code.op(0x83, 0x7a, STATE.open, 0).jump(JZ, "closed"); // cmp dword ptr [rdx + open], 0
  code.op(0x87, 0x02); // xchg [rdx], eax
  code.op(0x48, 0x8b, 0x7b, STATE.context); // mov rdi, [rbx + context]
  code.op(0xff, 0x53, STATE.cuCtxPushCurrent); // call [rbx + cuCtxPushCurrent]
  code.op(0x85, 0xc0).jump(JNZ, "not made"); // test eax, eax
  code.op(0x4c, 0x89, 0xe7); // mov rdi, r12
  code.op32([0x49, 0x8d, 0xb5], SLACK); // lea rsi, [r13 + slack]
  code.op(0x8b, 0x53, STATE.flags); // mov edx, [rbx + flags]
  code.op(0xff, 0x53, STATE.cudaHostAlloc); // call [rbx + cudaHostAlloc]
  code.op(0x89, 0x45, -32); // mov [rbp - 32], eax
  code.op(0x48, 0x8d, 0x7d, -40); // lea rdi, [rbp - 40]
  code.op(0xff, 0x53, STATE.cuCtxPopCurrent); // call [rbx + cuCtxPopCurrent]
  code.op(0x83, 0x7d, -32, 0).jump(JNZ, "not made"); // cmp dword ptr [rbp - 32], 0
  code.op(0x49, 0x8b, 0x0c, 0x24); // mov rcx, [r12]
  code.op32([0x48, 0x8d, 0x81], SLACK - 1); // lea rax, [rcx + slack - 1]
  code.op32([0x48, 0x25], -PAGE); // and rax, -4096
  code.op(0x48, 0x89, 0x48, HEADER.made); // mov [rax + made], rcx
  code.op(0x49, 0x0f, 0xbd, 0xcd); // bsr rcx, r13
  code.op(0x48, 0x89, 0x48, HEADER.exponent); // mov [rax + exponent], rcx
  code.op(0x48, 0x89, 0xda); // mov rdx, rbx
  lock(code, "made");
  code.op(0x4c, 0x01, 0x6a, STATE.held); // add [rdx + held], r13
  code.jump(JMP, "taken");

  code.label("pop");
  code.op(0x48, 0x8b, 0x70, HEADER.next); // mov rsi, [rax + next]
  code.op(0x48, 0x89, 0x74, 0xca, STATE.idle); // mov [rdx + rcx * 8 + idle], rsi
  code.op(0x4c, 0x01, 0x6a, STATE.lent); // add [rdx + lent], r13
  code.label("taken");
  code.op(0x49, 0x89, 0x04, 0x24); // mov [r12], rax
  code.op(0x31, 0xc0).op(0x87, 0x02); // xor eax, eax; xchg [rdx], eax
  code.op(0x31, 0xc0).jump(JMP, "leave"); // xor eax, eax
  code.label("not made");
  code.op(0x48, 0x89, 0xda); // mov rdx, rbx
  lock(code, "counting off");
  code.label("closed");
  code.op(0x4c, 0x29, 0x6a, STATE.lent); // sub [rdx + lent], r13
  code.op(0x31, 0xc0).op(0x87, 0x02); // xor eax, eax; xchg [rdx], eax
  code.label("fail");
  code.op32([0xb8], ENOMEM); // mov eax, ENOMEM
  code.label("leave");
  code.op(0x48, 0x8d, 0x65, -24); // lea rsp, [rbp - 24]
  code.op(0x41, 0x5d).op(0x41, 0x5c).op(0x5b).op(0x5d).stands("left"); // pop r13; pop r12; pop rbx; pop rbp
  code.op(0xc3); // ret
  return code.done();
}

/** `void give(void *block)`: the block is idle from now on. It calls nothing, so it also runs while a process ends. */
export function giveCode(state: bigint): Code {
  const code = new Assembler();
  code.op(0x48, 0x85, 0xff).jump(JZ, "leave"); // test rdi, rdi
  code.op(0x48, 0x8b, 0x4f, HEADER.exponent); // mov rcx, [rdi + exponent]
  code.op(0x31, 0xc0).op(0x48, 0x0f, 0xab, 0xc8); // xor eax, eax; bts rax, rcx
  code.op64([0x48, 0xba], state); // movabs rdx, state
  lock(code, "giving");
  code.op(0x4c, 0x8b, 0x44, 0xca, STATE.idle); // mov r8, [rdx + rcx * 8 + idle]
  code.op(0x4c, 0x89, 0x47, HEADER.next); // mov [rdi + next], r8
  code.op(0x48, 0x89, 0x7c, 0xca, STATE.idle); // mov [rdx + rcx * 8 + idle], rdi
  code.op(0x48, 0x29, 0x42, STATE.lent); // sub [rdx + lent], rax
  code.op(0x31, 0xc0).op(0x87, 0x02); // xor eax, eax; xchg [rdx], eax
  code.label("leave").op(0xc3); // ret
  return code.done();
}

/** `void *removeIdle(size_t exponent)`: removes an idle block of a size; returns null if the pool has no such block. */
export function removeIdleCode(state: bigint): Code {
  const code = new Assembler();
  code.op(0x31, 0xc9).op(0x48, 0x0f, 0xab, 0xf9); // xor ecx, ecx; bts rcx, rdi
  code.op64([0x48, 0xba], state); // movabs rdx, state
  lock(code, "removing");
  code.op(0x48, 0x8b, 0x44, 0xfa, STATE.idle); // mov rax, [rdx + rdi * 8 + idle]
  code.op(0x48, 0x85, 0xc0).jump(JZ, "unlock"); // test rax, rax
  code.op(0x4c, 0x8b, 0x40, HEADER.next); // mov r8, [rax + next]
  code.op(0x4c, 0x89, 0x44, 0xfa, STATE.idle); // mov [rdx + rdi * 8 + idle], r8
  code.op(0x48, 0x29, 0x4a, STATE.held); // sub [rdx + held], rcx
  code.label("unlock").op(0x31, 0xc9).op(0x87, 0x0a); // xor ecx, ecx; xchg [rdx], ecx
  code.op(0xc3); // ret
  return code.done();
}

/** Takes the lock at [rdx]; uses rsi. The exchange also flushes writes to write-combined memory. */
function lock(code: Assembler, name: string): void {
  code.label(name);
  code.op32([0xbe], 1).op(0x87, 0x32); // mov esi, 1; xchg [rdx], esi
  code.op(0x85, 0xf6).jump(JZ, `${name}: locked`); // test esi, esi
  code.op(0xf3, 0x90).jump(JMP, name); // pause
  code.label(`${name}: locked`);
}
