import type { Library } from "../library.ts";
import type { ForeignFunction, Model } from "../model.ts";

/** `symbols.ts`: the table that `Deno.dlopen` takes, or of which each entry is what `Deno.UnsafeFnPointer` takes. */
export function symbols({ byPointer }: Library, { functions }: Model): string {
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

function symbol({ name, entry, prototype, parameters, result }: ForeignFunction): string {
  const properties = [
    ...name === entry.name ? [] : [`name: "${entry.name}"`],
    `parameters: [${parameters.map(({ foreign }) => `"${foreign.native}"`).join(", ")}]`,
    `result: "${result.native}"`,
    ...entry.nonblocking ? ["nonblocking: true"] : [],
    ...entry.optional ? ["optional: true"] : [],
  ];
  return `  // ${prototype}\n  ${name}: { ${properties.join(", ")} },`;
}
