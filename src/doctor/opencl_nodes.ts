import type { OpenCLContext } from "../opencl/context.ts";
import type { Node } from "./api.ts";
import { LITTLE } from "./little.ts";

/** The kinds of memory of a device, and how to make a little of each. */
export function nodesOf(cl: OpenCLContext, device: string): Node[] {
  const made: Node[] = [{ device, target: cl, make: () => cl.allocate(LITTLE) }];
  const others = cl.targets.filter((target) => made.every((node) => node.target !== target));
  return [...made, ...others.map((target) => ({ device, target, make: undefined }))];
}
