import { NULL } from "../../../ffi/address.ts";
import { CL_MEM_READ_WRITE, CL_MEM_SVM_ATOMICS, CL_MEM_SVM_FINE_GRAIN_BUFFER } from "../../../ffi/opencl/constants.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { NativeCallError, throwAll } from "../../core/errors.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import type { OpenCLContext } from "../context.ts";
import { newer, opencl } from "../library.ts";
import { check } from "../errors.ts";
import { placement, type PointerBlock } from "../pointers/memory.ts";

/**
 * The grain at which host and device share a block: `"coarse"`, by ranges that are mapped for the host; `"fine"`, by bytes,
 * in place.
 */
export type SvmGrain = "coarse" | "fine";

/** A block of shared virtual memory. */
export interface SvmBlock extends PointerBlock {
  /** The grain of sharing. */
  readonly grain: SvmGrain;
  /** The `cl_context` that it belongs to. */
  readonly owner: bigint;
}

/** Options of {@link svmBlock}. */
export interface SvmBlockInit {
  /** Its length in bytes. */
  readonly byteLength: number;
  /** The grain of sharing. */
  readonly grain: SvmGrain;
  /** True if host and device use atomics on it. */
  readonly atomics: boolean;
  /** The alignment of the address, a power of two; 0 is the driver's choice. */
  readonly align: number;
}

/**
 * Allocates a block (clSVMAlloc). It retains its `cl_context`, because the host may hold it for longer than the context is
 * open.
 *
 * @throws {LayoutError} if it is more than the device takes in one piece.
 * @throws {NativeCallError} if the driver returns NULL; it gives no reason.
 */
export function svmBlock(context: OpenCLContext, init: SvmBlockInit): SvmBlock {
  const { byteLength, grain, atomics, align } = init;
  const owner = context.rawHandle;
  const place = placement(context, "clSVMAlloc", byteLength, align);
  const undo: Undo = [];
  try {
    // The ledger counts the block, and this share of the context with it.
    check(opencl().clRetainContext(owner), "clRetainContext");
    undo.push(() => check(opencl().clReleaseContext(owner), "clReleaseContext"));
    const flags = CL_MEM_READ_WRITE | (grain === "fine" ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0n) |
      (atomics ? CL_MEM_SVM_ATOMICS : 0n);
    const begin = newer("clSVMAlloc")(owner, flags, place.size, place.align);
    if (begin === NULL) throw noMemory(context, init);
    undo.push(() => newer("clSVMFree")(owner, begin));
    return {
      kind: "opencl.svm",
      address: place.begin(begin),
      byteLength,
      grain,
      owner,
      ...(grain === "fine" ? {} : { closed: closedTo(context) }),
      // An escaped view may be used for ever: then the memory must not be freed.
      free: (fate) => fate === "unused" ? throwAll(unwind(undo), "freeing shared virtual memory") : undefined,
    };
  } catch (error) {
    throwAll([error, ...unwind(undo)], "allocating shared virtual memory");
    throw error;
  }
}

/** The block of an allocation; undefined for other memory, or another context's. */
export function svmBlockOf({ block }: Allocation, context: OpenCLContext): SvmBlock | undefined {
  return block.kind === "opencl.svm" && (block as SvmBlock).owner === context.rawHandle ? block as SvmBlock : undefined;
}

function closedTo(context: OpenCLContext) {
  return {
    reason:
      `it is coarse-grained shared virtual memory of ${context.name}, which the CPU sees only while it is mapped.`,
    remedy: "Map its tensor to the host: graph.map(tensor, host).",
  };
}

function noMemory({ name }: OpenCLContext, { byteLength, grain, atomics }: SvmBlockInit): NativeCallError {
  const what = `${byteLength} bytes of ${grain}-grained memory${atomics ? " with atomics" : ""}`;
  return new NativeCallError(`clSVMAlloc answered NULL: ${name} did not allocate ${what}.`, {
    api: "opencl",
    fn: "clSVMAlloc",
    hint: "It does not say why; the device may have not that much memory left.",
  });
}
