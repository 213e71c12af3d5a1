import type { OpenCLContext } from "../../opencl/context.ts";
import { LITTLE, type Node } from "../api.ts";

/** Aligns samples, so that the report does not depend on where a driver puts them. */
const PAGE = 4096;

/** The kinds of memory of a device, with samples. */
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
 * One image format stands for all: every device with images has it.
 *
 * @throws {NativeCallError} if the query for image formats fails.
 */
export function imageNodesOf(cl: OpenCLContext, device: string): Node[] {
  if (cl.device.images === undefined) return [];
  const target = cl.image({ order: "RGBA", type: "UNORM_INT8" });
  return [{ device, target, make: () => target.allocate({ shape: LITTLE.shape }) }];
}
