import type { Address } from "../../ffi/address.ts";
import { hostAddressOf } from "../core/tensors/host_address.ts";
import { Tensor } from "../core/tensors/tensor.ts";
import { checks } from "./library.ts";
import { isDense } from "./ticket.ts";

const REMEDY = "Map it to the host, or copy it there by a queue: UCX has no transport for memory of devices here.";

/** Where a tensor's bytes lie. @throws {ArgumentError} for anything but elements without gaps that the CPU sees. */
export function placeOf(given: Tensor, argument: string): { readonly address: Address; readonly byteLength: number } {
  checks.assertInstance<Tensor>(given, Tensor, argument);
  given.resource.assertLive();
  const { layout, layout: { byteLength } } = given;
  if (!isDense(layout)) {
    throw checks.unfit(
      argument,
      "there are gaps between its elements.",
      "Pass elements without gaps, or rows one by one.",
    );
  }
  return { address: hostPlaceOf(given, argument), byteLength };
}

/** Where the CPU sees a tensor's first byte. @throws {ArgumentError} if it does not. */
export function hostPlaceOf(tensor: Tensor, argument: string): Address {
  const address = hostAddressOf(tensor, REMEDY);
  if (typeof address === "bigint") return address as Address;
  throw checks.wrong(argument, `UCX cannot use ${tensor.name}: ${address.reason}`, address.remedy);
}
