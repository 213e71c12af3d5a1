import type { Address } from "../../ffi/address.ts";
import { ONNX_TYPE_TENSOR } from "../../ffi/onnxruntime/constants.ts";
import type { NativeFlag } from "../core/device/native_flag.ts";
import { InteropError } from "../core/errors.ts";
import { allOrNothing, thenUndo, type Undo } from "../core/life/undo.ts";
import { CallbackWords } from "../core/native/callbacks.ts";
import { textAt } from "../core/native/text.ts";
import type { Request } from "../inference/line.ts";
import { type ModelValue, Session } from "../inference/session.ts";
import type { OnnxRuntimeContext } from "./context.ts";
import { call, errorOf, numberOf, ort, resultOf } from "./library.ts";
import { elements, type OnnxRuntimeTensor } from "./memory.ts";
import { type NativeModel, OnnxRuntimeRequest } from "./request.ts";
import { shapeOf, typeOf } from "./values.ts";

/** An ONNX model that is ready to run. */
export class OnnxRuntimeSession extends Session<OnnxRuntimeTensor> {
  readonly #model: NativeModel;

  /** @internal Takes over the undo list, which releases the native session. */
  constructor(context: OnnxRuntimeContext, name: string, session: Address, undo: Undo) {
    const { inputs, outputs, model } = readModel(session, undo);
    super({ context, name, inputs, outputs, copied: NONE, undo, error: errorOf });
    this.#model = model;
  }

  /** @internal See `Session`. */
  protected request(flag: NativeFlag): Request {
    return allOrNothing("making a request", (undo) => new OnnxRuntimeRequest(this.#model, flag, undo));
  }
}

/** ONNX Runtime copies no inputs or outputs. */
const NONE: ReadonlySet<string> = new Set();

interface ReadModel {
  readonly inputs: readonly ModelValue[];
  readonly outputs: readonly ModelValue[];
  readonly model: NativeModel;
}

/** The functions that report each part of a model. */
const PARTS = {
  inputs: ["SessionGetInputCount", "SessionGetInputName", "SessionGetInputTypeInfo"],
  outputs: ["SessionGetOutputCount", "SessionGetOutputName", "SessionGetOutputTypeInfo"],
} as const;

function readModel(session: Address, undo: Undo): ReadModel {
  const [inputs, outputs] = [readValues(session, "inputs", undo), readValues(session, "outputs", undo)];
  const names = [...inputs.names, ...outputs.names];
  const words = new CallbackWords(names.length, undo);
  words.all.set(names);
  return {
    inputs: inputs.values,
    outputs: outputs.values,
    model: {
      session,
      ...{ inputs: inputs.names.length, outputs: outputs.names.length },
      ...{ inputNames: words.addressOf(0), outputNames: words.addressOf(inputs.names.length) },
    },
  };
}

/** The inputs or outputs, and ONNX Runtime's copies of their names, which `undo` frees. */
function readValues(
  session: Address,
  part: keyof typeof PARTS,
  undo: Undo,
): { readonly values: readonly ModelValue[]; readonly names: readonly Address[] } {
  const [countFn, nameFn, typeFn] = PARTS[part];
  const allocator = resultOf("GetAllocatorWithDefaultOptions");
  const count = resultOf(countFn, session);
  const [values, names]: [ModelValue[], Address[]] = [[], []];
  for (let i = 0n; i < count; i++) {
    const address = resultOf(nameFn, session, i, allocator);
    undo.push(() => call("AllocatorFree", allocator, address));
    names.push(address);
    const type = resultOf(typeFn, session, i);
    const name = textAt(address)!;
    const argument = `${part}.${name}`;
    const value = thenUndo("reading a type", () => readType(type, argument), [() => ort().ReleaseTypeInfo(type)]);
    values.push({ name, ...value });
  }
  return { values, names };
}

function readType(type: Address, argument: string): Omit<ModelValue, "name"> {
  const kind = numberOf("GetOnnxTypeFromTypeInfo", type);
  if (kind !== ONNX_TYPE_TENSOR) {
    const about = { api: "onnxruntime", fn: "GetOnnxTypeFromTypeInfo", hint: "Convert the model." };
    throw new InteropError(`${argument} is not a tensor (ONNXType ${kind}).`, about);
  }
  const info = resultOf("CastTypeInfoToTensorInfo", type);
  return { shape: shapeOf(info), ...elements.kindOf(typeOf(info), argument) };
}
