/**
 * VA-API: surfaces that GPUs decode, process and encode, shared with other APIs by fds.
 *
 * @module
 */
export { type VaapiAllocation, type VaapiChoice, VaapiContext, type VaapiExport } from "./context.ts";
export type { VaapiConfig } from "./abilities.ts";
export { type VaapiNode, vaapiNodes } from "./nodes.ts";
export { VaapiPool } from "./pool.ts";
export type { Layers, PrimeObject, PrimePlane, PrimeSurface } from "./prime.ts";
export { type SurfaceFacts, VaapiSurface } from "./surface.ts";
export { VaapiTensor } from "./tensor.ts";
export type { HostPlane, Shown, SurfaceImages } from "./images.ts";
export type { VaapiBase } from "./base.ts";
export type { Display } from "./display.ts";
export { hostToVaapi, vaapiToHost } from "./edges/mod.ts";
