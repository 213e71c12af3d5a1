import type { Verdict } from "../../core/graph/plan.ts";

/** On a buffer that another API is told of by its handle. */
export const SAME_CL_MEM: Verdict = { aliases: true, evidence: "the same cl_mem: no memory object is made" };

/** On a buffer that begins before the tensor's own, over memory that was proven to be used in place. */
export const SAME_BYTES: Verdict = {
  aliases: true,
  evidence: "a cl_mem over the same bytes that begins where OpenCV's kernels want it, proven by aliasing both ways",
};

/** On memory that a route reaches by a map which has yet to be made. */
export const UNMAPPED: Verdict = {
  aliases: false,
  evidence: "not proven: the address is known only once it is mapped",
};
