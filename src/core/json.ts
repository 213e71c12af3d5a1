/**
 * What `JSON.stringify` makes of records and errors. JSON has no bigints, and it shows neither name nor message of an
 * error.
 *
 * @module
 */

/** Gives a record a `toJSON`, which no loop over its fields sees: its bigints are decimal texts in JSON. */
export function withJson<T extends object>(record: T): T {
  return Object.defineProperty(record, "toJSON", { value: recordJson });
}

function recordJson(this: object): object {
  return fieldsJson(this);
}

export function fieldsJson(record: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, valueJson(value)]));
}

function valueJson(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null || "toJSON" in value) return value;
  return Array.isArray(value) ? value.map(valueJson) : fieldsJson(value);
}

/** What a program threw, which may be anything, as JSON has it. */
export function thrownJson(value: unknown): unknown {
  if (value instanceof Error) return "toJSON" in value ? value : { name: value.name, message: value.message };
  const isPlain = (typeof value !== "object" && typeof value !== "function") || value === null;
  return isPlain ? String(value) : Object.prototype.toString.call(value);
}
