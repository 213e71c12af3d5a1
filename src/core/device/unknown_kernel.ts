import { shown } from "../argument.ts";
import { ArgumentError, type ErrorFields } from "../errors.ts";

/** `name: there is no kernel "scal". It has scale.` And `more`, which says what else to do. */
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
