/**
 * The machine code by which GStreamer's elements write into memory of ours, for x86-64 under the System V ABI. GStreamer
 * calls it on its streaming threads, where no JavaScript runs. It reads an allocator's control block, and calls GStreamer.
 *
 * @module
 */
import { GST_PAD_PROBE_HANDLED, GST_PAD_PROBE_OK, GST_PAD_PROBE_PASS } from "../../ffi/gstreamer/constants.ts";
import { GST_QUERY_ALLOCATION } from "../../ffi/gstreamer/constants.ts";
import {
  GstAllocationParams,
  GstAllocator,
  GstMemory,
  GstPadProbeInfo,
  GstQuery,
} from "../../ffi/gstreamer/structs.ts";
import { Assembler, JAE, JB, JNZ, JS, JZ } from "../guard/assembler.ts";
import type { Code } from "../guard/x86_64.ts";

/** The most slots that an allocator has. */
const MAX_SLOTS = 1024;

/** Slots begin at multiples of this at least. */
export const ALIGN = 64;

/** Where the parts of a control block lie in an allocator's instance, in bytes: behind those of its base class. */
export const CONTROL = {
  /** `gst_query_add_allocation_param` */
  offer: GstAllocator.size,
  /** `gst_allocator_alloc` */
  fallback: GstAllocator.size + 8,
  /** How many bytes a slot has. */
  capacity: GstAllocator.size + 16,
  /** How many slots there are, 32 bits. */
  count: GstAllocator.size + 24,
  /** Slots begin at multiples of this many bytes, which is the most that an element may ask for. */
  align: GstAllocator.size + 32,
  /** The `GstQuery` of who waits. */
  query: GstAllocator.size + 40,
  /** The `GstMemory` over each. */
  slots: GstAllocator.size + 48,
} as const;

/** The bytes of an instance. */
export const INSTANCE: number = CONTROL.slots + 8 * MAX_SLOTS;

/**
 * `GstMemory *alloc(GstAllocator *self, gsize size, GstAllocationParams *params)`: a slot that only its owner refers to,
 * with one more reference. So the count of references is what makes a slot free, and GStreamer's own unref gives it back,
 * on any thread. Where none is free, and for what fits in none, the process's allocator goes on.
 */
export function allocCode(): Code {
  const { align, prefix, padding } = GstAllocationParams.fields;
  const { refcount, offset, size } = GstMemory.fields;
  const code = new Assembler();
  code.entry();
  code.op32([0x48, 0x8b, 0x87], CONTROL.capacity); // mov rax, [rdi + capacity]
  code.op(0x48, 0x29, 0xf0).jump(JB, "fallback"); // sub rax, rsi
  code.op(0x48, 0x3b, 0x42, padding.offset).jump(JB, "fallback"); // cmp rax, [rdx + padding]
  code.op(0x48, 0x83, 0x7a, prefix.offset, 0).jump(JNZ, "fallback"); // cmp qword [rdx + prefix], 0
  code.op(0x48, 0x8b, 0x42, align.offset); // mov rax, [rdx + align]: a multiple, less one
  code.op32([0x48, 0x3b, 0x87], CONTROL.align).jump(JAE, "fallback"); // cmp rax, [rdi + align]
  code.op32([0x8b, 0x8f], CONTROL.count); // mov ecx, [rdi + count]
  code.label("next");
  code.op(0xff, 0xc9).jump(JS, "fallback"); // dec ecx
  code.op32([0x4c, 0x8b, 0x84, 0xcf], CONTROL.slots); // mov r8, [rdi + rcx * 8 + slots]
  code.op32([0xb8], 1).op32([0x41, 0xb9], 2); // mov eax, 1; mov r9d, 2
  code.op(0xf0, 0x45, 0x0f, 0xb1, 0x48, refcount.offset).jump(JNZ, "next"); // lock cmpxchg [r8 + refcount], r9d
  code.op32([0x49, 0xc7, 0x40, offset.offset], 0); // mov qword [r8 + offset], 0: who had it may have cut it
  code.op(0x49, 0x89, 0x70, size.offset); // mov [r8 + size], rsi
  code.op(0x4c, 0x89, 0xc0).op(0xc3); // mov rax, r8; ret

  code.label("fallback");
  code.op32([0x48, 0x8b, 0x87], CONTROL.fallback); // mov rax, [rdi + fallback]
  code.op(0x31, 0xff).op(0xff, 0xe0); // xor edi, edi; jmp rax
  return code.done();
}

/**
 * `GstPadProbeReturn offer(GstPad *, GstPadProbeInfo *info, GstAllocator *allocator)`: the response to an ALLOCATION query,
 * in the place of the pad's element. Other queries go on.
 */
export function offerCode(): Code {
  const code = new Assembler();
  isAllocation(code).jump(JNZ, "other");
  code.op(0x55).stands("pushed"); // push rbp
  code.op(0x48, 0x89, 0xe5).stands("framed"); // mov rbp, rsp
  code.op(0x48, 0x89, 0xc7).op(0x48, 0x89, 0xd6); // mov rdi, rax; mov rsi, rdx
  code.op32([0x48, 0x8b, 0x82], CONTROL.offer); // mov rax, [rdx + offer]
  code.op(0x31, 0xd2).op(0xff, 0xd0); // xor edx, edx; call rax
  code.op32([0xb8], GST_PAD_PROBE_HANDLED); // mov eax, HANDLED
  code.op(0x5d).stands("left").op(0xc3); // pop rbp; ret
  code.label("other").op32([0xb8], GST_PAD_PROBE_OK).op(0xc3); // mov eax, OK; ret
  return code.done();
}

/**
 * `GstPadProbeReturn hold(GstPad *, GstPadProbeInfo *info, GstAllocator *allocator)`: a blocked pad waits only at an
 * ALLOCATION query, which its allocator keeps until it goes on.
 */
export function holdCode(): Code {
  const code = new Assembler();
  isAllocation(code).jump(JZ, "held");
  code.op32([0xb8], GST_PAD_PROBE_PASS).op(0xc3); // mov eax, PASS; ret
  code.label("held").op32([0x48, 0x89, 0x82], CONTROL.query); // mov [rdx + query], rax
  code.op32([0xb8], GST_PAD_PROBE_OK).op(0xc3); // mov eax, OK; ret
  return code.done();
}

/** Compares the type of a probe's query; rax is the query. */
function isAllocation(code: Assembler): Assembler {
  code.entry();
  code.op(0x48, 0x8b, 0x46, GstPadProbeInfo.fields.data.offset); // mov rax, [rsi + data]
  return code.op32([0x81, 0x78, GstQuery.fields.type.offset], GST_QUERY_ALLOCATION); // cmp dword [rax + type], …
}
