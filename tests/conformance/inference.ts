import { MapperGraph } from "../../mod.ts";
import type { ImageInfo } from "../../src/core/layout/frame_info.ts";
import { allocateFrame } from "../../src/core/tensors/over.ts";
import { host } from "../../src/host/mod.ts";
import type { InferenceContext } from "../../src/inference/context.ts";
import type { InferenceTensor } from "../../src/inference/tensor.ts";
import { bytesAt } from "./bytes.ts";
import { byHost, hostEnd } from "./host_end.ts";
import { ANY_MAT } from "./opencv_variants.ts";
import type { Candidate, End, Subject, Variants } from "./subject.ts";

/** Layouts without gaps. */
const DENSE: Variants = {
  contiguous: ANY_MAT.contiguous,
  padded: [],
  parts: ANY_MAT.parts.filter(({ whole }) => !("rowAlign" in whole)),
};

/** The edges of a runtime's memory. `missing` says why it is not here. */
export function runtimeEdges(
  kind: string,
  missing: string | undefined,
  open: () => InferenceContext,
): Candidate[] {
  return [`${kind}→host`, `host→${kind}`].map((edge) => ({ edge, open: missing ?? (() => opened(edge, open)) }));
}

function opened(edge: string, open: () => InferenceContext): Subject {
  using made = new DisposableStack();
  const [one, other] = [0, 1].map(() => made.use(open()));
  const graph = made.use(new MapperGraph([host, one, other]));
  const fromHost = edge.startsWith("host");
  const end = endOf(one); // a frame of the host's may have gaps
  const from = { ...end, allocateFrame: (info: ImageInfo) => allocateFrame<InferenceTensor>(one, info) };
  const kept = made.move();
  return {
    graph,
    source: fromHost ? hostEnd : from,
    target: fromHost ? end : hostEnd,
    ...(fromHost ? { elsewhere: endOf(other), variants: DENSE } : {}),
    expected: "alias",
    withoutCalls: true,
    openContext: open,
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/** Memory of a runtime's. What writes it is a map of the CPU's. */
function endOf(target: InferenceContext): End {
  const look = ({ address, byteLength }: InferenceTensor) => bytesAt(address, byteLength);
  return {
    target,
    allocate: (init) => target.allocate(init),
    ...byHost(new MapperGraph([host, target])),
    raw: {
      write(tensor, bytes) {
        look(tensor as InferenceTensor).set(bytes);
        return () => Promise.resolve();
      },
      read: (tensor) => Promise.resolve(look(tensor as InferenceTensor).slice()),
      look: (tensor) => look(tensor as InferenceTensor),
    },
  };
}
