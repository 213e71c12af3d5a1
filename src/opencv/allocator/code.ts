/**
 * The machine code of Mats' allocators, for x86-64 under the System V ABI. It keeps no state, so any thread may run it, and it
 * leaves all that it can to OpenCV's standard allocator.
 *
 * @module
 */
import { CV_AUTOSTEP, UMAT_DATA_USER_ALLOCATED } from "../../../ffi/opencv_core/constants.ts";
import { UMatData } from "../../../ffi/opencv_core/structs.ts";
import { LENGTH_MULTIPLE, PAGE } from "../../core/native/blocks.ts";
import { Bytes } from "../../guard/bytes.ts";
import {
  CALL_R11,
  type Code,
  type FrameRow,
  LEAVE,
  MOV_RBP_RSP,
  MOVABS_R11,
  PUSH_AT_RBP,
  PUSH_RBP,
  RET,
} from "../../guard/x86_64.ts";

export interface Callees {
  readonly standard: bigint;
  readonly allocate: bigint;
  readonly deallocate: bigint;
  /** `int (void **where, size_t alignment, size_t size)`: 0 if it has written the address of a block to `where`. */
  readonly take: bigint;
  /** `void (void *block)` */
  readonly give: bigint;
}

const { refcount, urefcount, data, origdata, size, flags } = UMatData.fields;

// The comments are in Intel's syntax, destination first. The opcodes come without their operands.
const JMP_R11 = [0x41, 0xff, 0xe3]; // jmp r11
const JC = 0x72; // jc rel8
const JZ = 0x74; // jz rel8
const JNZ = 0x75; // jnz rel8
const JS = 0x78; // js rel8
const JMP = 0xeb; // jmp rel8
const PUSH_RDI = [0x57]; // push rdi
const PUSH_RSI = [0x56]; // push rsi
const PUSH_RDX = [0x52]; // push rdx
const PUSH_RCX = [0x51]; // push rcx
const PUSH_R8 = [0x41, 0x50]; // push r8
const PUSH_R9 = [0x41, 0x51]; // push r9
const POP_R9 = [0x41, 0x59]; // pop r9
const POP_RCX = [0x59]; // pop rcx
const POP_RDX = [0x5a]; // pop rdx
const POP_RSI = [0x5e]; // pop rsi
const POP_RDI = [0x5f]; // pop rdi
const TEST_R8_R8 = [0x4d, 0x85, 0xc0]; // test r8, r8
const TEST_R9_R9 = [0x4d, 0x85, 0xc9]; // test r9, r9
const TEST_RSI_RSI = [0x48, 0x85, 0xf6]; // test rsi, rsi
const TEST_EAX_EAX = [0x85, 0xc0]; // test eax, eax
const TEST_BYTE_AT_RSI = [0xf6, 0x46]; // test byte ptr [rsi + disp8], imm8
const CMP_AT_RSI = [0x83, 0x7e]; // cmp dword ptr [rsi + disp8], imm8
const OR_AT_RSI = [0x83, 0x4e]; // or dword ptr [rsi + disp8], imm8
const AND_AT_RAX = [0x83, 0x60]; // and dword ptr [rax + disp8], imm8
const MOV_EAX_ESI = [0x89, 0xf0]; // mov eax, esi
const SUB_EAX_1 = [0x83, 0xe8, 0x01]; // sub eax, 1
const MOV_AT_R9_RAX_8 = [0x49, 0xc7, 0x04, 0xc1]; // mov qword ptr [r9 + rax * 8], imm32
const MOV_R8_RDI = [0x49, 0x89, 0xf8]; // mov r8, rdi
const MOV_AT_RBP_RAX = [0x48, 0x89, 0x45]; // mov [rbp + disp8], rax
const MOV_RAX_AT_RBP = [0x48, 0x8b, 0x45]; // mov rax, [rbp + disp8]
const MOV_RDI_AT_RBP = [0x48, 0x8b, 0x7d]; // mov rdi, [rbp + disp8]
const MOV_RSI_AT_RBP = [0x48, 0x8b, 0x75]; // mov rsi, [rbp + disp8]
const MOV_RDX_AT_RAX = [0x48, 0x8b, 0x50]; // mov rdx, [rax + disp8]
const MOV_AT_RAX_RDX = [0x48, 0x89, 0x50]; // mov [rax + disp8], rdx
const MOV_RDI_AT_RSI = [0x48, 0x8b, 0x7e]; // mov rdi, [rsi + disp8]
const MOV_ESI = [0xbe]; // mov esi, imm32
const MOVABS_RDI = [0x48, 0xbf]; // movabs rdi, imm64
const ADD_RDX = [0x48, 0x83, 0xc2]; // add rdx, imm8
const AND_RDX = [0x48, 0x83, 0xe2]; // and rdx, imm8
const LEA_RDI_RAX = [0x48, 0x8d, 0x78]; // lea rdi, [rax + disp8]
const LEA_RSP_RBP = [0x48, 0x8d, 0x65]; // lea rsp, [rbp + disp8]
const XOR_R8D_R8D = [0x45, 0x31, 0xc0]; // xor r8d, r8d

/** The offsets of `allocate`'s locals from rbp: five of its arguments, then the UMatData. */
const KEPT = { self: -8, lastArgument: -40, umatData: -48 } as const;

/** The offsets of the two arguments on the stack from rbp. */
const STACK_ARGUMENTS = [16, 24] as const;

/**
 * `UMatData *allocate(int dims, const int *sizes, int type, void *data, size_t *step, AccessFlag, UMatUsageFlags)`
 *
 * First the standard allocator makes steps, size and UMatData as for memory of the caller's, which does not exist yet; then
 * this code takes a block and puts it in. Without a block, the standard allocator makes one of its own: it throws, or the
 * UMatData names it as the owner. Nothing is held while a callee may throw.
 */
export function allocateCode(callees: Callees): Code {
  const code = new Bytes();
  const frame: FrameRow[] = [];
  const stands = (state: FrameRow[1]) => frame.push([code.length, state]);

  // For memory of the caller's.
  const standard = goTo(callees.allocate);
  code.raw(...TEST_R8_R8, JZ, standard.length).add(standard);

  code.raw(...PUSH_RBP);
  stands("pushed");
  code.raw(...MOV_RBP_RSP);
  stands("framed");
  code.raw(...PUSH_RDI, ...PUSH_RSI, ...PUSH_RDX, ...PUSH_RCX, ...PUSH_R9, ...PUSH_R8); // r8: room for the UMatData

  // The caller may want the steps: for (i = dims - 1; i >= 0; i--) step[i] = CV_AUTOSTEP
  const set = Uint8Array.of(...MOV_AT_R9_RAX_8, ...new Bytes().u32(CV_AUTOSTEP).done());
  const turn = [...SUB_EAX_1, JS, set.length + 2, ...set];
  const loop = [...MOV_EAX_ESI, ...turn, JMP, -(turn.length + 2) & 0xff];
  code.raw(...TEST_R9_R9, JZ, loop.length, ...loop);

  code.raw(...MOV_R8_RDI); // any address but null
  for (const at of STACK_ARGUMENTS.toReversed()) code.raw(...PUSH_AT_RBP).u32(at);
  code.add(call(callees.allocate));
  code.raw(...MOV_AT_RBP_RAX, KEPT.umatData & 0xff);

  // The UMatData names the caller as the owner of the block: make that the allocator.
  const taken = new Bytes().raw(...MOV_RAX_AT_RBP, KEPT.umatData & 0xff);
  taken.raw(...MOV_RDX_AT_RAX, origdata.offset, ...MOV_AT_RAX_RDX, data.offset);
  taken.raw(...AND_AT_RAX, flags.offset, ~UMAT_DATA_USER_ALLOCATED & 0xff, ...LEAVE);
  const leftTaken = taken.length;
  taken.raw(...RET);

  const take = new Bytes().raw(...AND_RDX, -LENGTH_MULTIPLE & 0xff, ...LEA_RDI_RAX, origdata.offset);
  take.raw(...MOV_ESI).u32(PAGE).add(call(callees.take)).raw(...TEST_EAX_EAX, JNZ, taken.length);

  code.raw(...MOV_RDX_AT_RAX, size.offset, ...ADD_RDX, LENGTH_MULTIPLE - 1, JC, take.length + taken.length);
  code.add(take.done());
  frame.push([code.length + leftTaken, "left"]);
  code.add(taken.done());
  stands("framed");

  // There is no block.
  code.raw(...MOV_RDI_AT_RBP, KEPT.self & 0xff, ...MOV_RSI_AT_RBP, KEPT.umatData & 0xff);
  code.add(call(callees.deallocate));
  code.raw(...LEA_RSP_RBP, KEPT.lastArgument & 0xff, ...POP_R9, ...POP_RCX, ...POP_RDX, ...POP_RSI);
  code.raw(...MOVABS_RDI).u64(callees.standard).raw(...XOR_R8D_R8D, ...LEAVE);
  stands("left");
  code.add(standard);
  return { bytes: code.done(), frame };
}

/**
 * `void deallocate(UMatData *)`
 *
 * A block of ours is given back, and the UMatData then names the caller as its owner. The rest is the standard allocator's,
 * which also reports a UMatData that is still in use.
 */
export function deallocateCode(callees: Callees): Code {
  const code = new Bytes();
  const frame: FrameRow[] = [];
  const stands = (state: FrameRow[1]) => frame.push([code.length, state]);

  const standard = goTo(callees.deallocate);
  const unused = [...CMP_AT_RSI, refcount.offset, 0, JZ, standard.length];
  const unusedByUMats = [...CMP_AT_RSI, urefcount.offset, 0, JNZ, unused.length];
  const owned = [...TEST_BYTE_AT_RSI, flags.offset, UMAT_DATA_USER_ALLOCATED];
  owned.push(JNZ, unusedByUMats.length + unused.length);
  code.raw(...TEST_RSI_RSI, JZ, owned.length + unusedByUMats.length + unused.length);
  code.raw(...owned, ...unusedByUMats, ...unused).add(standard);

  code.raw(...PUSH_RBP);
  stands("pushed");
  code.raw(...MOV_RBP_RSP);
  stands("framed");
  code.raw(...PUSH_RDI, ...PUSH_RSI);
  code.raw(...MOV_RDI_AT_RSI, origdata.offset, ...OR_AT_RSI, flags.offset, UMAT_DATA_USER_ALLOCATED);
  code.add(call(callees.give));
  code.raw(...POP_RSI, ...POP_RDI, ...LEAVE);
  stands("left");
  code.add(standard);
  return { bytes: code.done(), frame };
}

function call(address: bigint): Uint8Array {
  return new Bytes().raw(...MOVABS_R11).u64(address).raw(...CALL_R11).done();
}

function goTo(address: bigint): Uint8Array {
  return new Bytes().raw(...MOVABS_R11).u64(address).raw(...JMP_R11).done();
}
