import { NULL } from "../../../ffi/address.ts";
import { shown } from "../../core/argument.ts";
import { type Parameter, type ParameterPlace, ValueParameter } from "../../core/device/parameter.ts";
import { PointerParameter } from "../../core/device/pointer.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { checks } from "../check.ts";
import { assertReachable } from "../reach.ts";
import { CudaTensor } from "../tensor.ts";
import { elementOf } from "./types.ts";

/**
 * A parameter as CUDA C++ declares it, without its name: a number (`"int"`, `"unsigned long long"`, `"float"`), a
 * vector (`"float4"`), a pointer to either or to void (`"const float*"`: the kernel only reads it), or a struct by its
 * size in bytes.
 */
export type ParameterType = string | { readonly bytes: number };

/** The limit of bytes for all parameters of a kernel (the CUDA C++ programming guide: 32,764 from sm_70 on). */
export const MAX_PARAMETER_BYTES = 32_764;

const POINTER = /^(const )?(.+?)( const)? ?\*$/;

/** A declared parameter of a kernel. */
export interface ParameterInfo {
  /** Its type: `"const float*"`; for a struct, its size: `"16 bytes"`. */
  readonly type: string;
  /** Its size in bytes. */
  readonly size: number;
}

export interface Declared {
  readonly info: ParameterInfo;
  readonly parameter: Parameter<CudaPrimaryContext>;
}

/** A pointer: its argument is a tensor, whose first element it points to, or null. */
class DeviceParameter extends PointerParameter<CudaTensor, CudaPrimaryContext> {
  protected override readonly mapping = "graph.map(tensor, cuda)";

  override pack(
    value: unknown,
    view: DataView<ArrayBuffer>,
    at: number,
    context: CudaPrimaryContext,
  ): CudaTensor | undefined {
    if (value !== null) return super.pack(value, view, at, context);
    view.setBigUint64(at, NULL, true);
  }

  protected override tensorIn(value: unknown): CudaTensor | undefined {
    return value instanceof CudaTensor && CudaTensor.owns(value) ? value : undefined;
  }

  protected override checkPlace(tensor: CudaTensor, _value: unknown, context: CudaPrimaryContext): void {
    assertReachable(tensor, context, this.argument);
  }

  protected override addressOf(tensor: CudaTensor): bigint {
    return tensor.address;
  }
}

/** The parameters of a kernel's declaration. @throws {ArgumentError} for a type that cannot be passed. */
export function parametersIn(declared: readonly ParameterType[], kernel: string): Declared[] {
  const types = checks.itemsIn(declared, "parameters", "an array of types");
  const parameters = types.map((type, i) => declaredAs(type, kernel, i));
  const bytes = parameters.reduce((sum, { info }) => sum + info.size, 0);
  if (bytes <= MAX_PARAMETER_BYTES) return parameters;
  throw checks.wrong("parameters", `${bytes} bytes are more than the ${MAX_PARAMETER_BYTES} that a kernel can take.`);
}

function declaredAs(given: unknown, kernel: string, index: number): Declared {
  const argument = `parameters[${index}]`;
  const place = (type: string) => ({ api: "cuda", fn: "cuLaunchKernelEx", kernel, index, type });
  const parameter = typeof given === "string" ? typed(given, place, argument) : struct(given, place, argument);
  return { parameter, info: { type: parameter.type, size: parameter.size } };
}

function struct(given: unknown, place: (type: string) => ParameterPlace, argument: string): Parameter {
  if (typeof given !== "object" || given === null) throw checks.wrongKind(argument, "a type", given);
  const { bytes } = given as { readonly bytes: number };
  if (Number.isInteger(bytes) && bytes > 0 && bytes <= MAX_PARAMETER_BYTES) {
    return new ValueParameter(place(`${bytes} bytes`), bytes);
  }
  const expected = `expected a whole number from 1 to ${MAX_PARAMETER_BYTES}`;
  throw checks.wrong(`${argument}.bytes`, `${expected}, got ${shown(bytes)}.`);
}

function typed(
  given: string,
  place: (type: string) => ParameterPlace,
  argument: string,
): Parameter<CudaPrimaryContext> {
  const type = plain(given);
  const [, before, base, after] = POINTER.exec(type) ?? [];
  if (base !== undefined) {
    const element = elementOf(base);
    if (element !== undefined || base === "void") {
      const isConst = before !== undefined || after !== undefined;
      return new DeviceParameter(place(`${isConst ? "const " : ""}${base}*`), { isConst, element });
    }
    const hint = "Is it misspelt? A pointer to anything else is declared void*, or const void*.";
    throw checks.wrong(argument, `"${shown(given)}" is a pointer to an unknown type.`, hint);
  }
  const value = type.replace(/^const /, "");
  const element = elementOf(value);
  if (element !== undefined) return new ValueParameter(place(value), element);
  throw checks.wrong(
    argument,
    `"${shown(given)}" is not the type of a number, a vector or a pointer.`,
    withoutName(type) ?? "Is it misspelt? A struct is declared by its size: { bytes: 16 }.",
  );
}

function withoutName(type: string): string | undefined {
  const before = /^(.*[ *])\w+$/.exec(type)?.[1].trim();
  if (before === undefined) return undefined;
  const base = POINTER.exec(before)?.[2] ?? before.replace(/^const /, "");
  return base === "void" || elementOf(base) !== undefined ? `Leave the name out: "${shown(before)}".` : undefined;
}

function plain(type: string): string {
  return type.replaceAll(/\b(?:__restrict__|__restrict|restrict|volatile|__grid_constant__)(?!\w)/g, " ")
    .replaceAll(/\s+/g, " ").trim().replace(/ ?\* ?(?:const)?$/, "*");
}
