import type { Address } from "../../ffi/address.ts";
import type { Access } from "../core/memory/access.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import type { Target } from "../core/graph/context.ts";
import type { DType } from "../core/layout/dtype.ts";
import { ArgumentError } from "../core/errors.ts";
import { describeLayout, type Layout } from "../core/layout/layout.ts";
import { own } from "../core/memory/own.ts";
import { type HostAbilities, HostTensor } from "./tensor.ts";

export function ownedTensor<D extends DType>(
  target: Target,
  allocation: Allocation,
  handle: Address,
  at: Layout<D>,
  access: Access,
  abilities: HostAbilities,
  keepAlive?: unknown,
): HostTensor<D> {
  const start = Number(handle + BigInt(at.byteOffset) - allocation.block.address!);
  const end = start + at.byteLength;
  if (start < 0 || end > allocation.block.byteLength) {
    const { byteLength, address } = allocation.block;
    throw new ArgumentError(`memory: the range overlaps ${byteLength} bytes at 0x${address!.toString(16)} in part.`, {
      api: "host",
      fn: "wrap",
      argument: "memory",
      hint: "Wrap a range within those bytes, or dispose their tensor first.",
    });
  }
  const letGo = () => void keepAlive; // held by the undo list, until it is run
  const resource = own({ name: `host tensor ${describeLayout(at)}`, allocation, start, end, access, undo: [letGo] });
  return new HostTensor({ target, handle, layout: at, resource, ...abilities });
}
