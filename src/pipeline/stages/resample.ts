import { sizeOf } from "../../core/layout/dtype.ts";
import { rowStrideOf } from "../../core/layout/facts.ts";
import type { Colour, PictureInfo, PixelsInfo } from "../../core/layout/frame_info.ts";
import { allOrNothing } from "../../core/life/undo.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import type { OpenCLContext, OpenCLKernel, OpenCLTensor } from "../../opencl/mod.ts";
import { RecentKinds } from "../recent_kinds.ts";
import { checks } from "../stage.ts";

/** The formats of samepage's that kernels here read and write. */
export type ConvertedFormat =
  | ("GRAY8" | "RGB" | "BGR" | "RGBA" | "BGRA" | "RGBX" | "BGRX")
  | ("NV12" | "I420" | "YV12" | "YUV444" | "P010" | "P012" | "P016");

/** Where a component lies: its plane, its element in a step, the elements of one, and the pixels of one as powers of 2. */
type Place = readonly [plane: number, element: number, step: number, across: number, down: number];

/** Where the components of pixels lie: grey; red, green and blue; or luma, blue and red. */
export interface Components {
  /** What they are. */
  readonly space: "grey" | "rgb" | "yuv";
  /** Where each is. */
  readonly places: readonly Place[];
  /** Bits of an element of 16, the highest of it; bytes if left out. */
  readonly bits?: number;
}

const GREY: Place = [0, 0, 1, 0, 0];
const IN_PAIRS: readonly Place[] = [GREY, [1, 0, 2, 1, 1], [1, 1, 2, 1, 1]];

export const WRITTEN: Readonly<Record<ConvertedFormat, Components>> = {
  GRAY8: { space: "grey", places: [GREY] },
  RGB: packed(3, 0, 2),
  BGR: packed(3, 2, 0),
  RGBA: packed(4, 0, 2),
  BGRA: packed(4, 2, 0),
  RGBX: packed(4, 0, 2),
  BGRX: packed(4, 2, 0),
  NV12: { space: "yuv", places: IN_PAIRS },
  I420: planar("yuv", [0, 1, 2], 1, 1),
  YV12: planar("yuv", [0, 2, 1], 1, 1),
  YUV444: planar("yuv", [0, 1, 2]),
  P010: { space: "yuv", places: IN_PAIRS, bits: 10 },
  P012: { space: "yuv", places: IN_PAIRS, bits: 12 },
  P016: { space: "yuv", places: IN_PAIRS, bits: 16 },
};

/** The formats that kernels read: others by FFmpeg's and GStreamer's names, which pictures of odd sizes have as well. */
export const READ: Readonly<Record<string, Components>> = {
  ...WRITTEN,
  ...{ nv12: WRITTEN.NV12, yuv420p: WRITTEN.I420, yuvj420p: WRITTEN.I420 },
  ...{ yuv422p: planar("yuv", [0, 1, 2], 1), yuvj422p: planar("yuv", [0, 1, 2], 1), Y42B: planar("yuv", [0, 1, 2], 1) },
  ...{ gbrp: planar("rgb", [2, 0, 1]), GBR: planar("rgb", [2, 0, 1]) },
  ...{ RGBP: planar("rgb", [0, 1, 2]), BGRP: planar("rgb", [2, 1, 0]) },
};

function packed(step: number, red: number, blue: number): Components {
  return { space: "rgb", places: [[0, red, step, 0, 0], [0, 1, step, 0, 0], [0, blue, step, 0, 0]] };
}

/** Components with a plane each; of the second and the third, one stands for several pixels. */
function planar(space: "rgb" | "yuv", planes: readonly number[], across = 0, down = 0): Components {
  return { space, places: planes.map((plane, i) => [plane, 0, 1, i && across, i && down]) };
}

/** What a kernel writes, one work-item for each block of pixels. */
export interface Written extends Components {
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
  /** Its encoding, for `"yuv"`. */
  readonly colour?: Required<Colour>;
  /** OpenCL's type of an element. */
  readonly type: string;
  /** What stores the value of a component, in OpenCL C. */
  store(at: string, value: string, component: number): string;
  /** What is stored at a pixel besides. */
  also?(x: string, y: string): string;
}

interface Made {
  readonly key: string;
  readonly kernel: OpenCLKernel;
  readonly items: readonly number[];
}

/** Kernels that read pictures of any of these formats, scale them and write `T`, a description of plain data. */
export class Resampler<T> {
  readonly #cl: OpenCLContext;
  readonly #writtenOf: (to: T) => Written;
  readonly #made = new RecentKinds<Made>(() => true, end);

  constructor(cl: OpenCLContext, writtenOf: (to: T) => Written) {
    [this.#cl, this.#writtenOf] = [cl, writtenOf];
  }

  /**
   * Submits a kernel.
   *
   * @param outputs the tensors that it writes, each with the elements from row to row
   * @throws {LayoutError} for a picture with gaps within its rows.
   */
  run({ info, planes }: Frame<OpenCLTensor>, to: T, outputs: readonly Rows[]): void {
    const { kernel, items } = this.#madeFor(info as PixelsInfo, to);
    const inputs = planes.map((plane, i): Rows => [plane, rowsOf(plane, i)]);
    kernel.run({ items }, [...inputs, ...outputs].flatMap(argumentsFor));
  }

  #madeFor(from: PixelsInfo, to: T): Made {
    const { format, width, height, colour } = from;
    const key = JSON.stringify([format, width, height, colour, (from as Partial<PictureInfo>).planes, to]);
    let one = this.#made.find((one) => one.key === key);
    if (one === undefined) {
      const written = this.#writtenOf(to);
      const block = blockOf(written);
      const items = [written.width, written.height].map((size, i) => Math.ceil(size / block[i]));
      one = { key, items, kernel: kernelOf(this.#cl, sourceOf(from, written)) };
    }
    this.#made.use(one);
    return one;
  }

  close(): void {
    this.#made.clear().forEach(end);
  }
}

/** A plane, and its elements from row to row. */
type Rows = readonly [plane: OpenCLTensor, elements: number];

/** A part of a picture may begin where no sub-buffer can: a kernel gets its first element's place. */
function argumentsFor([plane, rows]: Rows): [OpenCLTensor["base"], first: number, rows: number] {
  const { byteOffset, dtype } = plane.layout;
  return [plane.base, byteOffset / sizeOf(dtype), rows];
}

/** Elements from row to row of a plane that is read. */
function rowsOf({ layout }: OpenCLTensor, i: number): number {
  const stride = rowStrideOf(layout);
  if (stride !== undefined) return stride / sizeOf(layout.dtype);
  throw checks.unfit("frame", `there are gaps within the rows of plane ${i}, and no kernel reads it.`, "Copy it.");
}

function kernelOf(cl: OpenCLContext, source: string): OpenCLKernel {
  return allOrNothing("converting pictures", (undo) => {
    const program = cl.program(source);
    undo.push(() => program[Symbol.dispose]());
    return program.kernel("resample");
  });
}

function end({ kernel }: Made): void {
  for (const one of [kernel, kernel.program]) one[Symbol.dispose]();
}

/** The encoding of a picture, where nothing says otherwise. */
export function colourOf({ colour, height }: Pick<PixelsInfo, "colour" | "height">): Required<Colour> {
  return { matrix: colour?.matrix ?? (height >= 720 ? "bt709" : "bt601"), range: colour?.range ?? "limited" };
}

/** Where a picture's components lie. @throws {ArgumentError} for another format, and planes that are not the format's. */
function componentsOf(info: PixelsInfo): Components {
  if (!Object.hasOwn(READ, info.format)) {
    throw checks.wrong("frame", `no kernel reads ${info.format}.`, `They read ${Object.keys(READ).join(", ")}.`);
  }
  const components = READ[info.format];
  const fits = (plane: number, step: number, across: number, down: number) => {
    const { dtype, elements, ...each } = (info as PictureInfo).planes[plane] ?? {};
    return dtype === "u8" && elements === step && each.step === 1 << across && each.rows === 1 << down;
  };
  const isWhole = info.type === "image" ||
    components.places.every(([plane, , step, across, down]) => fits(plane, step, across, down));
  if (isWhole) return components;
  throw checks.wrong(
    "frame",
    `its planes are not those of ${info.format}, of bytes.`,
    "Say what they are: another format.",
  );
}

/** The pixels of a work-item: those for which there is one element of each component. */
function blockOf({ places }: Components): readonly [across: number, down: number] {
  return [1 << Math.max(...places.map(([, , , across]) => across)), 1 << Math.max(...places.map((place) => place[4]))];
}

function sourceOf(from: PixelsInfo, to: Written): string {
  const reads = componentsOf(from);
  const planes = (name: string, type: string, { places }: Components) =>
    Array.from(
      new Set(places.map(([plane]) => plane).sort()),
      (p) => ({ pointer: `${name}${p}`, first: `${name}f${p}`, rows: `${name}s${p}`, type }),
    );
  const at = (name: string, [plane, element, step, across, down]: Place, x: string, y: string) =>
    `${name}${plane}[(${y} >> ${down}) * ${name}s${plane} + (${x} >> ${across}) * ${step} + ${element}]`;
  const [inputs, outputs] = [
    planes("in", reads.bits === undefined ? "const uchar" : "const ushort", reads),
    planes("out", to.type, to),
  ];
  const parameters = inputs.map(({ pointer, rows, type }) => `global ${type} *${pointer}, int ${rows}`);
  const names = inputs.map(({ pointer, rows }) => `${pointer}, ${rows}`);
  const [across, down] = blockOf(to);
  const taps = [from.width / to.width, from.height / to.height].map((scale) => Math.max(1, Math.ceil(scale)));
  const isOfBlock = ([, , , x, y]: Place) => 1 << x === across && 1 << y === down;
  const isWithin = `if (x + i < ${to.width} && y + j < ${to.height})`;
  const stores = to.places.map((place, c) =>
    isOfBlock(place) ? "" : `${isWithin} ${to.store(at("out", place, "(x + i)", "(y + j)"), `p.s${c}`, c)}`
  );
  const sums = to.places.map((place, c) =>
    isOfBlock(place) ? to.store(at("out", place, "x", "y"), `sum.s${c} / ${across * down}.0f`, c) : ""
  );
  const [right, bottom] = [from.width - 1, from.height - 1];
  const isOnPixels = taps[0] * to.width === from.width && taps[1] * to.height === from.height;
  const tap = isOnPixels
    ? `pixel(${names.join(", ")}, min((x + i) * ${taps[0]} + u, ${right}), min((y + j) * ${taps[1]} + v, ${bottom}))`
    : `sample(${names.join(", ")}, (x + i + (u + 0.5f) / ${taps[0]}) * ${ratio(from.width, to.width)},
                  (y + j + (v + 0.5f) / ${taps[1]}) * ${ratio(from.height, to.height)})`;
  return `
float3 pixel(${parameters.join(", ")}, int x, int y) {
  return (float3)(${reads.places.map((place) => at("in", place, "x", "y")).join(", ")})${
    reads.bits === undefined ? "" : " / 256.0f"
  }; // of one, it is all three
}
float3 sample(${parameters.join(", ")}, float x, float y) {
  float2 f = (float2)(x, y) - 0.5f;
  int2 a = convert_int2_rtn(f), b = clamp(a + 1, (int2)(0), (int2)(${right}, ${bottom}));
  f -= convert_float2(a);
  a = clamp(a, (int2)(0), (int2)(${right}, ${bottom}));
  return mix(mix(pixel(${names.join(", ")}, a.x, a.y), pixel(${names.join(", ")}, b.x, a.y), f.x),
             mix(pixel(${names.join(", ")}, a.x, b.y), pixel(${names.join(", ")}, b.x, b.y), f.x), f.y);
}
kernel void resample(${
    [...inputs, ...outputs].map((one) => `global ${one.type} *${one.pointer}, ulong ${one.first}, int ${one.rows}`)
  }) {
  ${[...inputs, ...outputs].map(({ pointer, first }) => `${pointer} += ${first};`).join(" ")}
  int x = get_global_id(0) * ${across}, y = get_global_id(1) * ${down};
  float3 sum = 0;
  for (int j = 0; j < ${down}; j++) for (int i = 0; i < ${across}; i++) {
    float3 p = 0;
    for (int v = 0; v < ${taps[1]}; v++) for (int u = 0; u < ${taps[0]}; u++) p += ${tap};
    p /= ${taps[0] * taps[1]}.0f;
    ${colours(reads.space, to, colourOf(from))}
    ${stores.join("\n    ")}
    sum += p;
  }
  ${sums.join("\n  ")}
  ${to.also?.("x", "y") ?? ""}
}`;
}

/** The weights of red and blue in luma. */
const WEIGHTS = { bt601: [0.299, 0.114], bt709: [0.2126, 0.0722], bt2020: [0.2627, 0.0593] } as const;

function ratio(from: number, to: number): string {
  return `${(from / to).toPrecision(9)}f`.replace(/^(\d+)f$/, "$1.0f");
}

/** From the components that are read, in p, to those that are written. */
function colours(from: Components["space"], { space: to, colour }: Written, read: Required<Colour>): string {
  if (from === to || (from === "grey" && to === "rgb")) return "";
  const steps: string[] = [];
  if (from === "yuv") steps.push(toRgb(read));
  if (to === "yuv") steps.push(toYuv(colour!));
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
