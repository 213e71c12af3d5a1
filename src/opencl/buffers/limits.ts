import {
  CL_MEM_HOST_NO_ACCESS,
  CL_MEM_HOST_READ_ONLY,
  CL_MEM_HOST_WRITE_ONLY,
  CL_MEM_READ_ONLY,
  CL_MEM_WRITE_ONLY,
} from "../../../ffi/opencl/constants.ts";
import { type Access, covers } from "../../core/memory/access.ts";
import { AccessError } from "../../core/errors.ts";

/** The access that a buffer's flags allow. */
export interface BufferLimits {
  /** The access of kernels (CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY). */
  readonly kernel: Access;
  /** The access of the host (CL_MEM_HOST_…); undefined if it has none. */
  readonly host: Access | undefined;
  /** The flags: `"CL_MEM_READ_ONLY, CL_MEM_HOST_NO_ACCESS"`. */
  readonly flags: string;
}

const FLAGS: readonly { readonly bit: bigint; readonly name: string; readonly limits: Partial<BufferLimits> }[] = [
  { bit: CL_MEM_READ_ONLY, name: "CL_MEM_READ_ONLY", limits: { kernel: "read" } },
  { bit: CL_MEM_WRITE_ONLY, name: "CL_MEM_WRITE_ONLY", limits: { kernel: "write" } },
  { bit: CL_MEM_HOST_READ_ONLY, name: "CL_MEM_HOST_READ_ONLY", limits: { host: "read" } },
  { bit: CL_MEM_HOST_WRITE_ONLY, name: "CL_MEM_HOST_WRITE_ONLY", limits: { host: "write" } },
  { bit: CL_MEM_HOST_NO_ACCESS, name: "CL_MEM_HOST_NO_ACCESS", limits: { host: undefined } },
];

export function limitsIn(flags: bigint): BufferLimits | undefined {
  const limiting = FLAGS.filter(({ bit }) => (flags & bit) !== 0n);
  if (limiting.length === 0) return undefined;
  const none: BufferLimits = { kernel: "read-write", host: "read-write", flags: "" };
  return limiting.reduce((all, { limits }) => ({ ...all, ...limits }), {
    ...none,
    flags: limiting.map(({ name }) => name).join(", "),
  });
}

function hostMay(access: Access, limits: BufferLimits | undefined): boolean {
  return limits === undefined || (limits.host !== undefined && covers(limits.host, access));
}

export function assertHostMay(access: Access, limits: BufferLimits | undefined, name: string, argument: string): void {
  if (hostMay(access, limits)) return;
  throw new AccessError(`${argument}: ${name} was made with ${limits!.flags}: the host may not ${access} it.`, {
    api: "opencl",
    argument,
  });
}
