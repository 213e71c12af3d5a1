import { aKind } from "../argument.ts";
import { AccessError, LayoutError } from "../errors.ts";
import { type Access, writes } from "../memory/access.ts";
import { Frame } from "../tensors/frame.ts";
import type { Tensor } from "../tensors/tensor.ts";
import type { Usable } from "./line.ts";
import { Parameter, type ParameterPlace } from "./parameter.ts";
import type { Element } from "./types.ts";

export interface Pointee {
  readonly isConst: boolean;
  /** Its type; undefined for void and for types that the program declares. */
  readonly element?: Element | undefined;
  readonly align?: number;
}

/** A pointer to memory of the device. Its argument is a tensor; the API decides which tensors it takes, and their handles. */
export abstract class PointerParameter<T extends Tensor & Usable, C> extends Parameter<C> {
  readonly #access: Access;
  readonly #element: Element | undefined;
  readonly #align: number;

  constructor(place: ParameterPlace, { isConst, element, align = element?.align ?? 1 }: Pointee) {
    super(place, 8, 8);
    this.#access = isConst ? "read" : "read-write";
    this.#element = element;
    this.#align = align;
  }

  /** The tensor that was passed; undefined if it is not one of the API's. */
  protected abstract tensorIn(value: unknown): T | undefined;

  /** Throws if a kernel of the context cannot reach the tensor as it was passed. */
  protected abstract checkPlace(tensor: T, value: unknown, context: C, access: Access): void;

  /** The address of its first element; only its alignment matters. */
  protected abstract addressOf(tensor: T): bigint;

  /** The handle that the kernel gets: by default the address. */
  protected handleOf(tensor: T): bigint {
    return this.addressOf(tensor);
  }

  protected readonly expected: string = "a tensor in memory of the device";

  /** How a program maps a tensor to the API: `"graph.map(tensor, cl)"`. */
  protected abstract readonly mapping: string;

  /** In the kernels' language: what declares that it is only read, and that it takes every dtype. */
  protected readonly declared: { readonly read: string; readonly any: string } = {
    read: "Declare the pointer const",
    any: "declare the pointer void*",
  };

  override pack(value: unknown, view: DataView<ArrayBuffer>, offset: number, context: C): T | undefined {
    const tensor = this.tensorIn(value);
    if (tensor === undefined) {
      throw this.wrong(`expected ${this.expected}, got ${aKind(value)}.`, this.remedyFor(value));
    }
    tensor.resource.assertLive();
    this.#checkElements(tensor);
    this.checkPlace(tensor, value, context, this.#access);
    if (this.#align > 1) this.#checkAlignment(tensor);
    this.#checkAccess(tensor);
    view.setBigUint64(offset, this.handleOf(tensor), true);
    return tensor;
  }

  override accessTo(tensor: T): Access {
    return writes(this.#access) ? tensor.access : this.#access;
  }

  #checkAccess(tensor: T): void {
    if (!writes(this.#access) || writes(tensor.access)) return;
    throw new AccessError(
      `${this.where} may be written, and ${tensor.name} was mapped for "read".`,
      this.about(`${this.declared.read}, or map with { access: "read-write" }.`),
    );
  }

  #checkElements(tensor: T): void {
    const { dtype } = tensor.layout;
    const dtypes = this.#element?.dtypes;
    if (dtypes === undefined || dtypes.includes(dtype)) return;
    throw this.wrong(
      `it points to ${dtypes.join(" or ")}; ${tensor.name} holds ${dtype}.`,
      `Slice the tensor with a layout of that dtype, where its bytes are meant so, or ${this.declared.any}.`,
    );
  }

  #checkAlignment(tensor: T): void {
    if (this.addressOf(tensor) % BigInt(this.#align) === 0n) return;
    throw new LayoutError(
      `${this.where}: ${tensor.name} does not begin at a multiple of ${this.#align} bytes.`,
      this.about(
        "Map memory that is aligned so, slice the tensor where an element begins, or take a pointer to numbers.",
      ),
    );
  }

  /** What to do with a value that is not one of its tensors. */
  protected remedyFor(value: unknown): string {
    if (value instanceof Frame) return "Pass one of its planes.";
    if (typeof value === "bigint") return "Pass the tensor itself, not its handle.";
    if (ArrayBuffer.isView(value)) return `Take it over with host.wrap(), and map that: ${this.mapping}.`;
    return `Map the tensor to the context first: ${this.mapping}.`;
  }
}
