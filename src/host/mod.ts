/**
 * The CPU's memory.
 *
 * @module
 */
export { type FrameAllocation, host, type HostAllocation, HostContext, type Placement } from "./context.ts";
export type { AttachOptions } from "../core/tensors/adopt.ts";
export type { FrameInMemfd } from "./memfd.ts";
export { HostTensor, type ViewOptions } from "./tensor.ts";
export type { WrapOptions } from "./wrap.ts";
