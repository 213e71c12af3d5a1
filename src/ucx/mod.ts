/**
 * UCX: tensors of other processes, on this machine and on others, read and written over shared memory, TCP or RDMA.
 *
 * @module
 */
export { type UcxConnectOptions, UcxContext, type UcxOpenOptions, type UcxShareOptions } from "./context.ts";
export { type UcxCommandOptions, UcxRemote, UcxRemoteTensor } from "./remote.ts";
export { type OpenUcxRingOptions, type UcxRingOptions, UcxRings } from "./ring/rings.ts";
export type { UcxListener, UcxRingsOptions } from "./ring/sockets.ts";
export type { Conn } from "./ring/stream.ts";
export { UcxShare } from "./share.ts";
