import { type Address, NULL } from "../../ffi/address.ts";
import { ov_available_devices_t, readOvAvailableDevices } from "../../ffi/openvino/structs.ts";
import { type Names, object, optionsIn, shown } from "../core/argument.ts";
import { contextOn } from "../core/device/device_on.ts";
import type { Context } from "../core/graph/context.ts";
import type { Memory } from "../core/contract.ts";
import { InteropError, type Reason, reasonOf } from "../core/errors.ts";
import type { FileSource } from "../core/file_source.ts";
import { owned } from "../core/life/ledger.ts";
import { allOrNothing, thenUndo, type Undo } from "../core/life/undo.ts";
import { CallbackWords } from "../core/native/callbacks.ts";
import { viewAt } from "../core/native/pin.ts";
import { cString, textAt } from "../core/native/text.ts";
import { InferenceContext, type Loading } from "../inference/context.ts";
import { sourceBytes } from "../inference/source.ts";
import type { Values } from "../inference/tensor.ts";
import { call, check, checks, library as runtime, ov, resultOf, textOf, versionOf } from "./library.ts";
import { type OpenVINOTensor, ports, TYPES } from "./memory.ts";
import { type Preprocess, preprocessed, preprocessIn } from "./preprocess.ts";
import { OpenVINOSession } from "./session.ts";
import { assertRemote, remoteContext, remotePorts } from "./remote.ts";
import { values } from "./values.ts";

/** The library and the device to open. */
export interface OpenVINOChoice {
  /** A device as OpenVINO names it: `"CPU"`, the default, `"GPU"`, `"AUTO"`. */
  readonly device?: string;
  /** OpenVINO's own properties for that device: `{ INFERENCE_NUM_THREADS: "1" }`. */
  readonly properties?: Readonly<Record<string, string>>;
  /**
   * The path of `libopenvino_c.so`. If left out, the loader looks for it, then the Python packages that Deno may read
   * are searched: `pip install openvino`.
   */
  readonly library?: string;
  /**
   * The context of Intel's GPU in which models run; `device` is then `"GPU"` by default. With an `OpenCLContext`, inputs
   * and outputs are its buffers, mapped to this context. With a `VaapiContext`, NV12 frames are its surfaces, mapped to
   * this context; other inputs and the outputs are CPU memory, which OpenVINO copies.
   */
  readonly on?: Context;
}

const CHOICE: Names<OpenVINOChoice> = { device: true, properties: true, library: true, on: true };

/** Options of {@link OpenVINOContext.compile}. */
export interface OpenVINOCompile {
  /** The weights of a model in OpenVINO's own format; by default the file beside it: `model.bin` for `model.xml`. */
  readonly weights?: FileSource;
  /** For each input, by its name: how the tensors differ from the model's. */
  readonly preprocess?: Readonly<Record<string, Preprocess>>;
  /**
   * `"allow"` lets OpenVINO convert inputs and outputs in its own memory if it does not compute with their elements:
   * 64-bit integers, `f64`, `u16`, `i16`, `u32`. `context.bytesCopied` counts their bytes.
   */
  readonly copy?: "allow";
}

const COMPILE: Names<OpenVINOCompile> = { weights: true, preprocess: true, copy: true };
const COPY = { allow: true };

/**
 * OpenVINO on one device. The context is a target: host memory, or buffers and surfaces of Intel's GPU, are mapped to it in
 * place.
 *
 * @example
 * ```ts ignore
 * import { host, MapperGraph } from "@samepage/interop";
 * import { OpenVINOContext } from "@samepage/interop/openvino";
 *
 * using ov = OpenVINOContext.open();
 * using graph = new MapperGraph([host, ov]);
 * using session = await ov.compile("model.onnx");
 * using pixels = host.allocate({ shape: [1, 3, 224, 224], dtype: "f32" });
 * using input = graph.map(pixels, ov, { access: "read" }); // input.handle is an ov_tensor_t over the same bytes
 * const { output } = await session.runAsync({ input });
 * ```
 */
export class OpenVINOContext extends InferenceContext<OpenVINOTensor, OpenVINOSession, OpenVINOCompile> {
  /** The API's name. */
  readonly api = "openvino";
  /** The kind of memory. */
  readonly kind = "openvino";
  /** Its ports: host pointers both ways; buffers of a `cl_context`, or surfaces. For mappers. */
  readonly ports: Memory<OpenVINOTensor, Address>;
  /** OpenVINO's tensors over its memory. For sessions. */
  readonly values: Values = values;
  /** The device that it compiles for: `"CPU"`. */
  readonly device: string;
  /** OpenVINO's version: `"2026.4.1-…"`. */
  readonly version: string;
  readonly #core: Address;
  /** OpenVINO's context on another API's; undefined without one. For tensors. */
  readonly remote: Address | undefined;

  private constructor(
    version: string,
    device: string,
    name: string,
    core: Address,
    on: Context | undefined,
    undo: Undo,
  ) {
    super("openvino", name, on, undo);
    this.version = version;
    this.device = device;
    this.#core = core;
    this.remote = on && remoteContext(core, device, on, undo);
    const closed = () => this.closedRemote;
    const whole = on === undefined ? ports : remotePorts(on);
    const imports = on?.api === "opencl"
      ? whole.imports
      : [...whole.imports, { kind: "cl_mem", from: "opencl", closed }];
    const { images = { exports: [], imports: [{ kind: "va-surface", from: "vaapi", closed }] } } = whole;
    this.ports = { ...whole, imports, images };
    this.opened();
  }

  /**
   * Opens OpenVINO on a device.
   *
   * @throws {LibraryNotFoundError} if there is no library.
   * @throws {ArgumentError} for the path of another library than the open one, and for an `on` that is neither OpenCL's
   * nor VA-API's.
   * @throws {NativeCallError} for a device or a property that OpenVINO does not have, and a `cl_context` or a display that
   * is not of Intel's GPU.
   */
  static open(choice: OpenVINOChoice = {}): OpenVINOContext {
    const { on: given, device = given === undefined ? "CPU" : "GPU", properties = {}, library } = optionsIn(
      choice,
      CHOICE,
      "choice",
    );
    const on = given === undefined ? undefined : contextOn(checks, given);
    if (on !== undefined) assertRemote(on);
    checks.assertText(device, "device");
    for (const [key, value] of Object.entries(object(properties, "properties"))) {
      checks.assertText(value, `properties.${key}`);
    }
    runtime.open(library);
    const version = versionOf();
    return allOrNothing("opening OpenVINO", (undo) => {
      const core = resultOf("ov_core_create");
      owned("openvino.core", undo, () => ov().ov_core_free(core));
      const named = textOf("ov_core_get_property", core, cString(device), cString("FULL_DEVICE_NAME"));
      for (const [key, value] of Object.entries(properties)) {
        call("ov_core_set_property", core, cString(device), cString(key), cString(value));
      }
      return new OpenVINOContext(version, device, named.trim(), core, on, undo);
    });
  }

  /** The devices that OpenVINO finds here: `["CPU", "GPU.0"]`. */
  get devices(): readonly string[] {
    this.resource.assertLive();
    return devicesOf(this.#core);
  }

  /** Why this context takes no GPU memory or video surfaces of another API; without an Intel GPU, OpenVINO's own message. */
  get closedRemote(): Reason {
    this.resource.assertLive();
    try {
      const context = resultOf("ov_core_get_default_context", this.#core, cString("GPU"));
      ov().ov_remote_context_free(context);
    } catch (error) {
      return { reason: reasonOf(error).reason, remedy: "OpenVINO has remote contexts only on Intel's GPUs." };
    }
    return {
      reason: "models in this context do not run in the context that the memory belongs to.",
      remedy: "Open one on it: OpenVINOContext.open({ on }).",
    };
  }

  /** @internal See `compile`. */
  protected load(
    model: FileSource,
    name: string,
    options: OpenVINOCompile,
    kept: Undo,
    undo: Undo,
  ): Loading<OpenVINOSession> {
    const { weights = besideOf(model), preprocess = {}, copy } = optionsIn(options, COMPILE);
    if (copy !== undefined) checks.nameIn(copy, COPY, "copy");
    const how = new Map(
      Object.entries(preprocess).map(([name, given]) => [name, preprocessIn(given, `preprocess.${shown(name)}`)]),
    );
    const frames = new Set([...how].filter(([, { format }]) => format === "NV12").map(([name]) => name));
    const weightsTensor = weights === undefined ? NULL : weightsIn(weights, kept, undo);
    const read = this.#read(model, name, weightsTensor, undo);
    const whole = how.size === 0 ? read : preprocessed(read, how, this.on?.api === "vaapi");
    if (whole !== read) undo.push(() => ov().ov_model_free(whole));
    const device = cString(this.device);
    const words = new CallbackWords(1 + Math.ceil(device.length / 8), undo);
    new Uint8Array(words.all.buffer, words.all.byteOffset).set(device, 8);
    const { remote } = this;
    const place = words.addressOf(0);
    const given = [this.#core, whole, remote ?? words.addressOf(1), 0n, place] as const;
    const [fn, async] = remote === undefined
      ? ["ov_core_compile_model", "ov_core_compile_modelAsync"] as const
      : ["ov_core_compile_model_with_context", "ov_core_compile_model_with_contextAsync"] as const;
    return {
      here: () => ov()[fn](...given),
      elsewhere: () => ov()[async](...given),
      session: (code, undo) => {
        check(code as number, fn);
        const compiled = words.all[0] as Address;
        owned("openvino.compiled_model", undo, () => ov().ov_compiled_model_free(compiled));
        return new OpenVINOSession(this, compiled, { name, frames, mayCopy: copy === "allow" }, undo);
      },
    };
  }

  #read(model: FileSource, name: string, weights: Address, undo: Undo): Address {
    const { address, byteLength } = sourceBytes("openvino", model, undo);
    assertStateless(viewAt(address, Number(byteLength), "openvino"), name);
    const read = resultOf("ov_core_read_model_from_memory_buffer", this.#core, address, byteLength, weights);
    undo.push(() => ov().ov_model_free(read));
    return read;
  }
}

/**
 * Refuses models with a state. Each request would have its own state, a program cannot choose the request of a run, and
 * OpenVINO's C API cannot reset states. States are layers in OpenVINO's own format, which is XML.
 */
function assertStateless(model: DataView<ArrayBuffer>, name: string): void {
  if (model.getUint8(0) !== "<".charCodeAt(0)) return;
  if (!/\btype\s*=\s*["'](?:ReadValue|Assign)["']/.test(new TextDecoder("latin1").decode(model))) return;
  throw new InteropError(`${name} keeps a state between its runs (ReadValue, Assign).`, {
    ...{ api: "openvino", hint: "Convert the model: make the state an input and an output." },
  });
}

/** The weights beside a model's file, if there are any. */
function besideOf(model: FileSource): FileSource | undefined {
  if (ArrayBuffer.isView(model) || !/\.xml$/.test(String(model))) return undefined;
  const weights = String(model).replace(/xml$/, "bin");
  try {
    Deno.statSync(model instanceof URL ? new URL(weights) : weights);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
  }
  return model instanceof URL ? new URL(weights) : weights;
}

/** A tensor over weights, whose bytes are kept, because the compiled model may go on reading them. */
function weightsIn(source: FileSource, kept: Undo, undo: Undo): Address {
  const { address, byteLength } = sourceBytes("openvino", source, kept);
  const tensor = values.over(address, TYPES.u8, [Number(byteLength)], Number(byteLength));
  undo.push(() => values.free(tensor));
  return tensor;
}

function devicesOf(core: Address): readonly string[] {
  const list = new DataView(new ArrayBuffer(ov_available_devices_t.size));
  call("ov_core_get_available_devices", core, list);
  return thenUndo("reading devices", () => {
    const { devices, size } = readOvAvailableDevices(list, 0);
    if (size === 0n) return [];
    const names = new BigUint64Array(viewAt(devices, 8 * Number(size), "openvino").buffer);
    return Array.from(names, (name) => textAt(name as Address)!);
  }, [() => ov().ov_available_devices_free(list)]);
}
