import type { Address } from "../../ffi/address.ts";
import { ORT_LOGGING_LEVEL_FATAL, OrtDeviceAllocator, OrtMemTypeDefault } from "../../ffi/onnxruntime/constants.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import type { FileSource } from "../core/file_source.ts";
import { owned } from "../core/life/ledger.ts";
import { allOrNothing, thenUndo, type Undo } from "../core/life/undo.ts";
import { CallbackWords } from "../core/native/callbacks.ts";
import { viewAt } from "../core/native/pin.ts";
import { cString, textAt } from "../core/native/text.ts";
import type { Memory } from "../core/contract.ts";
import { InferenceContext, type Loading } from "../inference/context.ts";
import { sourceBytes } from "../inference/source.ts";
import type { Values } from "../inference/tensor.ts";
import { check, checks, library, ort, resultOf } from "./library.ts";
import { type OnnxRuntimeTensor, ports } from "./memory.ts";
import { OnnxRuntimeSession } from "./session.ts";
import { valuesIn } from "./values.ts";

/** Which library is opened. */
export interface OnnxRuntimeChoice {
  /**
   * The path of `libonnxruntime.so`. Left out, the loader is asked for it, and then the Python packages are that Deno may
   * read: `pip install onnxruntime`.
   */
  readonly library?: string;
}

const CHOICE: Names<OnnxRuntimeChoice> = { library: true };

/** Options of {@link OnnxRuntimeContext.compile}. */
export interface OnnxRuntimeCompile {
  /** How many threads compute an operator, the one that runs the model included; by default one for each core. */
  readonly threads?: number;
}

const COMPILE: Names<OnnxRuntimeCompile> = { threads: true };

const MOST_THREADS = 1024;

/**
 * ONNX Runtime on the CPU. It is its own target: memory of the host is mapped to it and back in place.
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
  /** Its ports: host pointers both ways. For mappers. */
  readonly ports: Memory<OnnxRuntimeTensor, Address> = ports;
  /** OrtValues over memory of the CPU's. For sessions. */
  readonly values: Values;
  readonly #env: Address;

  private constructor(version: string, env: Address, memory: Address, undo: Undo) {
    super("onnxruntime", { name: `ONNX Runtime ${version}`, id: {} }, undo);
    this.#env = env;
    this.values = valuesIn(memory);
    this.opened();
  }

  /**
   * Opens ONNX Runtime.
   *
   * @throws {LibraryNotFoundError} if it is not there.
   * @throws {ArgumentError} for the path of another library than the one that is open.
   * @throws {InteropError} if it is older than 1.21.
   * @throws {NativeCallError} if it cannot start.
   */
  static open(choice: OnnxRuntimeChoice = {}): OnnxRuntimeContext {
    const { version } = library.open(optionsIn(choice, CHOICE, "choice").library);
    const { CreateEnv, ReleaseEnv, CreateCpuMemoryInfo, ReleaseMemoryInfo } = ort();
    return allOrNothing("opening ONNX Runtime", (undo) => {
      // What it would log as an error, its functions return.
      const env = resultOf("CreateEnv", (out) => CreateEnv(ORT_LOGGING_LEVEL_FATAL, cString("samepage"), out));
      owned("onnxruntime.OrtEnv", undo, () => ReleaseEnv(env));
      const memory = resultOf(
        "CreateCpuMemoryInfo",
        (out) => CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, out),
      );
      undo.push(() => ReleaseMemoryInfo(memory));
      return new OnnxRuntimeContext(version, env, memory, undo);
    });
  }

  /** The execution providers that this library has, its best first: `"CPUExecutionProvider"`. Sessions run on the CPU. */
  get providers(): readonly string[] {
    this.resource.assertLive();
    let count = 0;
    const list = resultOf("GetAvailableProviders", (out) => {
      const counted = new Int32Array(1);
      const status = ort().GetAvailableProviders(out, counted);
      count = counted[0];
      return status;
    });
    return thenUndo("reading providers", () => {
      const names = new BigUint64Array(viewAt(list, 8 * count, "onnxruntime").buffer);
      return Array.from(names, (name) => textAt(name as Address)!);
    }, [() => check(ort().ReleaseAvailableProviders(list, count), "ReleaseAvailableProviders")]);
  }

  /** @internal See `compile`. Weights in files of their own are not found. */
  protected load(
    model: FileSource,
    name: string,
    options: OnnxRuntimeCompile,
    _kept: Undo,
    undo: Undo,
  ): Loading<OnnxRuntimeSession> {
    const { threads } = optionsIn(options, COMPILE);
    if (threads !== undefined) checks.assertInteger(threads, "threads", 1, MOST_THREADS);
    const { address, byteLength } = sourceBytes("onnxruntime", model, undo);
    const settings = resultOf("CreateSessionOptions", (out) => ort().CreateSessionOptions(out));
    undo.push(() => ort().ReleaseSessionOptions(settings));
    if (threads !== undefined) check(ort().SetIntraOpNumThreads(settings, threads), "SetIntraOpNumThreads");
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
