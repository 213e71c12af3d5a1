import { object } from "../../core/argument.ts";
import { type FrameInfo, frameInfo, type PixelsInfo } from "../../core/layout/frame_info.ts";
import { region } from "../../core/layout/layout.ts";
import { copyElements } from "../../core/layout/runs.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { Metadata, type MetadataFields } from "../../core/tensors/metadata.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import { host, type HostTensor } from "../../host/mod.ts";
import { StageError } from "../errors.ts";
import { checks, Flow, Transform } from "../stage.ts";

/** A part of a picture, in pixels. */
export interface Part {
  /** From the left edge. */
  readonly x: number;
  /** From the upper edge. */
  readonly y: number;
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
}

/**
 * Shows a part of each picture: the same bytes, with the strides of the whole. Detections move with the pixels, and those
 * outside are left out.
 *
 * @throws {ArgumentError} for anything but a part. A frame that it does not fit ends the pipeline: chroma has whole
 * steps.
 */
export function crop(part: Part): Flow {
  object(part, "part");
  for (const name of ["x", "y", "width", "height"] as const) {
    checks.assertInteger(part[name], name, name === "x" || name === "y" ? 0 : 1, Number.MAX_SAFE_INTEGER);
  }
  return new Flow({
    name: "crop",
    async *flow(frames) {
      for await (const frame of frames) yield cropped(frame, part);
    },
  });
}

/** A part of a frame, as a frame that owns the whole. */
function cropped(frame: Frame, part: Part): Frame {
  const { info } = frame;
  if (info.type !== "image" && info.type !== "picture") throw new StageError("crop", `${frame.name} is not a picture.`);
  const { x, y, width, height } = part;
  if (x + width > info.width || y + height > info.height) {
    const what = `a part of ${width} × ${height} at ${x}, ${y} does not lie in ${info.width} × ${info.height}.`;
    throw new StageError("crop", what, { hint: "It ends at x + width and y + height." });
  }
  const planes: Tensor[] = [];
  try {
    for (const plane of frame.planes) planes.push(partOf(plane, info, part));
    const of = frameInfo({ ...info, width, height } as FrameInfo);
    const whole = Frame.of(planes, of, moved(frame.metadata, info, part));
    whole.own(frame);
    return whole;
  } catch (error) {
    for (const plane of planes) plane[Symbol.dispose]();
    throw error;
  }
}

function partOf(plane: Tensor, info: PixelsInfo, { x, y, width, height }: Part): Tensor {
  const [rows, columns, ...channels] = plane.layout.shape;
  const start = [y * rows / info.height, x * columns / info.width];
  const shape = [height * rows / info.height, width * columns / info.width];
  if (![...start, ...shape].every(Number.isInteger)) {
    const hint = "Begin and end where its chroma does: at even pixels, as a rule.";
    throw new StageError("crop", `${info.format} has no part of ${width} × ${height} at ${x}, ${y}.`, { hint });
  }
  return plane.slice(region(plane.layout, [...start, ...channels.map(() => 0)], [...shape, ...channels]));
}

/** Metadata of a part: coordinates of detections are fractions of the picture. */
function moved(metadata: Metadata, { width, height }: PixelsInfo, part: Part): Metadata {
  const across = (value: number) => (value * width - part.x) / part.width;
  const down = (value: number) => (value * height - part.y) / part.height;
  const inside = (value: number) => Math.min(1, Math.max(0, value));
  const copy = new Metadata();
  for (const [name, fields] of metadata.entries()) {
    if (name !== "detection") {
      copy.add(name, fields);
      continue;
    }
    const { xMin, yMin, xMax, yMax, ...others } = fields as MetadataFields["detection"];
    const [left, right] = [xMin, xMax].map((x) => inside(across(x)));
    const [top, bottom] = [yMin, yMax].map((y) => inside(down(y)));
    const box = { xMin: left, yMin: top, xMax: right, yMax: bottom };
    if (left < right && top < bottom) copy.add("detection", { ...others, ...box });
  }
  return copy;
}

/**
 * Copies each picture into memory of its own, for two stages that have the bytes at the same time if one of them writes.
 * The figures count its bytes.
 */
export function copy(): Transform<HostTensor> {
  return new Transform<HostTensor>({
    name: "copy",
    takes: { memory: host },
    gives: (info) => info,
    copies: true,
    process: (input, output) => {
      for (const [i, plane] of input.planes.entries()) {
        const to = output.planes[i];
        copyElements(to.bytes({ access: "write" }), bare(to), plane.bytes({ access: "read" }), bare(plane));
      }
    },
  });
}

/** Its layout, counted from the first element. */
function bare({ layout }: Tensor) {
  return { ...layout, byteOffset: 0 };
}
