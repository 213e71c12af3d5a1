import type { Address } from "../../ffi/address.ts";
import { UCP_MEM_MAP_PARAM_FIELD_ADDRESS, UCP_MEM_MAP_PARAM_FIELD_LENGTH } from "../../ffi/ucx/constants.ts";
import type { UcpContextH, UcpMemH } from "../../ffi/ucx/handles.ts";
import { ucp_mem_map_params_t, writeUcpMemMapParams } from "../../ffi/ucx/structs.ts";
import { counted } from "../core/life/ledger.ts";
import { hostAddressOf } from "../core/tensors/host_address.ts";
import { Tensor } from "../core/tensors/tensor.ts";
import { check, checks, made, ucp } from "./library.ts";
import { isDense } from "./ticket.ts";

const REMEDY = "Map it to the host, or copy it there by a queue: what goes over UCX is memory that the CPU sees.";

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

/** Has UCX know a block of memory. Returns the handle, and what ends that. */
export function registered(context: UcpContextH, address: Address, byteLength: number): [UcpMemH, () => void] {
  const params = new DataView(new ArrayBuffer(ucp_mem_map_params_t.size));
  writeUcpMemMapParams(params, 0, {
    field_mask: BigInt(UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH),
    ...{ address, length: BigInt(byteLength), flags: 0, prot: 0, memory_type: 0 },
  });
  const memory = made<UcpMemH>("ucp_mem_map", (out) => ucp().ucp_mem_map(context, params, out));
  return [memory, counted("ucx.memory", () => check(ucp().ucp_mem_unmap(context, memory), "ucp_mem_unmap"))];
}
