import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { kindOf } from "../check.ts";
import type { OpenCLContext } from "../context.ts";
import { opencl } from "../library.ts";
import { OpenCLSampler } from "../sampler.ts";
import { Parameter } from "./parameter.ts";

/** A `sampler_t`: its argument is a sampler. */
export class SamplerParameter extends Parameter<OpenCLSampler> {
  readonly #value = new BigUint64Array(1);

  /** @see {@link Parameter.accept} */
  accept(value: unknown, context: OpenCLContext): OpenCLSampler {
    if (!OpenCLSampler.isSampler(value)) {
      throw this.wrong(`it is a sampler; got ${kindOf(value)}.`, "Pass cl.sampler({ filter, addressing }).");
    }
    value.resource.assertLive();
    this.assertAtHome("the sampler", value.context, context);
    return value;
  }

  /** @see {@link Parameter.set} */
  set(kernel: ClKernel, sampler: OpenCLSampler): number {
    this.#value[0] = sampler.handle;
    return opencl().clSetKernelArg(kernel, this.index, 8n, this.#value);
  }

  /** @see {@link Parameter.usedBy} */
  override usedBy(sampler: OpenCLSampler): OpenCLSampler {
    return sampler;
  }
}
