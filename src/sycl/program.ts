import type { DPCTLSyclKernelBundleRef } from "../../ffi/sycl/handles.ts";
import { type Names, optionsIn, shown } from "../core/argument.ts";
import { DeviceProgram } from "../core/device/program.ts";
import { owned } from "../core/life/ledger.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { cString } from "../core/native/text.ts";
import { spirvIn } from "../spirv/module.ts";
import type { SyclContext } from "./context.ts";
import { SyclKernel } from "./kernel.ts";
import { parametersIn, type SyclParameterType } from "./kernel_types.ts";
import { checks, made, sycl } from "./library.ts";

/** Options of {@link SyclContext.program}. */
export interface SyclProgramOptions {
  /** The compiler's options: `"-cl-fast-relaxed-math"`. */
  readonly options?: string;
}

const OPTIONS: Names<SyclProgramOptions> = { options: true };

/** OpenCL C or SPIR-V, built for a context's device. */
export class SyclProgram extends DeviceProgram<SyclContext, DPCTLSyclKernelBundleRef> {
  /** Made by `sycl.program()`. */
  constructor(context: SyclContext, code: string | Uint8Array<ArrayBuffer>, given: SyclProgramOptions) {
    const { options = "" } = optionsIn(given, OPTIONS);
    checks.assertText(options, "options");
    context.resource.assertLive();
    const undo: Undo = [];
    const bundle = bundleOf(context, code, options);
    owned("sycl.kernel_bundle", undo, () => sycl().DPCTLKernelBundle_Delete(bundle));
    super(context, "sycl", bundle, undo);
  }

  /**
   * Returns a kernel by its name. SYCL does not report the types of its parameters, so you declare them.
   *
   * @param parameters the types, as OpenCL C declares them, without names
   * @throws {ArgumentError} if the program has no such kernel, the kernel has another number of parameters, or DPCTL
   * cannot pass one of the types.
   */
  kernel(name: string, parameters: readonly SyclParameterType[]): SyclKernel {
    this.resource.assertLive();
    checks.assertText(name, "name");
    const declared = parametersIn(parameters, name);
    const fn = "DPCTLKernelBundle_GetKernel";
    const lib = sycl();
    if (!lib.DPCTLKernelBundle_HasKernel(this.handle, cString(name))) {
      throw checks.wrong("name", `there is no kernel "${shown(name)}".`, "SYCL does not list the names.", fn);
    }
    return allOrNothing(`making the kernel ${name}`, (undo) => {
      const handle = made(lib[fn](this.handle, cString(name)), fn);
      owned("sycl.kernel", undo, () => lib.DPCTLKernel_Delete(handle));
      const has = Number(lib.DPCTLKernel_GetNumArgs(handle));
      if (has !== declared.length) {
        const what = `the kernel has ${has}, and ${declared.length} were declared.`;
        throw checks.wrong("parameters", what, undefined, "DPCTLKernel_GetNumArgs");
      }
      const most = made(lib.DPCTLKernel_GetWorkGroupSize(handle), "DPCTLKernel_GetWorkGroupSize");
      return new SyclKernel(this, name, handle, declared, Number(most), undo);
    });
  }
}

const COMPILE = "Compile the kernels: clang -target spirv64 -cl-std=CL3.0.";
const BUILD = "Does it compile? DPCTL_VERBOSITY=warning makes DPCTL write the build log to stderr.";

function bundleOf(
  { native: { handle }, deviceRef }: SyclContext,
  code: unknown,
  options: string,
): DPCTLSyclKernelBundleRef {
  const hint = { hint: BUILD };
  if (typeof code === "string") {
    const fn = "DPCTLKernelBundle_CreateFromOCLSource";
    return made(sycl()[fn](handle, deviceRef, cString(code), cString(options)), fn, hint);
  }
  const fn = "DPCTLKernelBundle_CreateFromSpirv";
  const words = spirvIn(checks, code, COMPILE, "code", "OpenCL C as a string, or SPIR-V as bytes");
  return made(sycl()[fn](handle, deviceRef, words, BigInt(words.byteLength), cString(options)), fn, hint);
}
