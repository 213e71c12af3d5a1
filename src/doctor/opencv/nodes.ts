import type { Context } from "../../core/graph/context.ts";
import { Graph } from "../../core/graph/graph.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import { openCLToOpenCVUMat } from "../../mappers/mod.ts";
import type { Mapper } from "../../core/graph/mapper.ts";
import { OpenCLContext } from "../../opencl/context.ts";
import type { OpenCVContext } from "../../opencv/context.ts";
import { assertOpenCL } from "../../opencv/execution.ts";
import { type Examination, LITTLE, type Node } from "../api.ts";

/** Mats, and UMats over a buffer of each OpenCL device. */
export function openCVNodesOf(
  cv: OpenCVContext,
  device: string,
  { opened }: Examination,
  before: readonly Node[],
): Node[] {
  const contexts = before.flatMap(({ target }) => target instanceof OpenCLContext ? [target] : []);
  const homes = contexts.map((cl): [Context, () => Mapped] => [cl, () => umatIn(cl, cv, opened)]);
  return [
    { device, target: cv.mat, make: () => cv.mat.create(LITTLE) },
    { device, target: cv.umat, make: undefined, homes: new Map(homes) },
  ];
}

/** A UMat mapped from a buffer. */
function umatIn(cl: OpenCLContext, cv: OpenCVContext, opened: DisposableStack): Mapped {
  assertOpenCL();
  const buffer = opened.use(cl.allocate(LITTLE));
  const graph = opened.use(new Graph([cl, cv], [openCLToOpenCVUMat as unknown as Mapper]));
  return graph.map(buffer, cv.umat);
}
