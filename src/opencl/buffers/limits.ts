import {
  CL_MEM_HOST_NO_ACCESS,
  CL_MEM_HOST_READ_ONLY,
  CL_MEM_HOST_WRITE_ONLY,
  CL_MEM_READ_ONLY,
  CL_MEM_WRITE_ONLY,
} from "../../../ffi/opencl/constants.ts";
import { type Access, covers } from "../../core/memory/access.ts";
import { AccessError } from "../../core/errors.ts";

/** What a buffer's flags let kernels and the host do with it. */
export interface BufferLimits {
  /** What kernels may do (CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY). */
  readonly kernel: Access;
  /** What the host may do (CL_MEM_HOST_…); undefined if it may do nothing. */
  readonly host: Access | undefined;
  /** The flags that say so: `"CL_MEM_READ_ONLY, CL_MEM_HOST_NO_ACCESS"`. */
  readonly flags: string;
}

/** Each flag that limits something. */
const FLAGS: readonly { readonly bit: bigint; readonly name: string; readonly limits: Partial<BufferLimits> }[] = [
  { bit: CL_MEM_READ_ONLY, name: "CL_MEM_READ_ONLY", limits: { kernel: "read" } },
  { bit: CL_MEM_WRITE_ONLY, name: "CL_MEM_WRITE_ONLY", limits: { kernel: "write" } },
  { bit: CL_MEM_HOST_READ_ONLY, name: "CL_MEM_HOST_READ_ONLY", limits: { host: "read" } },
  { bit: CL_MEM_HOST_WRITE_ONLY, name: "CL_MEM_HOST_WRITE_ONLY", limits: { host: "write" } },
  { bit: CL_MEM_HOST_NO_ACCESS, name: "CL_MEM_HOST_NO_ACCESS", limits: { host: undefined } },
];

/** What CL_MEM_FLAGS say; undefined if they forbid nothing. */
export function limitsIn(flags: bigint): BufferLimits | undefined {
  const limiting = FLAGS.filter(({ bit }) => (flags & bit) !== 0n);
  if (limiting.length === 0) return undefined;
  const none: BufferLimits = { kernel: "read-write", host: "read-write", flags: "" };
  return limiting.reduce((all, { limits }) => ({ ...all, ...limits }), {
    ...none,
    flags: limiting.map(({ name }) => name).join(", "),
  });
}

/** True if the flags let the host use a buffer so. */
export function hostMay(access: Access, limits: BufferLimits | undefined): boolean {
  return limits === undefined || (limits.host !== undefined && covers(limits.host, access));
}

/** Throws an {@link AccessError} unless the flags let the host use a buffer so. */
export function assertHostMay(access: Access, limits: BufferLimits | undefined, name: string, argument: string): void {
  if (hostMay(access, limits)) return;
  throw new AccessError(`${argument}: ${name} was made with ${limits!.flags}: the host may not ${access} it.`, {
    api: "opencl",
    argument,
  });
}
