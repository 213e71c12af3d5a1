import {
  CL_MEM_HOST_NO_ACCESS,
  CL_MEM_HOST_READ_ONLY,
  CL_MEM_HOST_WRITE_ONLY,
  CL_MEM_READ_ONLY,
  CL_MEM_WRITE_ONLY,
} from "../../ffi/opencl/constants.ts";
import type { Access } from "../core/access.ts";

/** What a buffer's flags let kernels and the host do with it. */
export interface BufferLimits {
  /** What kernels may do (CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY). */
  readonly kernel: Access;
  /** What the host may do (CL_MEM_HOST_…); undefined where it may do nothing. */
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

/** What CL_MEM_FLAGS say; undefined where they forbid nothing. */
export function limitsIn(flags: bigint): BufferLimits | undefined {
  const limiting = FLAGS.filter(({ bit }) => (flags & bit) !== 0n);
  if (limiting.length === 0) return undefined;
  const none: BufferLimits = { kernel: "read-write", host: "read-write", flags: "" };
  return limiting.reduce((all, { limits }) => ({ ...all, ...limits }), {
    ...none,
    flags: limiting.map(({ name }) => name).join(", "),
  });
}
