import type { Address } from "../../ffi/address.ts";
import {
  UCP_ATTR_FIELD_MEMORY_TYPES,
  UCP_MEM_MAP_PARAM_FIELD_ADDRESS,
  UCP_MEM_MAP_PARAM_FIELD_LENGTH,
  UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
  UCS_MEMORY_TYPE_CUDA,
  UCS_MEMORY_TYPE_HOST,
} from "../../ffi/ucx/constants.ts";
import type { UcpContextH, UcpMemH } from "../../ffi/ucx/handles.ts";
import {
  readUcpContextAttr,
  ucp_context_attr_t,
  ucp_mem_map_params_t,
  writeUcpContextAttr,
  writeUcpMemMapParams,
} from "../../ffi/ucx/structs.ts";
import { counted } from "../core/life/ledger.ts";
import { cudaAddressOf, hostAddressOf } from "../core/tensors/addresses.ts";
import { Tensor } from "../core/tensors/tensor.ts";
import { check, checks, made, ucp } from "./library.ts";
import { isDense } from "./ticket.ts";

/** UCX as it was opened. */
export interface OpenUcx {
  readonly handle: UcpContextH;
  /** True if one of its transports moves CUDA's memory. */
  readonly takesCuda: boolean;
}

/** Where UCX finds bytes. */
export interface Spot {
  readonly address: Address;
  /** UCX's number for the kind of memory. */
  readonly memoryType: number;
}

/** Why a GPU's memory cannot be used, and what to do. */
export const WITHOUT_CUDA = "UCX was opened without a transport for a GPU's memory.";
export const INSTALL_CUDA = "Install a UCX that has libuct_cuda (PyPI's libucx-cu12), and open it with that transport.";

const COPY = 'copy it there, which the context counts: graph.map(tensor, host, { copy: "allow" }).';
const REMEDY = `Map it to the host, or ${COPY}`;

/** True if one of its transports moves CUDA's memory. */
export function takesCuda(handle: UcpContextH): boolean {
  const attributes = new DataView(new ArrayBuffer(ucp_context_attr_t.size));
  writeUcpContextAttr(attributes, 0, { field_mask: BigInt(UCP_ATTR_FIELD_MEMORY_TYPES), memory_types: 0n });
  check(ucp().ucp_context_query(handle, attributes), "ucp_context_query");
  const { memory_types } = readUcpContextAttr(attributes, 0);
  return (memory_types >> BigInt(UCS_MEMORY_TYPE_CUDA) & 1n) === 1n;
}

/**
 * Where a tensor's bytes lie.
 *
 * @throws {ArgumentError} for anything but elements without gaps, in memory that the CPU sees or that UCX has a transport for.
 */
export function placeOf(ucx: OpenUcx, given: Tensor, argument: string): Spot & { readonly byteLength: number } {
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
  return { ...spotOf(ucx, given, argument), byteLength };
}

/** Where UCX finds a tensor's first byte. @throws {ArgumentError} if it does not. */
export function spotOf({ takesCuda }: OpenUcx, tensor: Tensor, argument: string): Spot {
  const seen = hostAddressOf(tensor, REMEDY);
  if (typeof seen === "bigint") return { address: seen as Address, memoryType: UCS_MEMORY_TYPE_HOST };
  const onDevice = cudaAddressOf(tensor, REMEDY);
  if (typeof onDevice !== "bigint") {
    throw checks.wrong(argument, `UCX cannot use ${tensor.name}: ${seen.reason}`, seen.remedy);
  }
  if (takesCuda) return { address: onDevice as Address, memoryType: UCS_MEMORY_TYPE_CUDA };
  throw checks.wrong(argument, `UCX cannot use ${tensor.name}: ${WITHOUT_CUDA}`, `${INSTALL_CUDA} Or ${COPY}`);
}

/** Registers a block of memory with UCX. Returns the handle, and a function that ends the registration. */
export function registered(
  { handle }: OpenUcx,
  { address, memoryType }: Spot,
  byteLength: number,
): [UcpMemH, () => void] {
  const params = new DataView(new ArrayBuffer(ucp_mem_map_params_t.size));
  const fields = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
  writeUcpMemMapParams(params, 0, {
    field_mask: BigInt(fields),
    ...{ address, length: BigInt(byteLength), flags: 0, prot: 0, memory_type: memoryType },
  });
  const memory = made<UcpMemH>("ucp_mem_map", (out) => ucp().ucp_mem_map(handle, params, out));
  return [memory, counted("ucx.memory", () => check(ucp().ucp_mem_unmap(handle, memory), "ucp_mem_unmap"))];
}
