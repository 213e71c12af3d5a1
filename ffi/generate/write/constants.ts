import type { Constant, Model } from "../model.ts";

/** `constants.ts`: the constants by their type, each with the header's way of writing it. */
export function constants({ constants }: Model): string {
  return constants.filter((group) => group.length > 0)
    .map((group) => `\n// ${group[0].type}\n\n${group.map(constant).join("\n")}\n`).join("");
}

/** `errors.ts`: the error codes, and their names. */
export function errors({ errors }: Model): string {
  if (errors.length === 0) return "";
  const isAlias = ({ text }: Constant) => errors.some(({ name }) => name === text);
  return `
${errors.map(constant).join("\n")}

/** The name of each error code. */
export const ERROR_NAMES: ReadonlyMap<number, string> = new Map([
${errors.filter((error) => !isAlias(error)).map(({ name }) => `  [${name}, "${name}"],`).join("\n")}
]);
`;
}

function constant({ name, expression, text, value }: Constant): string {
  const digits = text.startsWith("0x") ? text.replace(/[uUlL]+$/, "") : String(value);
  const type = value < 0 ? `: ${typeof value}` : ""; // deno doc --lint takes no minus sign for a literal
  const definition = text === "" || text === name ? `enum constant ${expression}` : `#define ${name} ${text}`;
  return `/** \`${definition}\` */\nexport const ${name}${type} = ${digits}${typeof value === "bigint" ? "n" : ""};`;
}
