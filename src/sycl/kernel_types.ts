import type { Address } from "../../ffi/address.ts";
import * as dpctl from "../../ffi/sycl/constants.ts";
import { shown } from "../core/argument.ts";
import { Arguments } from "../core/device/arguments.ts";
import { type Parameter, type ParameterPlace, ValueParameter } from "../core/device/parameter.ts";
import { elementOf } from "../core/device/opencl_c.ts";
import type { Usable } from "../core/device/line.ts";
import { UnifiedParameter } from "../core/tensors/unified_device.ts";
import type { SyclContext } from "./context.ts";
import { checks } from "./library.ts";
import { SYCL_USM, type SyclTensor } from "./usm.ts";

/**
 * A parameter as OpenCL C declares it, without its name: a number (`"int"`, `"uint"`, `"float"`), or a pointer to numbers
 * or to void (`"global const float*"`: the kernel only reads it). `global` may be left out.
 */
export type SyclParameterType = string;

/** DPCTL's type for each number that is passed by value. */
const BY_VALUE: { readonly [name: string]: number } = {
  i8: dpctl.DPCTL_INT8_T,
  u8: dpctl.DPCTL_UINT8_T,
  i16: dpctl.DPCTL_INT16_T,
  u16: dpctl.DPCTL_UINT16_T,
  i32: dpctl.DPCTL_INT32_T,
  u32: dpctl.DPCTL_UINT32_T,
  i64: dpctl.DPCTL_INT64_T,
  u64: dpctl.DPCTL_UINT64_T,
  f32: dpctl.DPCTL_FLOAT32_T,
  f64: dpctl.DPCTL_FLOAT64_T,
};

const POINTER = /^(?:(?:__)?global )?(const )?(.+?)( const)? ?\*$/;

/** A parameter, and how DPCTL takes it. */
export interface Declared {
  readonly parameter: Parameter<SyclContext>;
  /** One of DPCTLKernelArgType. */
  readonly type: number;
}

/** The parameters of a kernel's declaration. @throws {ArgumentError} for a type that cannot be passed. */
export function parametersIn(declared: readonly SyclParameterType[], kernel: string): Declared[] {
  if (!Array.isArray(declared)) throw checks.wrongKind("parameters", "an array of types", declared);
  return checks.itemsIn<unknown>(declared, "parameters").map((given, index) => {
    const argument = `parameters[${index}]`;
    checks.assertText(given, argument);
    const type = given.replaceAll(/\b(?:restrict|volatile)\b/g, " ").replaceAll(/\s+/g, " ").trim();
    return declaredAs(type, { api: "sycl", fn: "DPCTLQueue_SubmitRange", kernel, index, type }, argument);
  });
}

function declaredAs(type: string, place: ParameterPlace, argument: string): Declared {
  const [, before, base, after] = POINTER.exec(type) ?? [];
  if (base !== undefined) {
    const element = elementOf(base);
    if (element === undefined && base !== "void") {
      throw checks.wrong(
        argument,
        `"${shown(type)}" does not point to a number.`,
        "Declare a pointer to anything else as void*.",
      );
    }
    const isConst = before !== undefined || after !== undefined;
    return { parameter: new UnifiedParameter(place, { isConst, element }, SYCL_USM), type: dpctl.DPCTL_VOID_PTR };
  }
  const element = elementOf(type);
  const byValue = element?.lanes === 1 ? BY_VALUE[element.dtypes[0]] : undefined;
  if (element !== undefined && byValue !== undefined) {
    return { parameter: new ValueParameter(place, element), type: byValue };
  }
  const hint = "It passes numbers of 8 to 64 bits, and pointers to global memory: pass others in memory.";
  throw checks.wrong(argument, `"${shown(type)}" is not a type that DPCTL passes.`, hint);
}

/** The arrays that a launch reads: an address for each value, or the pointer itself, and the types. */
export class KernelArguments extends Arguments<SyclContext, SyclTensor> {
  /** The array of `void *`. */
  readonly values: Address;
  /** The array of DPCTLKernelArgType. */
  readonly types: Address;

  constructor(declared: readonly Declared[]) {
    super(declared.map(({ parameter }) => parameter), "sycl", 12 * declared.length);
    this.values = this.address;
    this.types = this.address + BigInt(8 * declared.length) as Address;
    declared.forEach(({ type }, i) => {
      this.view.setBigUint64(8 * i, this.address + BigInt(this.offsets[i]), true);
      this.view.setInt32(8 * declared.length + 4 * i, type, true);
    });
  }

  /** Writes the pointer itself for a tensor: DPCTL takes any other value by its address. */
  protected override set(index: number, _value: unknown, used: Usable | undefined): void {
    if (used !== undefined) this.view.setBigUint64(8 * index, (used as SyclTensor).address, true);
  }
}
