/**
 * 3. What users hold of the API's memory.
 *
 * @module
 */
import { Tensor } from "../../../../src/core/tensors/tensor.ts";
import type { FakeTarget } from "./context.ts";
import { fakeAddress } from "./library.ts";

/** Memory of the fake. Its handle is the library's. */
export class FakeTensor extends Tensor<bigint> {
  /** The kind of memory that it is. */
  declare readonly target: FakeTarget;

  /** The host address of its first element. */
  get address(): bigint {
    return fakeAddress(this.rawHandle) + BigInt(this.layout.byteOffset);
  }

  /** The same where the host uses it in place: without it, a route that goes on from the host is not proven, and migrates. */
  protected override get hostAddress(): bigint | undefined {
    return this.target.isInPlace ? this.address : undefined;
  }
}
