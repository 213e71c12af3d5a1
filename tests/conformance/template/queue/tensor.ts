/**
 * 3. What users hold of the API's memory. Kernels and copies use it as these two commands do: `line.submit(uses, call)` checks
 * what is used, waits, takes views away, calls and records.
 *
 * @module
 */
import type { Fence } from "../../../../src/core/device/fence.ts";
import { type Part, Tensor } from "../../../../src/core/tensors/tensor.ts";
import type { FakeTarget } from "./context.ts";
import { command } from "./driver.ts";
import { fakeAddress, fakeBytes } from "./library.ts";

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

  /** Has the device write all of its bytes. */
  write(bytes: Uint8Array, after: readonly Fence[] = []): Fence {
    return this.#submit("write", (own) => own.set(bytes), after);
  }

  /** Has the device read its bytes into `into`. */
  read(into: Uint8Array, after: readonly Fence[] = []): Fence {
    return this.#submit("read", (own) => into.set(own), after);
  }

  #submit(access: "read" | "write", work: (bytes: Uint8Array) => void, after: readonly Fence[]): Fence {
    const { rawHandle: handle, target: { context: { line } }, layout: { byteOffset, byteLength } } = this;
    const call = command(() => work(fakeBytes(handle).subarray(byteOffset, byteOffset + byteLength)), [handle]);
    line.submit([{ tensor: this, access, argument: "tensor" }], call, after);
    return line.fence();
  }

  /** A part of it, over the same handle: its bytes are lent already. */
  protected derive(part: Part): FakeTensor {
    return new FakeTensor(this.initOf(part));
  }
}
