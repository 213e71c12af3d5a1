import { NULL } from "../../../ffi/address.ts";
import { type Access, writes } from "../../core/memory/access.ts";
import { kindOf } from "../../core/checks.ts";
import { AccessError, LayoutError } from "../../core/errors.ts";
import { Frame } from "../../core/tensors/frame.ts";
import type { CudaContext } from "../context.ts";
import { assertReachable } from "../reach.ts";
import type { CudaUse } from "../stream.ts";
import { CudaTensor } from "../tensor.ts";
import { Parameter, type ParameterInfo } from "./parameter.ts";
import type { Element } from "./types.ts";

/** A pointer: its argument is a tensor, whose first element it points to, or null. */
export class PointerParameter extends Parameter {
  readonly #access: Access;
  readonly #element: Element | undefined;

  /** What it points to is const, and made of `element`: undefined for void. @see {@link Parameter} */
  constructor(kernel: string, index: number, info: ParameterInfo, constant: boolean, element: Element | undefined) {
    super(kernel, index, info, 8);
    this.#access = constant ? "read" : "read-write";
    this.#element = element;
  }

  /** @see {@link Parameter.pack} */
  pack(value: unknown, view: DataView<ArrayBuffer>, offset: number, context: CudaContext, uses: CudaUse[]): void {
    if (value === null) return view.setBigUint64(offset, NULL, true);
    if (!(value instanceof CudaTensor && CudaTensor.owns(value))) {
      throw this.wrong(`it is a pointer to memory of the device; got ${kindOf(value)}.`, remedyFor(value));
    }
    assertReachable(value, context, this.argument);
    view.setBigUint64(offset, value.address, true);
    if (this.#element !== undefined) this.#checkElements(value, view.getUint32(offset, true), this.#element);
    uses.push({ tensor: value, access: this.#accessTo(value), argument: this.argument });
  }

  /** What the kernel does to the tensor. @throws {AccessError} where that exceeds the tensor's own access. */
  #accessTo(tensor: CudaTensor): Access {
    if (!writes(this.#access)) return this.#access;
    if (writes(tensor.access)) return tensor.access;
    throw new AccessError(
      `${this.where} may be written, and ${tensor.name} was mapped for "read".`,
      this.about('Declare the pointer const, or map with { access: "read-write" }.'),
    );
  }

  /** `address` is the lower half of the tensor's: a number, which is faster to look at. */
  #checkElements(tensor: CudaTensor, address: number, { scalar, align }: Element): void {
    const { dtype } = tensor.layout;
    if (!scalar.dtypes.includes(dtype)) {
      throw this.wrong(
        `it points to ${scalar.dtypes.join(" or ")}; ${tensor.name} holds ${dtype}.`,
        "Slice the tensor with a layout of that dtype, where the bytes are meant so, or declare it void*.",
      );
    }
    if ((address & (align - 1)) === 0) return;
    throw new LayoutError(
      `${this.where}: ${tensor.name} does not begin at a multiple of ${align} bytes.`,
      this.about("The device would stop at such an address, for good. Slice the tensor where one begins."),
    );
  }
}

/** What somebody who passed this for a pointer will have meant. */
function remedyFor(value: unknown): string {
  if (value instanceof Frame) return "Pass one of its planes.";
  if (typeof value === "bigint") return "Pass the tensor itself, not its handle.";
  if (ArrayBuffer.isView(value)) {
    return "Take it over with host.wrap(), and map that to the context: graph.map(tensor, cuda).";
  }
  return "Map the tensor to the context first: graph.map(tensor, cuda).";
}
