import type { ClContext } from "../../../ffi/opencl/handles.ts";

/**
 * The keys under which an allocation keeps the buffers that one `cl_context` has over it. A `cl_mem` works in its own
 * `cl_context` alone, so no other one finds it.
 */
export interface Space {
  /** The key of buffers and images over host memory. */
  readonly host: object;
  /** The key of the buffer whose memory is the driver's. */
  readonly driver: object;
}

const spaces = new Map<ClContext, WeakRef<Space>>();

/** The keys of a `cl_context`, which all contexts attached to it share. */
export function spaceOf(context: ClContext): Space {
  const space = spaces.get(context)?.deref() ?? { host: {}, driver: {} };
  spaces.set(context, new WeakRef(space));
  return space;
}
