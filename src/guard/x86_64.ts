/**
 * The machine code of the guard, for x86-64 under the System V ABI.
 *
 * @module
 */
import { Bytes } from "./bytes.ts";

// In Intel's syntax: the destination comes first. These are opcodes without their operands.
export const PUSH_RBP: readonly number[] = [0x55]; // push rbp
export const MOV_RBP_RSP: readonly number[] = [0x48, 0x89, 0xe5]; // mov rbp, rsp
const SUB_RSP_8 = [0x48, 0x83, 0xec, 0x08]; // sub rsp, 8
export const PUSH_AT_RBP: readonly number[] = [0xff, 0xb5]; // push qword ptr [rbp + disp32]
export const MOVABS_R11: readonly number[] = [0x49, 0xbb]; // movabs r11, imm64
export const CALL_R11: readonly number[] = [0x41, 0xff, 0xd3]; // call r11
const JMP_R11 = [0x41, 0xff, 0xe3]; // jmp r11
export const LEAVE: readonly number[] = [0xc9]; // leave
export const RET: readonly number[] = [0xc3]; // ret
const PUSH_RAX = [0x50]; // push rax
const PUSH_RDX = [0x52]; // push rdx
const LEA_RDI_RIP = [0x48, 0x8d, 0x3d]; // lea rdi, [rip + disp32]
const CALL_AT_RIP = [0xff, 0x15]; // call qword ptr [rip + disp32]
const JMP_AT_RIP = [0xff, 0x25]; // jmp qword ptr [rip + disp32]
const POP_AT_RAX = [0x8f, 0x00]; // pop qword ptr [rax]
const POP_AT_RAX_8 = [0x8f, 0x40, 0x08]; // pop qword ptr [rax + 8]
const XOR_EAX_EAX = [0x31, 0xc0]; // xor eax, eax

/** `int3`, the padding between functions: executing it traps. */
export const INT3 = 0xcc;

/**
 * How many integers and pointers, and how many floats, travel in registers. The others take eight bytes each on the
 * stack.
 */
const INTEGER_REGISTERS = 6;
const FLOAT_REGISTERS = 8;

/** The offset of the first argument on the stack, above the saved rbp and the return address. */
const FIRST_ON_STACK = 16;

/** The state of the stack frame from an offset on: rbp saved; rbp the frame's base; both restored. */
export type FrameRow = readonly [offset: number, state: "pushed" | "framed" | "left"];

export interface Code {
  readonly bytes: Uint8Array;
  /** Where exceptions land, in bytes from the start; undefined if they pass through. */
  readonly landingPad?: number;
  /** The states of the frame, in the order of their offsets. */
  readonly frame: readonly FrameRow[];
}

/** How many arguments lie on the stack; undefined if a thunk cannot pass them on, as structs by value. */
export function argumentsOnStack({ parameters, result }: Deno.ForeignFunction): number | undefined {
  if ([...parameters, result].some(isStruct)) return undefined;
  const floats = parameters.filter((type) => type === "f32" || type === "f64").length;
  return Math.max(0, parameters.length - floats - INTEGER_REGISTERS) + Math.max(0, floats - FLOAT_REGISTERS);
}

export interface CodeWords {
  /** The `tls_index` of the record among a thread's variables: two words. */
  readonly recordIndex: number;
  /** The word with the address of `__tls_get_addr`, which returns the address of this thread's record. */
  readonly tlsGetAddr: number;
}

function isStruct(type: Deno.NativeResultType): boolean {
  return typeof type === "object" && "struct" in type;
}

/**
 * A function that calls another one and catches its exceptions. It has the other's parameters and result: arguments in
 * registers stay there, and those on the stack are copied. An exception lands after the normal end, with its address in
 * rax and the clause that caught it in rdx. Both go into this thread's record.
 * @param target the function's address
 * @param onStack how many of its arguments lie on the stack
 * @param at the address of the code itself
 */
export function thunk(target: bigint, onStack: number, at: number, words: CodeWords): Code {
  const code = new Bytes();
  const frame: FrameRow[] = [];
  const stands = (state: FrameRow[1]) => frame.push([code.length, state]);

  code.raw(...PUSH_RBP);
  stands("pushed");
  code.raw(...MOV_RBP_RSP);
  stands("framed");
  if (onStack % 2 === 1) code.raw(...SUB_RSP_8); // at a call the stack is aligned to 16
  for (let i = onStack - 1; i >= 0; i--) code.raw(...PUSH_AT_RBP).u32(FIRST_ON_STACK + 8 * i);
  code.raw(...MOVABS_R11).u64(target).raw(...CALL_R11);
  code.raw(...LEAVE);
  stands("left");
  code.raw(...RET);

  const landingPad = code.length;
  stands("framed");
  code.raw(...PUSH_RAX, ...PUSH_RDX); // the stack is as it was at the call, so that it stays aligned
  ripRelative(code, LEA_RDI_RIP, at, words.recordIndex);
  ripRelative(code, CALL_AT_RIP, at, words.tlsGetAddr);
  code.raw(...POP_AT_RAX, ...POP_AT_RAX_8); // the clause, the exception
  code.raw(...XOR_EAX_EAX);
  code.raw(...LEAVE);
  stands("left");
  code.raw(...RET);
  return { bytes: code.done(), landingPad, frame };
}

/** A function that jumps to another one: same parameters, same result, same frame. */
export function jump(target: bigint): Code {
  return { bytes: new Bytes().raw(...MOVABS_R11).u64(target).raw(...JMP_R11).done(), frame: [] };
}

export function recordFunction(at: number, words: CodeWords): Code {
  const code = new Bytes();
  ripRelative(code, LEA_RDI_RIP, at, words.recordIndex);
  ripRelative(code, JMP_AT_RIP, at, words.tlsGetAddr);
  return { bytes: code.done(), frame: [] };
}

/** An instruction with an address relative to its own end. */
function ripRelative(code: Bytes, instruction: readonly number[], at: number, address: number): void {
  code.raw(...instruction);
  code.u32(address - (at + code.length + 4));
}
