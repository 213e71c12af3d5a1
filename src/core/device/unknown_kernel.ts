import { shown } from "../argument.ts";
import { ArgumentError, type ErrorFields } from "../errors.ts";

/**
 * The error of a kernel that a program does not have: `name: there is no kernel "scal". It has scale.`
 *
 * @param has the names of those that it has
 * @param more what else to do, as a sentence
 */
export function unknownKernel(
  name: string,
  has: readonly string[],
  fields: ErrorFields,
  more: string = "",
): ArgumentError {
  const names = has.length === 0 ? "none" : shown(has.join(", "));
  const hint = `It has ${names}.${more === "" ? "" : ` ${more}`}`;
  return new ArgumentError(`name: there is no kernel "${shown(name)}".`, { ...fields, argument: "name", hint });
}
