import type { Address } from "../../ffi/address.ts";
import { ORT_LOGGING_LEVEL_FATAL, OrtDeviceAllocator, OrtMemTypeDefault } from "../../ffi/onnxruntime/constants.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import { contextOn } from "../core/device/device_on.ts";
import type { Context } from "../core/graph/context.ts";
import type { FileSource } from "../core/file_source.ts";
import { owned } from "../core/life/ledger.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { CallbackWords } from "../core/native/callbacks.ts";
import { cString } from "../core/native/text.ts";
import type { Memory } from "../core/contract.ts";
import { gpuMemory, InferenceContext, type Loading } from "../inference/context.ts";
import { sourceBytes } from "../inference/source.ts";
import type { Values } from "../inference/tensor.ts";
import { call, check, checks, library, ort, resultOf } from "./library.ts";
import { type OnnxRuntimeTensor, ports } from "./memory.ts";
import { appendProviders, assertCuda, providersHere, providersIn } from "./providers.ts";
import { OnnxRuntimeSession } from "./session.ts";
import { valuesIn } from "./values.ts";

/** The library to open, and the GPU. */
export interface OnnxRuntimeChoice {
  /**
   * The path of `libonnxruntime.so`. If left out, the loader looks for it, then the Python packages that Deno may read
   * are searched: `pip install onnxruntime`.
   */
  readonly library?: string;
  /**
   * A `CudaContext`: sessions run on its GPU and its stream, and their inputs and outputs are its memory, mapped to this
   * context. The library has to have CUDA's provider.
   */
  readonly on?: Context;
}

const CHOICE: Names<OnnxRuntimeChoice> = { library: true, on: true };

/** Options of {@link OnnxRuntimeContext.compile}. */
export interface OnnxRuntimeCompile {
  /** The number of threads for an operator, including the one that runs the model; one for each core by default. */
  readonly threads?: number;
  /**
   * The execution providers, the best first, by their names in `context.providers`. Each runs the operators that it
   * has; the CPU's runs the rest. In a context that was opened on CUDA, CUDA's comes first by default.
   */
  readonly providers?: readonly string[];
}

const COMPILE: Names<OnnxRuntimeCompile> = { threads: true, providers: true };

const MAX_THREADS = 1024;

/**
 * ONNX Runtime on the CPU or on a CUDA GPU. The context is a target: memory of the host, or of that GPU, is mapped to it in
 * place.
 *
 * @example
 * ```ts ignore
 * import { host, MapperGraph } from "@samepage/interop";
 * import { OnnxRuntimeContext } from "@samepage/interop/onnxruntime";
 *
 * using ort = OnnxRuntimeContext.open();
 * using graph = new MapperGraph([host, ort]);
 * using session = await ort.compile("model.onnx");
 * using pixels = host.allocate({ shape: [1, 3, 224, 224], dtype: "f32" });
 * using input = graph.map(pixels, ort, { access: "read" }); // input.handle is an OrtValue over the same bytes
 * const { output } = await session.runAsync({ input });
 * ```
 */
export class OnnxRuntimeContext extends InferenceContext<OnnxRuntimeTensor, OnnxRuntimeSession, OnnxRuntimeCompile> {
  /** The API's name. */
  readonly api = "onnxruntime";
  /** The kind of memory: that of OrtValues. */
  readonly kind = "ortvalue";
  /** Its ports: host pointers both ways, or CUDA's pointers. For mappers. */
  readonly ports: Memory<OnnxRuntimeTensor, Address>;
  /** OrtValues over its memory. For sessions. */
  readonly values: Values;
  readonly #env: Address;

  private constructor(version: string, env: Address, on: Context | undefined, undo: Undo) {
    super("onnxruntime", `ONNX Runtime ${version}${on === undefined ? "" : ` on ${on.name}`}`, on, undo);
    this.#env = env;
    const [name, ordinal] = on === undefined ? ["Cpu", 0] : ["Cuda", on.arrays!.ordinal];
    const memory = resultOf("CreateMemoryInfo", cString(name), OrtDeviceAllocator, ordinal, OrtMemTypeDefault);
    undo.push(() => ort().ReleaseMemoryInfo(memory));
    this.values = valuesIn(memory);
    this.ports = on === undefined ? ports : gpuMemory(ports, { kind: "cuda-pointer", device: on.id }, on);
    this.opened();
  }

  /**
   * Opens ONNX Runtime.
   *
   * @throws {LibraryNotFoundError} if there is no library.
   * @throws {ArgumentError} for the path of another library than the open one, and for an `on` that is not CUDA's.
   * @throws {InteropError} if the library is older than 1.21, or lacks the CUDA provider that `on` needs.
   * @throws {NativeCallError} if ONNX Runtime cannot start.
   */
  static open(options: OnnxRuntimeChoice = {}): OnnxRuntimeContext {
    const { library: path, on: given } = optionsIn(options, CHOICE);
    const on = given === undefined ? undefined : contextOn(checks, given);
    const { version } = library.open(path);
    if (on !== undefined) assertCuda(on, version);
    return allOrNothing("opening ONNX Runtime", (undo) => {
      // Logs nothing below fatal: functions return what would be logged as an error.
      const env = resultOf("CreateEnv", ORT_LOGGING_LEVEL_FATAL, cString("samepage"));
      owned("onnxruntime.OrtEnv", undo, () => ort().ReleaseEnv(env));
      return new OnnxRuntimeContext(version, env, on, undo);
    });
  }

  /** The execution providers that this library has, the best first: `"CPUExecutionProvider"`. */
  get providers(): readonly string[] {
    this.resource.assertLive();
    return providersHere();
  }

  /** @internal See `compile`. It does not find weights in separate files, because the model has no path. */
  protected load(
    model: FileSource,
    name: string,
    options: OnnxRuntimeCompile,
    _kept: Undo,
    undo: Undo,
  ): Loading<OnnxRuntimeSession> {
    const { threads, providers } = optionsIn(options, COMPILE);
    if (threads !== undefined) checks.assertInteger(threads, "threads", 1, MAX_THREADS);
    const names = providersIn(providers, this.on);
    const { address, byteLength } = sourceBytes("onnxruntime", model, undo);
    const settings = resultOf("CreateSessionOptions");
    undo.push(() => ort().ReleaseSessionOptions(settings));
    if (threads !== undefined) call("SetIntraOpNumThreads", settings, threads);
    appendProviders(settings, names, this.on);
    const words = new CallbackWords(1, undo);
    const given = [this.#env, address, byteLength, settings, words.place(0)] as const;
    return {
      here: () => ort().CreateSessionFromArray(...given),
      elsewhere: () => ort().CreateSessionFromArrayAsync(...given),
      session: (status, undo) => {
        const hint = "Is it an ONNX model, whole, with its weights in it?";
        check(status as Address, "CreateSessionFromArray", { hint });
        const session = words.all[0] as Address;
        owned("onnxruntime.OrtSession", undo, () => ort().ReleaseSession(session));
        return new OnnxRuntimeSession(this, name, session, undo);
      },
    };
  }
}
