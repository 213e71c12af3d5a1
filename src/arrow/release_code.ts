/**
 * The release functions of the structs that `toArrow` makes, for x86-64 under the System V ABI. A consumer calls them on
 * any thread, where no JavaScript runs.
 *
 * @module
 */
import type { ArrowArray, ArrowSchema } from "../../ffi/arrow/structs.ts";
import { Assembler, JMP, JNZ, JZ } from "../guard/assembler.ts";
import type { Code } from "../guard/x86_64.ts";

/** The state that the structs of one block share, at the block's start: their `private_data` points to it. */
export const RECORD = {
  size: 32,
  align: 8,
  fields: {
    /** The number of structs in the block that are not released yet. */
    left: { offset: 0, type: "u64" },
    /** `sem_post` and its argument, for the last release; 0 for a schema, whose end JavaScript does not wait for. */
    post: { offset: 8, type: "u64" },
    semaphore: { offset: 16, type: "u64" },
    /** `free`, which is called with the block after that. */
    free: { offset: 24, type: "u64" },
  },
} as const;

/** `void release(struct S *self)`: releases the children that were not moved, then itself; the last one frees the block. */
export function releaseCode({ fields }: typeof ArrowSchema | typeof ArrowArray): Code {
  const { left, post, semaphore, free } = RECORD.fields;
  const code = new Assembler();
  code.entry();
  code.op(0x55).stands("pushed"); // push rbp
  code.op(0x48, 0x89, 0xe5).stands("framed"); // mov rbp, rsp
  code.op(0x53, 0x41, 0x54); // push rbx; push r12
  code.op(0x48, 0x89, 0xfb, 0x45, 0x31, 0xe4); // mov rbx, rdi; xor r12d, r12d
  code.label("next");
  code.op32([0x4c, 0x3b, 0xa3], fields.n_children.offset).jump(JZ, "itself"); // cmp r12, [rbx + n_children]
  code.op32([0x48, 0x8b, 0x83], fields.children.offset); // mov rax, [rbx + children]
  code.op(0x4a, 0x8b, 0x3c, 0xe0, 0x49, 0xff, 0xc4); // mov rdi, [rax + r12 * 8]; inc r12
  code.op32([0x48, 0x8b, 0x87], fields.release.offset); // mov rax, [rdi + release]
  code.op(0x48, 0x85, 0xc0).jump(JZ, "next"); // test rax, rax: a moved child is its new owner's
  code.op(0xff, 0xd0).jump(JMP, "next"); // call rax

  code.label("itself");
  code.op32([0x4c, 0x8b, 0xa3], fields.private_data.offset); // mov r12, [rbx + private_data]
  code.op32([0x48, 0xc7, 0x83], fields.release.offset).op(0, 0, 0, 0); // mov qword [rbx + release], 0
  code.op(0xf0, 0x49, 0xff, 0x4c, 0x24, left.offset).jump(JNZ, "over"); // lock dec qword [r12 + left]
  code.op(0x49, 0x8b, 0x7c, 0x24, semaphore.offset, 0x48, 0x85, 0xff).jump(JZ, "block"); // mov rdi, […]; test rdi, rdi
  code.op(0x41, 0xff, 0x54, 0x24, post.offset); // call [r12 + post]
  code.label("block");
  code.op(0x4c, 0x89, 0xe7); // mov rdi, r12
  code.op(0x41, 0xff, 0x54, 0x24, free.offset); // call [r12 + free]
  code.label("over");
  code.op(0x41, 0x5c, 0x5b, 0x5d).stands("left").op(0xc3); // pop r12; pop rbx; pop rbp; ret
  return code.done();
}
