import { Parameter } from "./parameter.ts";

/** An object of the driver's own that samepage has none of. */
export class OpaqueParameter extends Parameter<never> {
  /** Nothing can be passed. @throws {ArgumentError} always. */
  accept(): never {
    throw this.wrong(`a ${this.info.type} cannot be passed: samepage has none.`);
  }

  /** Never reached: nothing is accepted. */
  set(): never {
    return this.accept();
  }
}
