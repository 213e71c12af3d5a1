import { integer, type Rule } from "../../core/checks.ts";
import { type Colour, type FrameInfo, type ImageInfo, imageInfo } from "../../core/layout/frame_info.ts";
import { allOrNothing } from "../../core/life/undo.ts";
import type { OpenCLContext, OpenCLKernel, OpenCLTensor } from "../../opencl/mod.ts";
import { RecentKinds } from "../recent_kinds.ts";
import { checks, Transform } from "../stage.ts";
import { contextIn } from "./given.ts";

/** What {@link convert} changes about pictures. What is left out stays as it is. */
export interface ConvertOptions {
  /** The format. */
  readonly format?: ConvertedFormat;
  /** Pixels across. */
  readonly width?: number;
  /** Pixels down. */
  readonly height?: number;
}

const PIXELS = integer(1, 2 ** 31 - 1);

/** The formats that {@link convert} reads and writes. */
export type ConvertedFormat =
  | ("GRAY8" | "RGB" | "BGR" | "RGBA" | "BGRA" | "RGBX" | "BGRX")
  | ("NV12" | "I420" | "YV12" | "YUV444");

/** Where a component lies: its plane, its byte within a step, the bytes of a step, and log2 of the pixels of a step. */
type Place = readonly [plane: number, byte: number, step: number, shift: number];

interface Converted {
  readonly space: "grey" | "rgb" | "yuv";
  readonly places: readonly [Place, Place, Place];
}

const FORMATS: Readonly<Record<ConvertedFormat, Converted>> = {
  GRAY8: { space: "grey", places: [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0]] },
  RGB: packed(3, 0, 2),
  BGR: packed(3, 2, 0),
  RGBA: packed(4, 0, 2),
  BGRA: packed(4, 2, 0),
  RGBX: packed(4, 0, 2),
  BGRX: packed(4, 2, 0),
  NV12: { space: "yuv", places: [[0, 0, 1, 0], [1, 0, 2, 1], [1, 1, 2, 1]] },
  I420: { space: "yuv", places: [[0, 0, 1, 0], [1, 0, 1, 1], [2, 0, 1, 1]] },
  YV12: { space: "yuv", places: [[0, 0, 1, 0], [2, 0, 1, 1], [1, 0, 1, 1]] },
  YUV444: { space: "yuv", places: [[0, 0, 1, 0], [1, 0, 1, 0], [2, 0, 1, 0]] },
};

function packed(step: number, red: number, blue: number): Converted {
  return { space: "rgb", places: [[0, red, step, 0], [0, 1, step, 0], [0, blue, step, 0]] };
}

const FORMAT: Rule = (checks, value, argument) => void checks.nameIn(value, FORMATS, argument);

/** The weights of red and blue in luma. */
const WEIGHTS = { bt601: [0.299, 0.114], bt709: [0.2126, 0.0722], bt2020: [0.2627, 0.0593] } as const;

/**
 * Converts pictures to another format, another size or both, with an OpenCL kernel. A pixel of a smaller picture is the
 * mean of the pixels that it stands for. Colours follow `info.colour`; where that is unknown, luma is 16 to 235, by
 * BT.709 from 720 rows on, and by BT.601 below.
 *
 * @throws {ArgumentError} for anything but an OpenCLContext, for a format that it does not write, and for a wrong size.
 */
export function convert(cl: OpenCLContext, options: ConvertOptions): Transform<OpenCLTensor> {
  contextIn(cl, "opencl", "cl");
  const { format, width, height } = checks.optionsIn(options, { format: FORMAT, width: PIXELS, height: PIXELS });
  const isSized = width !== undefined || height !== undefined;
  const made = new RecentKinds<Made>(() => true, end);
  const kernelFor = (from: ImageInfo, to: ImageInfo): OpenCLKernel => {
    const key = JSON.stringify([from, to].map(({ format, width, height, colour }) => [format, width, height, colour]));
    const one = made.find((one) => one.key === key) ?? { key, kernel: kernelOf(cl, sourceOf(from, to)) };
    made.use(one);
    return one.kernel;
  };
  return new Transform<OpenCLTensor>({
    name: ["convert", format ?? [], isSized ? `${width ?? ""}×${height ?? ""}` : []].flat().join(" "),
    takes: { memory: cl, format: Object.keys(FORMATS) },
    gives: (given) => outputOf(given as ImageInfo, options),
    process: (input, output) => {
      const [from, to] = [input.info, output.info] as ImageInfo[];
      const block = blockOf(FORMATS[to.format as ConvertedFormat]);
      const items = [to.width, to.height].map((size) => Math.ceil(size / block));
      const planes = [...input.planes, ...output.planes];
      kernelFor(from, to).run({ items }, planes.flatMap((plane) => [plane, plane.layout.strides[0]]));
    },
    close: () => made.clear().forEach(end),
  });
}

interface Made {
  readonly key: string;
  readonly kernel: OpenCLKernel;
}

function kernelOf(cl: OpenCLContext, source: string): OpenCLKernel {
  return allOrNothing("converting pictures", (undo) => {
    const program = cl.program(source);
    undo.push(() => program[Symbol.dispose]());
    return program.kernel("convert_picture");
  });
}

function end({ kernel }: Made): void {
  for (const one of [kernel, kernel.program]) one[Symbol.dispose]();
}

function outputOf(
  input: ImageInfo,
  { format = input.format as ConvertedFormat, width, height }: ConvertOptions,
): FrameInfo {
  const size = { width: width ?? input.width, height: height ?? input.height };
  return imageInfo({ format, ...size, ...FORMATS[format].space === "yuv" && { colour: colourOf(input) } });
}

function colourOf({ colour, height }: ImageInfo): Required<Colour> {
  return { matrix: colour?.matrix ?? (height >= 720 ? "bt709" : "bt601"), range: colour?.range ?? "limited" };
}

function blockOf({ places }: Converted): number {
  return 1 << Math.max(...places.map(([, , , shift]) => shift));
}

function sourceOf(from: ImageInfo, to: ImageInfo): string {
  const [reads, writes]: Converted[] = [FORMATS[from.format as ConvertedFormat], FORMATS[to.format as ConvertedFormat]];
  const planes = (name: string, kind: string, { places }: Converted) =>
    Array.from(
      new Set(places.map(([plane]) => plane).sort()),
      (p) => `global ${kind}uchar *${name}${p}, int ${name}s${p}`,
    );
  const at = (name: string, [plane, byte, step, shift]: Place, x: string, y: string) =>
    `${name}${plane}[(${y} >> ${shift}) * ${name}s${plane} + (${x} >> ${shift}) * ${step} + ${byte}]`;
  const inputs = planes("in", "const ", reads);
  const names = inputs.map((one) => one.replace(/global const uchar \*|int /g, ""));
  const block = blockOf(writes);
  const taps = [from.width / to.width, from.height / to.height].map((scale) => Math.max(1, Math.ceil(scale)));
  const ofBlock = ([, , , shift]: Place) => 1 << shift === block;
  const isWithin = `if (x + i < ${to.width} && y + j < ${to.height})`;
  const stores = writes.places.map((place, c) => {
    if (ofBlock(place)) return "";
    return `${isWithin} ${at("out", place, "(x + i)", "(y + j)")} = convert_uchar_sat_rte(p.s${c});`;
  });
  const sums = writes.places.map((place, c) => {
    if (!ofBlock(place)) return "";
    return `${at("out", place, "x", "y")} = convert_uchar_sat_rte(sum.s${c} / ${block * block}.0f);`;
  });
  const alpha = writes.space === "rgb" && writes.places[0][2] === 4
    ? at("out", [0, 3, 4, 0], "x", "y") + " = 255;"
    : "";
  return `
float3 pixel(${inputs.join(", ")}, int x, int y) {
  return (float3)(${reads.places.map((place) => at("in", place, "x", "y")).join(", ")});
}
float3 sample(${inputs.join(", ")}, float x, float y) {
  float2 f = (float2)(x, y) - 0.5f;
  int2 a = convert_int2_rtn(f), b = clamp(a + 1, (int2)(0), (int2)(${from.width - 1}, ${from.height - 1}));
  f -= convert_float2(a);
  a = clamp(a, (int2)(0), (int2)(${from.width - 1}, ${from.height - 1}));
  return mix(mix(pixel(${names.join(", ")}, a.x, a.y), pixel(${names.join(", ")}, b.x, a.y), f.x),
             mix(pixel(${names.join(", ")}, a.x, b.y), pixel(${names.join(", ")}, b.x, b.y), f.x), f.y);
}
kernel void convert_picture(${[...inputs, ...planes("out", "", writes)].join(", ")}) {
  int x = get_global_id(0) * ${block}, y = get_global_id(1) * ${block};
  float3 sum = 0;
  for (int j = 0; j < ${block}; j++) for (int i = 0; i < ${block}; i++) {
    float3 p = 0;
    for (int v = 0; v < ${taps[1]}; v++) for (int u = 0; u < ${taps[0]}; u++)
      p += sample(${names.join(", ")}, (x + i + (u + 0.5f) / ${taps[0]}) * ${ratio(from.width, to.width)},
                  (y + j + (v + 0.5f) / ${taps[1]}) * ${ratio(from.height, to.height)});
    p /= ${taps[0] * taps[1]}.0f;
    ${colours(reads.space, writes.space, from, to)}
    ${stores.join("\n    ")}
    sum += p;
  }
  ${sums.join("\n  ")}
  ${alpha}
}`;
}

function ratio(from: number, to: number): string {
  return `${(from / to).toPrecision(9)}f`.replace(/^(\d+)f$/, "$1.0f");
}

/** OpenCL C that turns p from the components that are read into those that are written. */
function colours(from: Converted["space"], to: Converted["space"], input: ImageInfo, output: ImageInfo): string {
  if (from === to || (from === "grey" && to === "rgb")) return "";
  const steps: string[] = [];
  if (from === "yuv") steps.push(toRgb(colourOf(input)));
  if (to === "yuv") steps.push(toYuv(colourOf(output)));
  if (to === "grey") {
    const [red, blue] = WEIGHTS.bt601;
    steps.push(from === "yuv" ? `p = luma;` : `p = dot(p, (float3)(${red}f, ${1 - red - blue}f, ${blue}f));`);
  }
  return steps.join(" ");
}

function toRgb({ matrix, range }: Required<Colour>): string {
  const [red, blue] = WEIGHTS[matrix];
  const green = 1 - red - blue;
  const [begin, luma, chroma] = range === "limited" ? [16, 255 / 219, 255 / 224] : [0, 1, 1];
  return `float luma = (p.x - ${begin}.0f) * ${f(luma)}; float2 c = (p.yz - 128.0f) * ${f(chroma)};
    p = luma + (float3)(${f(2 * (1 - red))} * c.y, ${f(-2 * blue * (1 - blue) / green)} * c.x + ${
    f(-2 * red * (1 - red) / green)
  } * c.y, ${f(2 * (1 - blue))} * c.x); p = clamp(p, 0.0f, 255.0f);`;
}

function toYuv({ matrix, range }: Required<Colour>): string {
  const [red, blue] = WEIGHTS[matrix];
  const [begin, luma, chroma] = range === "limited" ? [16, 219 / 255, 224 / 255] : [0, 1, 1];
  return `float l = dot(p, (float3)(${f(red)}, ${f(1 - red - blue)}, ${f(blue)}));
    p = (float3)(${begin}.0f + l * ${f(luma)}, 128.0f + (p.z - l) * ${
    f(chroma / (2 * (1 - blue)))
  }, 128.0f + (p.x - l) * ${f(chroma / (2 * (1 - red)))});`;
}

function f(value: number): string {
  return `${value.toFixed(9)}f`;
}
