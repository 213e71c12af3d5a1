import type { FrameInfo, ImageInfo } from "../core/layout/frame_info.ts";
import type { HostTensor } from "../host/mod.ts";
import type { Session } from "../inference/session.ts";
import type { OpenCLContext, OpenCLTensor } from "../opencl/mod.ts";
import { checks, type Transform } from "./stage.ts";
import { infer } from "./stages/infer.ts";
import { pictureInput } from "./stages/picture_input.ts";

/** The longer side of what the model reads, where it takes any, and what its sides are multiples of. */
const [SIDE, STEP] = [640, 32];

/** From which probability on a pixel belongs to an object, and what share of the picture the smallest has. */
const [LIKELY, LEAST] = [0.3, 1 / 5000];

/**
 * A model that gives each pixel the probability that it belongs to an object, as text detectors do: what is connected is a
 * detection.
 *
 * @throws {ArgumentError} for a model of another kind.
 */
export function detector(session: Session, cl: OpenCLContext): Transform<OpenCLTensor> {
  const { inputs: [input, ...others], outputs: [output, ...more] } = session;
  const isMap = [input, output].every(({ shape, dtype }) => shape.length === 4 && dtype === "f32") &&
    others.length + more.length === 0 && input.shape[1] === 3 && Math.abs(output.shape[1]) === 1;
  if (!isMap) {
    const hint = "It has to read f32 [1, 3, height, width], and write f32 [1, 1, height, width].";
    throw checks.wrong("--detect", `the model makes no map of probabilities: ${session}.`, hint);
  }
  const sizeOf = (info: FrameInfo): readonly number[] => {
    const { width, height } = info as ImageInfo;
    const scale = Math.min(1, SIDE / Math.max(width, height));
    const sides = [height, width].map((side) => Math.max(STEP, Math.round(side * scale / STEP) * STEP));
    return [1, 3, ...sides].map((side, i) => i < 2 || input.shape[i] === -1 ? side : input.shape[i]);
  };
  return infer<OpenCLTensor>(session, {
    name: "detect",
    ...pictureInput(cl, { format: "GRAY8", mean: 127.5, scale: 127.5 }),
    shapes: (info) => ({ [input.name]: sizeOf(info) }),
    results({ [output.name]: map }, { metadata }) {
      for (const detection of detectionsIn(map)) metadata.add("detection", detection);
    },
  });
}

interface Detection {
  readonly xMin: number;
  readonly yMin: number;
  readonly xMax: number;
  readonly yMax: number;
  readonly confidence: number;
}

/** What is connected in a map, each as a box around it. */
export function detectionsIn(map: HostTensor): readonly Detection[] {
  const likely = (map.view({ access: "read" }) as Float32Array).slice();
  const [, , height, width] = map.layout.shape;
  const found: Detection[] = [];
  for (let start = 0; start < likely.length; start++) {
    if (likely[start] < LIKELY) continue;
    let [left, top, right, bottom, sum, count] = [width, height, 0, 0, 0, 0];
    for (const at of connected(likely, start, width)) {
      const [x, y] = [at.index % width, Math.floor(at.index / width)];
      [left, top, right, bottom] = [
        Math.min(left, x),
        Math.min(top, y),
        Math.max(right, x + 1),
        Math.max(bottom, y + 1),
      ];
      sum += at.value;
      count++;
    }
    if (count < LEAST * width * height) continue;
    const box = { xMin: left / width, yMin: top / height, xMax: right / width, yMax: bottom / height };
    found.push({ ...box, confidence: sum / count });
  }
  return found;
}

/** Pixels that are connected with one; each is taken out of the map. */
function* connected(map: Float32Array, start: number, width: number) {
  const waiting = [start];
  for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
    const value = map[index];
    if (!(value >= LIKELY)) continue;
    map[index] = 0;
    yield { index, value };
    if (index % width > 0) waiting.push(index - 1);
    if (index % width < width - 1) waiting.push(index + 1);
    waiting.push(index - width, index + width); // beyond the map there is no value
  }
}
