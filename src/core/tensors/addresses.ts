import type { MemoryTarget } from "../contract.ts";
import type { Reason } from "../errors.ts";
import type { Tensor } from "./tensor.ts";

/** The address at which CUDA's code finds the first element on its GPU; or why it cannot, with `remedy`. */
export function cudaAddressOf(tensor: Tensor, remedy: string): bigint | Reason {
  const { ports } = tensor.target as Partial<MemoryTarget>;
  const offer = ports?.exports.find(({ kind }) => kind === "cuda-pointer");
  if (offer === undefined) return { reason: "it is not CUDA's memory.", remedy };
  const refusal = offer.closed?.() ?? offer.refuse?.(tensor.described.range);
  return refusal ?? ports!.export!(tensor, "cuda-pointer", tensor.byteLength, "read-write", false).port.value;
}

/** The address at which the CPU finds the first element at any time, for memory of any API; or why it cannot, with `remedy`. */
export function hostAddressOf(
  { target, grant: { allocation }, described: { range } }: Tensor,
  remedy: string,
): bigint | Reason {
  const offer = (target as Partial<MemoryTarget>).ports?.exports.find(({ kind }) => kind === "host-pointer");
  const elsewhere = { reason: "the CPU cannot use it at any time, at one address.", remedy };
  if (offer === undefined || allocation.indivisible) return elsewhere;
  return offer.closed?.() ?? offer.refuse?.(range) ?? range.address ?? elsewhere;
}
