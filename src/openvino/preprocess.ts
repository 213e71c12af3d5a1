import type { Address } from "../../ffi/address.ts";
import * as c from "../../ffi/openvino/constants.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import { withRemedy } from "../core/errors.ts";
import type { DType } from "../core/layout/dtype.ts";
import { thenUndo, type Undo } from "../core/life/undo.ts";
import { cString } from "../core/native/text.ts";
import { call, checks, ov, resultOf } from "./library.ts";
import { TYPES } from "./memory.ts";

const FORMATS = { NV12: c.NV12_TWO_PLANES, RGB: c.RGB, BGR: c.BGR, RGBX: c.RGBX, BGRX: c.BGRX } as const;
const MODEL_FORMATS = { RGB: c.RGB, BGR: c.BGR } as const;
const RESIZES = { linear: c.RESIZE_LINEAR, cubic: c.RESIZE_CUBIC, nearest: c.RESIZE_NEAREST } as const;

/** How an input's tensor differs from the model's. OpenVINO converts the input as a part of the run. */
export interface Preprocess {
  /** The type of the tensor's elements: `"u8"` for pixels. */
  readonly dtype?: DType;
  /** What the tensor's dimensions mean: `"NHWC"`, which is the default for pixels of a `format`. */
  readonly layout?: string;
  /** What the model's dimensions mean: `"NCHW"`. Resizing and conversions of layout or color need it. */
  readonly modelLayout?: string;
  /** The color of the pixels; `"NV12"` makes the input a frame of two planes. */
  readonly format?: "NV12" | "RGB" | "BGR" | "RGBX" | "BGRX";
  /** The color that the model takes; `"RGB"` if left out. */
  readonly modelFormat?: "RGB" | "BGR";
  /** The height and width of the input's pixels, if they are resized to the model's. */
  readonly size?: readonly [height: number, width: number];
  /** How pixels are resized; `"linear"` if left out. */
  readonly resize?: "linear" | "cubic" | "nearest";
  /** Subtracted from each channel of the model. */
  readonly mean?: readonly number[];
  /** Divides each channel after the mean is subtracted. */
  readonly scale?: readonly number[];
}

const NAMES: Names<Preprocess> = {
  ...{ dtype: true, layout: true, modelLayout: true, format: true, modelFormat: true },
  ...{ size: true, resize: true, mean: true, scale: true },
};

const LARGEST = 65_536;

/** Checks the options of one input. */
export function preprocessIn(given: Preprocess, argument: string): Preprocess {
  const { dtype, layout, modelLayout, format, modelFormat, size, resize, mean, scale } = optionsIn(
    given,
    NAMES,
    argument,
  );
  const named = { dtype: [dtype, TYPES], format: [format, FORMATS], resize: [resize, RESIZES] } as const;
  for (const [name, [value, table]] of Object.entries(named)) {
    if (value !== undefined) checks.nameIn(value, table, `${argument}.${name}`);
  }
  if (modelFormat !== undefined) checks.nameIn(modelFormat, MODEL_FORMATS, `${argument}.modelFormat`);
  for (const [name, text] of Object.entries({ layout, modelLayout })) {
    if (text !== undefined) checks.assertText(text, `${argument}.${name}`);
  }
  if (size !== undefined) {
    const [height, width] = checks.itemsIn(size, `${argument}.size`, "an array of height and width");
    checks.assertInteger(height, `${argument}.size[0]`, 1, LARGEST);
    checks.assertInteger(width, `${argument}.size[1]`, 1, LARGEST);
    if (format === "NV12" && (height % 2 !== 0 || width % 2 !== 0)) {
      const hint = "Crop a row or a column away, or let pictureInput() of a pipeline fill the input.";
      throw checks.wrong(`${argument}.size`, `expected even numbers for NV12, got ${height} × ${width}.`, hint);
    }
  }
  for (const [name, numbers] of Object.entries({ mean, scale })) {
    if (numbers === undefined) continue;
    const place = `${argument}.${name}`;
    for (const [i, one] of checks.itemsIn(numbers, place, "an array with a number for each channel").entries()) {
      checks.assertFinite(one, `${place}[${i}]`, name === "scale");
    }
  }
  return given;
}

/**
 * Makes a model that does these conversions first. The caller frees it.
 *
 * @param onSurfaces true if frames are video surfaces
 */
export function preprocessed(model: Address, inputs: ReadonlyMap<string, Preprocess>, onSurfaces: boolean): Address {
  return thenUndo("preprocessing", (undo) => {
    const steps = resultOf("ov_preprocess_prepostprocessor_create", model);
    undo.push(() => ov().ov_preprocess_prepostprocessor_free(steps));
    for (const [name, how] of inputs) thenUndo("preprocessing", (undo) => addSteps(steps, name, how, onSurfaces, undo));
    try {
      return resultOf("ov_preprocess_prepostprocessor_build", steps);
    } catch (error) {
      throw withRemedy(error, 'Does modelLayout say how the model\'s dimensions lie, as "NCHW" does?');
    }
  });
}

function addSteps(all: Address, name: string, how: Preprocess, onSurfaces: boolean, undo: Undo): void {
  const { dtype, format, layout = format && "NHWC", modelLayout, modelFormat = "RGB", size, mean, scale } = how;
  const info = resultOf("ov_preprocess_prepostprocessor_get_input_info_by_name", all, cString(name));
  undo.push(() => ov().ov_preprocess_input_info_free(info));
  const tensor = resultOf("ov_preprocess_input_info_get_tensor_info", info);
  undo.push(() => ov().ov_preprocess_input_tensor_info_free(tensor));
  const steps = resultOf("ov_preprocess_input_info_get_preprocess_steps", info);
  undo.push(() => ov().ov_preprocess_preprocess_steps_free(steps));
  const model = resultOf("ov_preprocess_input_info_get_model_info", info);
  undo.push(() => ov().ov_preprocess_input_model_info_free(model));
  if (modelLayout !== undefined) call("ov_preprocess_input_model_info_set_layout", model, layoutOf(modelLayout, undo));
  if (layout !== undefined) call("ov_preprocess_input_tensor_info_set_layout", tensor, layoutOf(layout, undo));
  if (dtype !== undefined) call("ov_preprocess_input_tensor_info_set_element_type", tensor, TYPES[dtype]);
  if (size !== undefined) {
    const [height, width] = size;
    call("ov_preprocess_input_tensor_info_set_spatial_static_shape", tensor, BigInt(height), BigInt(width));
  }
  if (format !== undefined) {
    const [y, uv] = NV12_NAMES.map(cString); // read only for two planes
    const planes = format === "NV12" ? 2n : 0n;
    const fn = "ov_preprocess_input_tensor_info_set_color_format_with_subname";
    call(fn, tensor, FORMATS[format], planes, y, uv);
    if (planes > 0n && onSurfaces) call("ov_preprocess_input_tensor_info_set_memory_type", tensor, GPU_SURFACE);
    if (format !== modelFormat) call("ov_preprocess_preprocess_steps_convert_color", steps, MODEL_FORMATS[modelFormat]);
  }
  if (size !== undefined || mean !== undefined || scale !== undefined) { // else pixels would be rounded after each step
    call("ov_preprocess_preprocess_steps_convert_element_type", steps, TYPES.f32);
  }
  if (size !== undefined) call("ov_preprocess_preprocess_steps_resize", steps, RESIZES[how.resize ?? "linear"]);
  if (mean !== undefined) {
    call("ov_preprocess_preprocess_steps_mean_multi_channels", steps, Float32Array.from(mean), mean.length);
  }
  if (scale !== undefined) {
    call("ov_preprocess_preprocess_steps_scale_multi_channels", steps, Float32Array.from(scale), scale.length);
  }
}

const GPU_SURFACE = cString("GPU_SURFACE");

function layoutOf(text: string, undo: Undo): Address {
  const layout = resultOf("ov_layout_create", cString(text));
  undo.push(() => ov().ov_layout_free(layout));
  return layout;
}

/** The suffixes, after a slash, of an input's name for the planes of NV12. */
export const NV12_NAMES: readonly string[] = ["y", "uv"];
