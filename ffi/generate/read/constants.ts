import type { Target } from "../clang.ts";
import type { ConstantGroup, Library } from "../library.ts";
import type { Constant } from "../model.ts";
import { measure } from "./measure.ts";
import type { Candidate } from "./select.ts";

/** Evaluates the constants of a group in the group's C type. */
export async function readConstants(
  library: Library,
  target: Target,
  { type }: ConstantGroup,
  chosen: readonly Candidate[],
): Promise<Constant[]> {
  const [minusOne, ...values] = await measure(library, target, [
    { type: "int", value: `(${type}) -1 < (${type}) 0` },
    ...chosen.map(({ name }) => ({ type, value: name })),
  ]);
  return values.map(({ bits, value }, i) => {
    const exact = minusOne.value === 1n ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
    return { name: chosen[i].name, text: chosen[i].text, type, value: bits === 64 ? exact : Number(exact) };
  });
}
