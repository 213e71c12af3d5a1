import type { Library } from "../library.ts";
import type { ForeignFunction, Model } from "../model.ts";

/** `symbols.ts`: the table that `Deno.dlopen` takes, or of which each entry is what `Deno.UnsafeFnPointer` takes. */
export function symbols({ byPointer }: Library, { functions }: Model): string {
  if (functions.length === 0) return "";
  const taker = byPointer
    ? "The functions, each as `new Deno.UnsafeFnPointer` takes it"
    : "The functions, as `Deno.dlopen` takes them";
  return `
/** ${taker}. */
export const SYMBOLS = {
${functions.map(symbol).join("\n")}
} as const satisfies Deno.ForeignLibraryInterface;
`;
}

function symbol({ name, entry, symbol, prototype, parameters, result }: ForeignFunction): string {
  const properties = [
    ...name === symbol ? [] : [`name: "${symbol}"`],
    `parameters: [${parameters.map(({ foreign }) => `"${foreign.native}"`).join(", ")}]`,
    `result: "${result.native}"`,
    ...entry.nonblocking ? ["nonblocking: true"] : [],
    ...entry.optional ? ["optional: true"] : [],
  ];
  return `  // ${prototype}${entry.sret ? " (x86-64 only: its result is the first parameter)" : ""}\n  ${name}: { ${
    properties.join(", ")
  } },`;
}
