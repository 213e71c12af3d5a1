import type { ForeignFunction, Model } from "../model.ts";

/** `symbols.ts`: the table that `Deno.dlopen` takes. */
export function symbols({ functions }: Model): string {
  return `
/** The functions, as \`Deno.dlopen\` takes them. */
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
