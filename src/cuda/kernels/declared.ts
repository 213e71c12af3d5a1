import { shown } from "../../core/argument.ts";
import { checks } from "../check.ts";
import { BytesParameter } from "./bytes.ts";
import type { Parameter } from "./parameter.ts";
import { PointerParameter } from "./pointer.ts";
import { elementOf } from "./types.ts";
import { ValueParameter } from "./value.ts";

/**
 * A parameter as CUDA C++ declares it, without its name: a number (`"int"`, `"unsigned long long"`, `"float"`), a vector
 * of them (`"float4"`), a pointer to either or to void (`"const float*"`: what is const is only read), or a struct of so
 * many bytes.
 */
export type ParameterType = string | { readonly bytes: number };

/** What a kernel's parameters may take in all (the CUDA C++ programming guide: 32,764 from sm_70 on). */
export const MOST_PARAMETER_BYTES = 32_764;

const POINTER = /^(const )?(.+?)( const)? ?\*$/;

/** The parameters that a kernel was declared with. @throws {ArgumentError} where a type is none that can be passed. */
export function parametersIn(declared: readonly ParameterType[], kernel: string): Parameter[] {
  if (!Array.isArray(declared)) throw checks.wrongKind("parameters", "an array of types", declared);
  const types = checks.itemsIn(declared, "parameters");
  const parameters = types.map((type, i) => parameterOf(type, kernel, i));
  const bytes = parameters.reduce((sum, { info }) => sum + info.size, 0);
  if (bytes <= MOST_PARAMETER_BYTES) return parameters;
  throw checks.wrong("parameters", `${bytes} bytes are more than the ${MOST_PARAMETER_BYTES} that a kernel can take.`);
}

function parameterOf(type: unknown, kernel: string, index: number): Parameter {
  const argument = `parameters[${index}]`;
  if (typeof type === "string") return typedParameter(type, kernel, index, argument);
  if (typeof type !== "object" || type === null) throw checks.wrongKind(argument, "a type", type);
  const { bytes } = type as { readonly bytes: unknown };
  if (Number.isInteger(bytes) && bytes as number > 0 && bytes as number <= MOST_PARAMETER_BYTES) {
    return new BytesParameter(kernel, index, bytes as number);
  }
  throw checks.wrong(`${argument}.bytes`, `${shown(bytes)} is no whole number from 1 to ${MOST_PARAMETER_BYTES}.`);
}

function typedParameter(given: string, kernel: string, index: number, argument: string): Parameter {
  const type = plain(given);
  const [, before, base, after] = POINTER.exec(type) ?? [];
  if (base !== undefined) {
    const element = elementOf(base);
    if (element !== undefined || base === "void") {
      const constant = before !== undefined || after !== undefined;
      const info = { type: `${constant ? "const " : ""}${base}*`, size: 8 };
      return new PointerParameter(kernel, index, info, constant, element);
    }
    const hint = "Is it misspelt? What points to something else is declared void*, or const void*.";
    throw checks.wrong(argument, `"${shown(given)}" points to no number.`, hint);
  }
  const element = elementOf(type.replace(/^const /, ""));
  if (element !== undefined) {
    return new ValueParameter(kernel, index, { type: type.replace(/^const /, ""), size: element.size }, element);
  }
  throw checks.wrong(
    argument,
    `"${shown(given)}" is no type of a number, a vector or a pointer.`,
    withoutName(type) ?? "Is it misspelt? A struct is declared by its size: { bytes: 16 }.",
  );
}

/** What to do where a parameter was declared with its name; undefined where it was not. */
function withoutName(type: string): string | undefined {
  const before = /^(.*[ *])\w+$/.exec(type)?.[1].trim();
  if (before === undefined) return undefined;
  const base = POINTER.exec(before)?.[2] ?? before.replace(/^const /, "");
  return base === "void" || elementOf(base) !== undefined ? `Leave the name out: "${shown(before)}".` : undefined;
}

/** A type in one spelling: what restrict and volatile say is no matter to whoever passes it, nor a pointer's own const. */
function plain(type: string): string {
  return type.replaceAll(/\b(?:__restrict__|__restrict|restrict|volatile|__grid_constant__)(?!\w)/g, " ")
    .replaceAll(/\s+/g, " ").trim().replace(/ ?\* ?(?:const)?$/, "*");
}
