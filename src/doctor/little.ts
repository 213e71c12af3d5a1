import type { LayoutInit } from "../core/layout/layout.ts";

/**
 * The memory that the graph is asked about: a page, so that it is as well aligned as memory of samepage's own is, and a
 * picture, so that it may become an image.
 */
export const LITTLE: LayoutInit<"u8"> = { shape: [16, 64, 4], dtype: "u8" };
