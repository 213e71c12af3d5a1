import type { ClContext } from "../../../ffi/opencl/handles.ts";

/** The keys of the buffers that one `cl_context` has over an allocation: a `cl_mem` works in its own context alone. */
export interface Space {
  /** The key of buffers and images over host memory. */
  readonly host: object;
  /** The key of the buffer whose memory is the driver's. */
  readonly driver: object;
  /** The key of the mark that the memory is another API's, or another context's. */
  readonly foreign: object;
}

const spaces = new Map<ClContext, WeakRef<Space>>();

/** The keys of a `cl_context`, which all contexts attached to it share. */
export function spaceOf(context: ClContext): Space {
  const space = spaces.get(context)?.deref() ?? { host: {}, driver: {}, foreign: {} };
  spaces.set(context, new WeakRef(space));
  return space;
}
