import type { OpenCLContext } from "../../opencl/context.ts";
import { LITTLE, type Node } from "../api.ts";

/** Where drivers put memory differs from run to run: what is found out of it does not, if all of it is aligned alike. */
const PAGE = 4096;

/** The kinds of memory of a device, and how to make a little of each. */
export function nodesOf(cl: OpenCLContext, device: string): Node[] {
  const made: Node[] = [
    { device, target: cl, make: () => cl.allocate(LITTLE) },
    { device, target: cl.svm, make: () => cl.svm.allocate({ ...LITTLE, align: PAGE }) },
    { device, target: cl.usm, make: () => cl.usm.allocate({ ...LITTLE, kind: "shared", align: PAGE }) },
  ];
  const others = cl.targets.filter((target) => made.every((node) => node.target !== target));
  return [...made, ...others.map((target) => ({ device, target, make: undefined }))];
}

/**
 * Images of one format stand for all: it is the one that every device with images has.
 *
 * @throws {NativeCallError} where the device cannot be asked what images it has.
 */
export function imageNodesOf(cl: OpenCLContext, device: string): Node[] {
  if (cl.device.images === undefined) return [];
  const target = cl.image({ order: "RGBA", type: "UNORM_INT8" });
  return [{ device, target, make: () => target.allocate({ shape: LITTLE.shape }) }];
}
