import type { Target } from "../clang.ts";
import type { Library } from "../library.ts";
import type { Constant } from "../model.ts";
import { isSigned } from "./cxx/signed.ts";
import { measure } from "./measure.ts";
import type { Candidate } from "./select.ts";

/** Constants of one type, before their values are known. */
export interface Chosen {
  /** The type. */
  readonly type: string;
  /** The constants. */
  readonly candidates: readonly Candidate[];
}

/** Evaluates the constants of each group in the group's type. */
export async function readConstants(
  library: Library,
  target: Target,
  groups: readonly Chosen[],
): Promise<Constant[][]> {
  const values = await measure(
    library,
    target,
    groups.flatMap(({ type, candidates }) => [
      { type: "int", value: library.cxx ? isSigned(type) : `(${type}) -1 < (${type}) 0` },
      ...candidates.map(({ expression }) => ({ type, value: expression })),
    ]),
  );
  return groups.map(({ type, candidates }) => {
    const [signed, ...own] = values.splice(0, candidates.length + 1);
    return own.map(({ bits, value }, i) => {
      const exact = signed.value === 1n ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
      const { name, expression, text } = candidates[i];
      return { name, expression, text, type, value: bits === 64 ? exact : Number(exact) };
    });
  });
}
