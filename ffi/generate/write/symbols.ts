import type { Library } from "../library.ts";
import type { ForeignFunction, Model } from "../model.ts";

/** `symbols.ts`: the table that `Deno.dlopen` takes, or of which each entry is what `Deno.UnsafeFnPointer` takes. */
export function symbols({ byPointer }: Library, { functions }: Model): string {
  if (functions.length === 0) return "";
  const taker = byPointer
    ? "The functions, each as `new Deno.UnsafeFnPointer` takes it"
    : "The functions, as `Deno.dlopen` takes them";
  return `${byValue(functions)}
/** ${taker}. */
export const SYMBOLS = {
${functions.map(symbol).join("\n")}
} as const satisfies Deno.ForeignLibraryInterface;
`;
}

function symbol({ name, entry, symbol, prototype, parameters, result }: ForeignFunction): string {
  const properties = [
    ...name === symbol ? [] : [`name: "${symbol}"`],
    `parameters: [${parameters.map(({ foreign }) => foreign.struct?.name ?? `"${foreign.native}"`).join(", ")}]`,
    `result: "${result.native}"`,
    ...entry.nonblocking ? ["nonblocking: true"] : [],
    ...entry.optional ? ["optional: true"] : [],
  ];
  return `  // ${prototype}${entry.sret ? " (x86-64 only: its result is the first parameter)" : ""}\n  ${name}: { ${
    properties.join(", ")
  } },`;
}

/** The structs that are passed by value, each once. */
function byValue(functions: readonly ForeignFunction[]): string {
  const structs = functions.flatMap(({ parameters }) => parameters.flatMap(({ foreign }) => foreign.struct ?? []));
  return [...new Map(structs.map((struct) => [struct.name, struct])).values()].map(({ type, name, holds }) => `
/** A \`${type}\` by value. */
const ${name} = { struct: ${numbers(holds)} } as const;
`).join("");
}

/** A list of types; a long one of the same type, such as 64 bytes, in short. */
function numbers(types: readonly string[]): string {
  const all = `[${types.map((type) => `"${type}"`).join(", ")}]`;
  const same = types.length > 8 && types.every((type) => type === types[0]);
  return same ? `Array<"${types[0]}">(${types.length}).fill("${types[0]}")` : all;
}
