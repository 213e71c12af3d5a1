import type { Exported, Offer } from "../../core/contract.ts";
import { Port } from "../../core/device/port.ts";
import type { MemoryClass, Proofs } from "../../core/device/proofs.ts";
import type { Reason } from "../../core/errors.ts";
import { type Access, covers, writes } from "../../core/memory/access.ts";
import type { ByteRange } from "../../core/tensors/described.ts";
import type { BaseContext } from "../base_context.ts";
import { mapped, type MappedRange } from "./native.ts";
import type { BufferTensor, RootBuffer } from "./tensor.ts";

export interface ShowingContext extends BaseContext {
  readonly proofs: Pick<Proofs<BaseContext>, "prove" | "tryToProve" | "judge">;
  readonly memory: BaseContext["memory"] & {
    find(range: ByteRange): { readonly root: RootBuffer } | undefined;
    classOf(address: bigint | undefined, byteLength: number): MemoryClass<BaseContext>;
  };
}

/** A buffer as host memory: `alias` if the device provably shares this memory with the CPU, else `migrate`. */
export function hostViewOffer({ proofs, memory }: ShowingContext): Offer {
  const classOf = (range: ByteRange) =>
    memory.find(range)?.root.memoryClass ?? memory.classOf(range.address, range.byteLength);
  return {
    kind: "host-view",
    prepare: (range) => proofs.tryToProve(classOf(range)),
    judge: (range) => proofs.judge(classOf(range)),
  };
}

/** Why the host may not map a buffer: the flags of an attached one may exclude it. */
export function refuseHostView(
  { memory }: ShowingContext,
  range: ByteRange,
  access: Access,
): Reason | undefined {
  const limits = memory.find(range)?.root.limits;
  if (limits === undefined || (limits.host !== undefined && covers(limits.host, access))) return undefined;
  const reason = `the buffer was made with ${limits.flags}: the host may not map it for "${access}".`;
  return limits.host === undefined ? { reason } : { reason, remedy: `Map it for "${limits.host}".` };
}

/** Maps a part of a buffer for the host (clEnqueueMapBuffer, clEnqueueUnmapMemObject); blocks. */
export function hostView(
  context: BaseContext,
  { root, rootOffset }: BufferTensor,
  byteLength: number,
  access: Access,
  gaps: boolean,
): Exported {
  return viewOf(root, mapped(context, root.mem, access, rootOffset, byteLength, !gaps), byteLength, access);
}

export function viewOf(root: RootBuffer, range: MappedRange, byteLength: number, access: Access): Exported {
  const writers = Number(writes(access));
  root.hostWriters += writers;
  return {
    port: new Port("host-view", { value: range.address, byteLength }),
    giveBack: range.giveBack,
    release() {
      root.hostWriters -= writers;
      range.end();
    },
  };
}
