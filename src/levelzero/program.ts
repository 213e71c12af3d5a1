import * as ze from "../../ffi/levelzero/constants.ts";
import { ZE_RESULT_ERROR_MODULE_BUILD_FAILURE } from "../../ffi/levelzero/errors.ts";
import type { ZeModuleBuildLogHandle, ZeModuleHandle } from "../../ffi/levelzero/handles.ts";
import { CompilerError, DeviceProgram, unknownKernel } from "../core/device/program.ts";
import { owned } from "../core/life/ledger.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { KernelModule } from "../spirv/kernels.ts";
import { spirvIn } from "../spirv/module.ts";
import type { LevelZeroContext } from "./context.ts";
import { drivers } from "./device.ts";
import { LevelZeroKernel } from "./kernel.ts";
import { check, checks, levelZero, levelZeroError } from "./library.ts";
import { struct } from "./struct.ts";

/** A driver could not compile a module. */
export class LevelZeroBuildError extends CompilerError {}

/** Kernels in SPIR-V, compiled for the context's device. */
export class LevelZeroProgram extends DeviceProgram<LevelZeroContext, ZeModuleHandle> {
  readonly #module: KernelModule;

  /** Made by `levelZero.program()`. */
  constructor(context: LevelZeroContext, spirv: unknown) {
    const words = spirvIn(checks, spirv, "Compile the kernels: clang -target spirv64 -cl-std=CL3.0.");
    const module = new KernelModule(words, checks);
    context.resource.assertLive();
    const undo: Undo = [];
    const handle = allOrNothing("loading a program", () => createModule(context, words, undo), undo);
    super(context, "levelzero", handle, undo);
    this.#module = module;
  }

  /** The names of its kernels. */
  get kernelNames(): readonly string[] {
    return this.#module.kernelNames;
  }

  /**
   * A kernel by its name.
   *
   * @throws {ArgumentError} if the program has no such kernel, or the kernel takes pointers to local memory or structs,
   * which cannot be passed.
   * @throws {NativeCallError} if the driver refuses it.
   */
  kernel(name: string): LevelZeroKernel {
    this.resource.assertLive();
    checks.assertText(name, "name");
    if (this.kernelNames.includes(name)) return new LevelZeroKernel(this, name, this.#module.parameters(name));
    throw unknownKernel(name, this.kernelNames, { api: "levelzero", fn: "zeKernelCreate" });
  }
}

function createModule({ native }: LevelZeroContext, words: Uint32Array<ArrayBuffer>, undo: Undo): ZeModuleHandle {
  const fn = "zeModuleCreate";
  const { handle, device } = native;
  const desc = struct("ze_module_desc_t", {
    format: ze.ZE_MODULE_FORMAT_IL_SPIRV,
    inputSize: words.byteLength,
    pInputModule: words,
  });
  const [module, log] = [new BigUint64Array(1), new BigUint64Array(1)];
  // With several drivers, the loader (1.8) does not wrap a failed module's log, and crashes when the log is read.
  const code = levelZero()[fn](handle, device.handle, desc, module, drivers().length === 1 ? log : null);
  const said = log[0] === 0n ? "" : takeLog(log[0] as ZeModuleBuildLogHandle);
  if (code !== 0) {
    const error = levelZeroError(code, fn);
    if (code !== ZE_RESULT_ERROR_MODULE_BUILD_FAILURE) throw error;
    const { message, codeName = "" } = error;
    const hint = "The loader has several drivers, and loses the log: ZE_ENABLE_ALT_DRIVERS names one.";
    const fields = { api: "levelzero", fn, code, codeName, ...(said === "" ? { hint } : {}) };
    throw new LevelZeroBuildError([message, ...said.split("\n", 3)].join("\n").trim(), said, fields);
  }
  const made = module[0] as ZeModuleHandle;
  owned("levelzero.module", undo, () => check(levelZero().zeModuleDestroy(made), "zeModuleDestroy"));
  return made;
}

/** Reads the compiler's output, and destroys the log. */
function takeLog(log: ZeModuleBuildLogHandle): string {
  return allOrNothing("reading a build log", (undo) => {
    undo.push(() => check(levelZero().zeModuleBuildLogDestroy(log), "zeModuleBuildLogDestroy"));
    const size = new BigUint64Array(1);
    check(levelZero().zeModuleBuildLogGetString(log, size, null), "zeModuleBuildLogGetString");
    const text = new Uint8Array(Number(size[0]));
    if (text.length > 0) check(levelZero().zeModuleBuildLogGetString(log, size, text), "zeModuleBuildLogGetString");
    undo.pop()!();
    return new TextDecoder().decode(text).replace(/\0[\s\S]*$/, "").trim();
  });
}
