/** The greatest `int`. */
export const MOST_INT: number = 2 ** 31 - 1;

/** OpenCV's warps count pixels with a `short`: SHRT_MAX columns or rows are refused already. */
export const MOST_WARPED: number = 2 ** 15 - 2;

/** No greater kernel is of use, and OpenCV allocates a table as long as it. */
export const MOST_KERNEL: number = 2 ** 15 - 1;
