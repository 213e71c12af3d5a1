import { MapperGraph } from "../../mod.ts";
import type { ImageInfo } from "../../src/core/layout/frame_info.ts";
import { allocateFrame } from "../../src/core/tensors/over.ts";
import { host } from "../../src/host/mod.ts";
import { OnnxRuntimeContext, type OnnxRuntimeTensor } from "../../src/onnxruntime/mod.ts";
import { LIBRARY, openOnnxRuntime } from "../onnxruntime/open.ts";
import { bytesAt } from "./bytes.ts";
import { byHost, hostEnd } from "./host_end.ts";
import { ANY_MAT } from "./opencv_variants.ts";
import type { Candidate, End, Subject, Variants } from "./subject.ts";

/** Layouts without gaps. */
export const DENSE: Variants = {
  contiguous: ANY_MAT.contiguous,
  padded: [],
  parts: ANY_MAT.parts.filter(({ whole }) => !("rowAlign" in whole)),
};

/** The edges of OrtValues. */
export function onnxRuntimes(): Candidate[] {
  return ["ortvalue→host", "host→ortvalue"].map((edge) => ({
    edge,
    open: LIBRARY === undefined ? "there is no ONNX Runtime: deno task setup inference" : () => opened(edge),
  }));
}

function opened(edge: string): Subject {
  using made = new DisposableStack();
  const [ort, other] = [0, 1].map(() => made.use(openOnnxRuntime()));
  const graph = made.use(new MapperGraph([host, ort, other]));
  const fromHost = edge.startsWith("host");
  const end = endOf(ort); // a frame of the host's may have gaps
  const from = { ...end, allocateFrame: (info: ImageInfo) => allocateFrame<OnnxRuntimeTensor>(ort, info) };
  const kept = made.move();
  return {
    graph,
    source: fromHost ? hostEnd : from,
    target: fromHost ? end : hostEnd,
    ...(fromHost ? { elsewhere: endOf(other), variants: DENSE } : {}),
    expected: "alias",
    withoutCalls: true,
    openContext: openOnnxRuntime,
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/** Memory of ONNX Runtime's. What writes it is a map of the CPU's. */
function endOf(target: OnnxRuntimeContext): End {
  const look = ({ address, byteLength }: OnnxRuntimeTensor) => bytesAt(address, byteLength);
  return {
    target,
    allocate: (init) => target.allocate(init),
    ...byHost(new MapperGraph([host, target])),
    raw: {
      write(tensor, bytes) {
        look(tensor as OnnxRuntimeTensor).set(bytes);
        return () => Promise.resolve();
      },
      read: (tensor) => Promise.resolve(look(tensor as OnnxRuntimeTensor).slice()),
      look: (tensor) => look(tensor as OnnxRuntimeTensor),
    },
  };
}
