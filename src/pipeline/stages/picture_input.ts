import { shown } from "../../core/argument.ts";
import { type Rule, TEXT } from "../../core/checks.ts";
import type { DType } from "../../core/layout/dtype.ts";
import type { OpenCLContext, OpenCLTensor } from "../../opencl/mod.ts";
import { checks } from "../stage.ts";
import { contextIn } from "./given.ts";
import type { InferOptions } from "./infer.ts";
import { READ, Resampler, type Written } from "./resample.ts";

/** What a model's input holds of a picture. */
export interface PictureInputOptions {
  /** The input's name; left out, the model has one input. */
  readonly input?: string;
  /** Its last three dimensions: channels, height and width, or height, width and channels; `"NCHW"` if left out. */
  readonly layout?: "NCHW" | "NHWC";
  /** Its channels, in order; `"RGB"` if left out. `"GRAY8"` fills one channel, or all three alike. */
  readonly format?: "RGB" | "BGR" | "GRAY8";
  /** What is subtracted from the channels, which go from 0 to 255, or from each of them; 0 if left out. */
  readonly mean?: number | readonly number[];
  /** What the differences are divided by; 1 if left out. */
  readonly scale?: number | readonly number[];
}

/** The part of {@link infer}'s options that fills an input from pictures. */
export type PictureInput = Required<Pick<InferOptions<OpenCLTensor>, "memory" | "takes" | "prepare" | "close">>;

/** Which component each channel is; of grey, all three are the same. */
const CHANNELS = { RGB: [0, 1, 2], BGR: [2, 1, 0], GRAY8: [0, 1, 2] } as const;

const LAYOUTS = { NCHW: [0, 1, 2], NHWC: [2, 0, 1] } as const;

/** OpenCL's types of elements, and what stores a number as one. */
const TYPES: Readonly<Partial<Record<DType, readonly [type: string, store: (at: string, value: string) => string]>>> = {
  f32: ["float", (at, value) => `${at} = ${value};`],
  f16: ["half", (at, value) => `vstore_half(${value}, 0, &${at});`],
  u8: ["uchar", (at, value) => `${at} = convert_uchar_sat_rte(${value});`],
  i8: ["char", (at, value) => `${at} = convert_char_sat_rte(${value});`],
};

const NUMBERS: Rule = (checks, value, argument) => {
  const isDivisor = argument === "scale";
  if (!Array.isArray(value)) return checks.assertFinite(value, argument, isDivisor);
  checks.itemsIn(value, argument).forEach((one, i) => checks.assertFinite(one, `${argument}[${i}]`, isDivisor));
};

const NAMES = {
  input: TEXT,
  layout: (checks, value, argument) => void checks.nameIn(value, LAYOUTS, argument),
  format: (checks, value, argument) => void checks.nameIn(value, CHANNELS, argument),
  ...{ mean: NUMBERS, scale: NUMBERS },
} satisfies Record<string, Rule>;

/**
 * Fills a model's input from pictures of any size, by a kernel of OpenCL: it scales them to the input's size, converts them
 * to its channels and their order, and normalizes them: (value − mean) ÷ scale. The numbers are written where the model
 * reads them. It reads pictures as {@link convert} does.
 *
 * @throws {ArgumentError} for what is no OpenCLContext, and wrong options. An input that it does not fit ends the pipeline.
 * @throws {DisposedError} if the context was disposed.
 *
 * @example
 * ```ts ignore
 * import { FFmpegContext } from "@samepage/interop/ffmpeg";
 * import { OnnxRuntimeContext } from "@samepage/interop/onnxruntime";
 * import { OpenCLContext } from "@samepage/interop/opencl";
 * import { decode, infer, pictureInput } from "@samepage/interop/pipeline";
 *
 * using cl = OpenCLContext.open();
 * using ffmpeg = FFmpegContext.open();
 * using ort = OnnxRuntimeContext.open();
 * using session = await ort.compile("mobilenet.onnx"); // image f32 [1, 3, 224, 224]
 * const classify = infer(session, {
 *   ...pictureInput(cl, { mean: [123.7, 116.3, 103.5], scale: [58.4, 57.1, 57.4] }), // in RGB, a plane for each
 *   results: ({ scores }, { metadata }) => {
 *     const all = Array.from(scores.view({ dtype: "f32", access: "read" }));
 *     metadata.add("classification", { labelId: all.indexOf(Math.max(...all)) });
 *   },
 * });
 * for await (using frame of decode(ffmpeg, "clip.mp4").pipeThrough(classify)) console.log(frame.metadata);
 * ```
 */
export function pictureInput(cl: OpenCLContext, options: PictureInputOptions = {}): PictureInput {
  contextIn(cl, "opencl", "cl");
  const { input, layout = "NCHW", format = "RGB", mean = 0, scale = 1 } = checks.optionsIn(options, NAMES);
  const writtenOf = ({ width, height, count, dtype }: Input): Written => {
    const [type, store] = TYPES[dtype]!;
    const order = CHANNELS[format].slice(0, count) as readonly number[];
    const [step, apart] = layout === "NCHW" ? [1, width * height] : [count, 1];
    return {
      ...{ width, height, type, space: format === "GRAY8" ? "grey" : "rgb" },
      places: order.map((_, component) => [0, order.indexOf(component) * apart, step, 0, 0]),
      store: (at, value, component) => {
        const [less, by] = [mean, scale].map((of) => typeof of === "object" ? of[order.indexOf(component)] : of);
        return store(at, `(${value} - ${literal(less)}) / ${literal(by)}`);
      },
    };
  };
  const pictures = new Resampler(cl, writtenOf);
  return {
    memory: cl,
    takes: { format: Object.keys(READ) },
    prepare(frame, inputs) {
      const to = inputNamed(inputs, input);
      const { shape, dtype } = to.layout;
      const [count, height, width] = LAYOUTS[layout].map((i) => shape.at(i - 3)!);
      const isPicture = shape.slice(0, -3).every((one) => one === 1) && TYPES[dtype] !== undefined;
      if (!isPicture || !(count === 3 || (count === 1 && format === "GRAY8"))) {
        const channels = format === "GRAY8" ? "3 or 1" : "3";
        const fitting = layout === "NCHW" ? `${channels}, height, width` : `height, width, ${channels}`;
        const what = `${format} in ${layout} fills an input [${fitting}] of ${Object.keys(TYPES).join(", ")}, and the`;
        const hint = "Pass the model's own layout and format, or write prepare() yourself.";
        throw checks.wrong("input", `${what} model takes ${dtype} [${shape}].`, hint);
      }
      for (const [argument, numbers] of Object.entries({ mean, scale })) {
        if (typeof numbers === "number" || numbers.length === count) continue;
        throw checks.wrong(argument, `expected ${count} numbers, got ${numbers.length}.`);
      }
      pictures.run(frame, { width, height, count, dtype }, [[to, layout === "NCHW" ? width : width * count]]);
    },
    close: () => pictures.close(),
  };
}

interface Input {
  readonly width: number;
  readonly height: number;
  readonly count: number;
  readonly dtype: DType;
}

function inputNamed(inputs: Readonly<Record<string, OpenCLTensor>>, name: string | undefined): OpenCLTensor {
  const names = Object.keys(inputs);
  const found = name ?? (names.length === 1 ? names[0] : undefined);
  if (found !== undefined && Object.hasOwn(inputs, found)) return inputs[found];
  const what = name === undefined ? "the model has several inputs." : `the model has no input ${shown(name)}.`;
  throw checks.wrong("input", what, `It has ${names.join(", ")}: name one.`);
}

/** A number in OpenCL C. */
function literal(value: number): string {
  return `${value.toExponential(9)}f`;
}
