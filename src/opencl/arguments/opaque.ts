import { Parameter } from "./parameter.ts";

/** An object of the driver's own that samepage has none of, or whose type the compiler does not tell. */
export class OpaqueParameter extends Parameter<never> {
  /** Nothing can be passed. @throws {ArgumentError} always. */
  accept(): never {
    throw this.wrong(
      `a ${this.info.type} cannot be passed: it is an object of the driver's own.`,
      "Images and samplers can be, where the parameter is declared by OpenCL's own names: image2d_t, sampler_t.",
    );
  }

  /** Never reached: nothing is accepted. */
  set(): never {
    return this.accept();
  }
}
