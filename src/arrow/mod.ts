/**
 * Apache Arrow's C data and C device interface: arrays of other libraries in this process as tensors, and tensors as arrays.
 *
 * @module
 */
export { fromArrow, type FromArrowOptions } from "./from_arrow.ts";
export { ArrowExport, toArrow, type ToArrowOptions } from "./to_arrow.ts";
export type { Column, TableInfo } from "../core/layout/frame_info.ts";
