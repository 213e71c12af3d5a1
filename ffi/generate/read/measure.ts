import { clang, type Target } from "../clang.ts";
import type { Library } from "../library.ts";

/** A constant expression, and the integer type in which its value is wanted. */
export interface Expression {
  /** The type. */
  readonly type: string;
  /** The expression. */
  readonly value: string;
}

/** Lets clang evaluate constant expressions for a target: nothing is run, the values stand in the LLVM code. */
export async function measure(
  library: Library,
  target: Target,
  expressions: readonly Expression[],
): Promise<{ bits: number; value: bigint }[]> {
  const linkage = library.cxx ? 'extern "C" ' : ""; // C++ would mangle the name, and leave out what is not used
  const lines = expressions.map(({ type, value }, i) => (
    `${linkage}const ${type} samepage_${i} = (${type}) (${value});\n`
  ));
  const ir = await clang({ target, library }, ["-S", "-emit-llvm", "-o", "-"], lines.join(""));
  const values = new Map(
    ir.matchAll(/^@samepage_(\d+) = .*constant i(\d+) (-?\d+)/gm).map((
      [, i, bits, value],
    ) => [Number(i), { bits: Number(bits), value: BigInt(value) }]),
  );
  return expressions.map(({ type, value }, i) => {
    const found = values.get(i);
    if (found === undefined) throw new Error(`(${type}) ${value} is not an integer constant`);
    return found;
  });
}
