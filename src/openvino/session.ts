import type { Address } from "../../ffi/address.ts";
import { ov_dimension_t, ov_partial_shape_t, readOvDimension, readOvPartialShape } from "../../ffi/openvino/structs.ts";
import type { NativeFlag } from "../core/device/native_flag.ts";
import { thenUndo, type Undo } from "../core/life/undo.ts";
import { viewAt } from "../core/native/pin.ts";
import { cString } from "../core/native/text.ts";
import type { Request } from "../inference/line.ts";
import { type ModelValue, Session } from "../inference/session.ts";
import type { OpenVINOContext } from "./context.ts";
import { call, checks, errorOf, numberOf, ov, resultOf, textOf } from "./library.ts";
import { elements, NATIVE, type OpenVINOTensor } from "./memory.ts";
import { NV12_NAMES } from "./preprocess.ts";
import { OpenVINORequest } from "./request.ts";

/** What a program chose when it compiled a model. */
export interface SessionChoice {
  /** The name, for messages. */
  readonly name: string;
  /** The inputs that are frames of two planes. */
  readonly frames: ReadonlySet<string>;
  /** True if OpenVINO may convert the inputs and outputs that it cannot use in place. */
  readonly mayCopy: boolean;
}

/** A model that is compiled for a device, and ready to run. */
export class OpenVINOSession extends Session<OpenVINOTensor> {
  readonly #model: Address;
  readonly #threads: string;

  /** @internal Takes over the undo list, which frees the compiled model. */
  constructor(context: OpenVINOContext, model: Address, { name, frames, mayCopy }: SessionChoice, undo: Undo) {
    const inputs = withFrames(valuesOf(model, "input"), frames);
    const outputs = valuesOf(model, "output");
    const copied = new Set(
      [...inputs, ...outputs].filter((value) => !isInPlace(value, context)).map(({ name }) => name),
    );
    if (copied.size > 0 && !mayCopy) {
      throw checks.wrong(
        "copy",
        `OpenVINO copies ${[...copied].join(", ")} through memory of its own: ${whyCopied(context)}`,
        'Pass { copy: "allow" }, or convert the model.',
      );
    }
    const threads = context.device === "CPU"
      ? textOf("ov_compiled_model_get_property", model, cString("INFERENCE_NUM_THREADS"))
      : "";
    super({ context, name, inputs, outputs, copied, undo, error: errorOf });
    this.#model = model;
    this.#threads = threads;
  }

  /** @internal An `ov_infer_request_t`. */
  protected request(flag: NativeFlag): Request {
    return new OpenVINORequest(this.#model, this.#threads, this.outputs, flag);
  }
}

/** On a GPU, all CPU memory is copied. */
function isInPlace({ dtype, elements: name, planes }: ModelValue, { device, on, isHost }: OpenVINOContext): boolean {
  if (device !== "CPU" && isHost) return on !== undefined && planes !== undefined;
  return NATIVE.has(elements.typeOf(dtype, name));
}

function whyCopied({ device, isHost }: OpenVINOContext): string {
  if (device !== "CPU" && isHost) return `${device} has memory of its own.`;
  return "it computes with f32, f16, bf16, u8, i8, i32 and booleans, and converts others.";
}

const FUNCTIONS = {
  input: ["ov_compiled_model_inputs_size", "ov_compiled_model_input_by_index"],
  output: ["ov_compiled_model_outputs_size", "ov_compiled_model_output_by_index"],
} as const;

function valuesOf(model: Address, part: keyof typeof FUNCTIONS): ModelValue[] {
  const [sizeFn, portFn] = FUNCTIONS[part];
  const count = resultOf(sizeFn, model);
  return Array.from({ length: Number(count) }, (_, i) => {
    const port = resultOf(portFn, model, BigInt(i));
    return thenUndo("reading a model", () => valueOf(port, part), [() => ov().ov_output_const_port_free(port)]);
  });
}

function valueOf(port: Address, part: string): ModelValue {
  const name = textOf("ov_port_get_any_name", port);
  const kind = elements.kindOf(numberOf("ov_port_get_element_type", port), `${part}s.${name}`);
  const shape = new DataView(new ArrayBuffer(ov_partial_shape_t.size));
  call("ov_port_get_partial_shape", port, shape);
  return thenUndo("reading a shape", () => ({ name, shape: shapeIn(shape, name), ...kind }), [
    () => ov().ov_partial_shape_free(shape),
  ]);
}

function shapeIn(view: DataView, name: string): readonly number[] {
  const { rank_min, rank_max, dims } = readOvPartialShape(view, 0);
  if (rank_min !== rank_max) throw checks.unfit("model", `${name} has any number of dimensions.`, "Reshape the model.");
  if (rank_min === 0n) return [];
  const bounds = viewAt(dims, ov_dimension_t.size * Number(rank_min), "openvino");
  return Array.from({ length: Number(rank_min) }, (_, i) => {
    const { min, max } = readOvDimension(bounds, i * ov_dimension_t.size);
    return min === max ? Number(min) : -1;
  });
}

/** The inputs, with each frame's two planes as one input. */
function withFrames(values: readonly ModelValue[], frames: ReadonlySet<string>): readonly ModelValue[] {
  const named = new Map([...frames].map((name) => [`${name}/${NV12_NAMES[0]}`, name]));
  const inputs: ModelValue[] = [];
  for (let i = 0; i < values.length; i++) {
    const name = named.get(values[i].name);
    if (name === undefined) inputs.push(values[i]);
    else inputs.push({ ...values[i], name, format: "NV12", planes: [values[i], values[++i]] });
  }
  return inputs;
}
