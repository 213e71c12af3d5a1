import type { Model } from "../model.ts";
import { pascalCase } from "../types.ts";

/** `handles.ts`: pointers to structs that only the library looks into. */
export function handles({ handles }: Model): string {
  return handles.map((name) => `
/** A \`${name}\`. */
export type ${pascalCase(name)} = Branded<"${name}">;
`).join("");
}
