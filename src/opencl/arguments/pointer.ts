import { CL_KERNEL_ARG_ADDRESS_CONSTANT, CL_KERNEL_ARG_TYPE_CONST } from "../../../ffi/opencl/constants.ts";
import { isMade } from "../../core/argument.ts";
import type { ParameterPlace } from "../../core/device/parameter.ts";
import { PointerParameter } from "../../core/device/pointer.ts";
import { AccessError, LayoutError } from "../../core/errors.ts";
import { type Access, writes } from "../../core/memory/access.ts";
import { elsewhere } from "../../core/checks.ts";
import type { BaseContext } from "../base_context.ts";
import { OpenCLPointerTensor } from "../pointers/tensor.ts";
import { BaseOf } from "../buffers/base_of.ts";
import { BufferTensor } from "../buffers/tensor.ts";
import type { ParameterInfo } from "./info.ts";
import { elementOf, LARGEST_TYPE } from "../../core/device/opencl_c.ts";

type Pointee = BufferTensor | OpenCLPointerTensor;

export class GlobalParameter extends PointerParameter<Pointee, BaseContext> {
  protected override readonly mapping = "graph.map(tensor, cl)";

  constructor(place: ParameterPlace, { type, address, qualifiers }: ParameterInfo) {
    const element = elementOf(type.replace(/\s*\**$/, ""));
    const isConst = address === CL_KERNEL_ARG_ADDRESS_CONSTANT || (qualifiers & CL_KERNEL_ARG_TYPE_CONST) !== 0n;
    // A type that the program declares may hold the largest type. A void pointer has no known alignment.
    const align = element?.align ?? (/\bvoid\b/.test(type) ? 1 : LARGEST_TYPE);
    super(place, { isConst, element, align });
  }

  protected override tensorIn(value: unknown): Pointee | undefined {
    const tensor = value instanceof BaseOf ? value.tensor : value;
    return isMade<Pointee>(tensor, BufferTensor) || isMade<Pointee>(tensor, OpenCLPointerTensor) ? tensor : undefined;
  }

  protected override checkPlace(tensor: Pointee, value: unknown, context: BaseContext, access: Access): void {
    if (tensor.context !== context) throw this.wrong(`${tensor.name} ${elsewhere(tensor.context, context)}.`);
    if (!(tensor instanceof BufferTensor)) return;
    this.#checkLimits(tensor, access);
    const { byteOffset } = tensor.layout;
    if (byteOffset === 0 || value instanceof BaseOf) return;
    throw new LayoutError(
      `${this.where}: ${tensor.name} begins ${byteOffset} bytes into its cl_mem.`,
      this.about(
        "No sub-buffer can begin there. Pass tensor.base, and tensor.layout.byteOffset as an argument of its own; " +
          "or copy it to memory of its own, as copy() does in a pipeline.",
      ),
    );
  }

  protected override addressOf(tensor: Pointee): bigint {
    if (!(tensor instanceof BufferTensor)) return tensor.address;
    return (tensor.root.hostAddress ?? 0n) + BigInt(tensor.origin);
  }

  protected override handleOf(tensor: Pointee): bigint {
    return tensor instanceof BufferTensor ? tensor.rawHandle : tensor.address;
  }

  #checkLimits({ name, limits }: BufferTensor, access: Access): void {
    if (limits === undefined || limits.kernel !== (writes(access) ? "read" : "write")) return;
    const what = writes(access) ? "may be written" : "is read";
    throw new AccessError(
      `${this.where} ${what}, and ${name} was made with ${limits.flags}.`,
      this.about(writes(access) ? "Declare the pointer const." : undefined),
    );
  }
}
