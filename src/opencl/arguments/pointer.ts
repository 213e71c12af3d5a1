import { CL_KERNEL_ARG_ADDRESS_CONSTANT, CL_KERNEL_ARG_TYPE_CONST } from "../../../ffi/opencl/constants.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { isMade } from "../../core/argument.ts";
import { type Access, writes } from "../../core/memory/access.ts";
import { AccessError, LayoutError } from "../../core/errors.ts";
import { Frame } from "../../core/tensors/frame.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import { kindOf } from "../check.ts";
import type { OpenCLContext } from "../context.ts";
import { opencl } from "../library.ts";
import { OpenCLPointerTensor } from "../pointers/tensor.ts";
import { OpenCLTensor } from "../tensor.ts";
import { type Element, elementOf, LARGEST_TYPE } from "./element.ts";
import { Parameter, type ParameterInfo } from "./parameter.ts";

/** A tensor whose `layout.byteOffset` the kernel is told by an argument of its own. */
export class BaseOf {
  /** The tensor. */
  readonly tensor: OpenCLTensor;

  /** Passes the tensor's handle as it is. */
  constructor(tensor: OpenCLTensor) {
    this.tensor = tensor;
  }
}

/** What a pointer can be passed: a buffer by its `cl_mem`, or memory that kernels reach by its address. */
type Pointee = OpenCLTensor | OpenCLPointerTensor;

/** A pointer to global or constant memory: its argument is a tensor. */
export class PointerParameter extends Parameter<Pointee> {
  readonly #access: Access;
  readonly #element: Element | undefined;
  /** What its address has to be a multiple of, for the compiler's sake. */
  readonly #align: number;
  readonly #value = new BigUint64Array(1);
  #hadAddress = false;

  /** @see {@link Parameter} */
  constructor(kernel: string, index: number, info: ParameterInfo) {
    super(kernel, index, info);
    this.#element = elementOf(info.type);
    this.#align = alignOf(info.type, this.#element);
    const constant = info.address === CL_KERNEL_ARG_ADDRESS_CONSTANT ||
      (info.qualifiers & CL_KERNEL_ARG_TYPE_CONST) !== 0n;
    this.#access = constant ? "read" : "read-write";
  }

  /** @see {@link Parameter.accept} */
  accept(value: unknown, context: OpenCLContext): Pointee {
    const tensor = value instanceof BaseOf ? value.tensor : value;
    if (!isMade<Pointee>(tensor, OpenCLTensor) && !isMade<Pointee>(tensor, OpenCLPointerTensor)) {
      throw this.wrong(`it is a pointer to device memory; got ${kindOf(value)}.`, remedyFor(value));
    }
    tensor.resource.assertLive();
    this.assertAtHome(tensor.name, tensor.context, context);
    this.#checkElements(tensor);
    if (tensor instanceof OpenCLTensor) {
      this.#checkLimits(tensor);
      if (tensor.layout.byteOffset !== 0 && tensor === value) throw this.#offset(tensor);
    }
    if (this.#align > 1) this.#checkAlignment(tensor);
    tensor.assertUsable(this.#accessTo(tensor));
    return tensor;
  }

  /** @see {@link Parameter.set} */
  set(kernel: ClKernel, tensor: Pointee): number {
    const access = this.#accessTo(tensor);
    tensor.assertUsable(access);
    if (tensor instanceof OpenCLPointerTensor) {
      tensor.grant.revokeConflicting(access); // a peer's, who wrapped the address
      this.#hadAddress = true;
      tensor.setArgument(kernel, this.index);
      return 0;
    }
    if (tensor.grant.parent === undefined) tensor.grant.revokeConflicting(access); // those of a peer in host memory
    this.#value[0] = tensor.rawHandle;
    return opencl().clSetKernelArg(kernel, this.index, 8n, this.#value);
  }

  /**
   * NVIDIA's driver (580.159) never again takes a buffer for a parameter that was given an address once
   * (CL_INVALID_KERNEL_ARGS), whatever is set in between.
   */
  override isSpoiltFor(tensor: Pointee): boolean {
    return this.#hadAddress && !(tensor instanceof OpenCLPointerTensor);
  }

  /** @see {@link Parameter.usedBy} */
  override usedBy(tensor: Pointee): Pointee {
    return tensor;
  }

  /** What the kernel does to the tensor. @throws {AccessError} where that exceeds the tensor's own access. */
  #accessTo(tensor: Tensor): Access {
    if (!writes(this.#access)) return this.#access;
    if (writes(tensor.access)) return tensor.access;
    throw new AccessError(`${this.where} may be written, and ${tensor.name} was mapped for "read".`, {
      api: "opencl",
      argument: this.info.name,
      hint: 'Declare the pointer const, or map with { access: "read-write" }.',
    });
  }

  /** Throws where the flags of an attached buffer forbid what the kernel does. */
  #checkLimits({ name, limits }: OpenCLTensor): void {
    if (limits === undefined || limits.kernel === "read-write") return;
    const forbidden = writes(this.#access) ? "read" : "write";
    if (limits.kernel !== forbidden) return;
    const what = writes(this.#access) ? "may be written" : "is read";
    throw new AccessError(`${this.where} ${what}, and ${name} was made with ${limits.flags}.`, {
      api: "opencl",
      argument: this.info.name,
      ...(writes(this.#access) ? { hint: "Declare the pointer const." } : {}),
    });
  }

  #checkElements(tensor: Tensor): void {
    const { dtype } = tensor.layout;
    if (this.#element === undefined || this.#element.numbers.dtype === dtype) return;
    throw this.wrong(
      `it points to ${this.#element.numbers.dtype}; ${tensor.name} holds ${dtype}.`,
      "Slice the tensor with a layout of that dtype, where the bytes are meant so.",
    );
  }

  /** Compilers count on it. */
  #checkAlignment(tensor: Pointee): void {
    const align = this.#align;
    const at = tensor instanceof OpenCLTensor
      ? (tensor.root.hostAddress ?? 0n) + BigInt(tensor.origin)
      : tensor.address;
    if (at % BigInt(align) === 0n) return;
    throw new LayoutError(`${this.where}: ${tensor.name} does not begin at a multiple of ${align} bytes.`, {
      api: "opencl",
      argument: this.info.name,
      hint: "Map memory that is aligned so, or take a pointer to numbers (and use vload).",
    });
  }

  #offset(tensor: Tensor): LayoutError {
    const at = `${tensor.name} begins ${tensor.layout.byteOffset} bytes into its cl_mem.`;
    return new LayoutError(`${this.where}: ${at}`, {
      api: "opencl",
      argument: this.info.name,
      hint: "No sub-buffer can begin there. Pass new BaseOf(tensor), and tensor.layout.byteOffset as an argument of " +
        "its own.",
    });
  }
}

/**
 * A vector's address is a multiple of its size (OpenCL C 6.3.5), and a type that the program declares itself may be, or hold,
 * the largest of them. That of a number was checked with the tensor's layout; what void is cast to is the kernel's affair.
 */
function alignOf(type: string, element: Element | undefined): number {
  if (element !== undefined) return element.lanes > 1 ? element.size : 1;
  return /\bvoid\b/.test(type) ? 1 : LARGEST_TYPE;
}

/** What somebody who passed this for a pointer will have meant. */
function remedyFor(value: unknown): string {
  if (value instanceof Frame) return "Pass one of its planes.";
  if (typeof value === "bigint") return "Pass the tensor itself, not its handle.";
  if (ArrayBuffer.isView(value)) {
    return "Take it over with host.wrap(), and map that to the context: graph.map(tensor, cl).";
  }
  return "Map the tensor to the context first: graph.map(tensor, cl).";
}
