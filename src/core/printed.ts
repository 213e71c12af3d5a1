/** What a program holds, in one line: the same in `console.log`, `String()`, messages and `JSON.stringify`. */
export abstract class Printed {
  /** What it is, in one line. */
  abstract toString(): string;

  /** What `console.log` shows: {@link toString}. */
  [Symbol.for("Deno.customInspect")](): string {
    return this[Symbol.toPrimitive]();
  }

  /**
   * What `String()` and templates show: {@link toString}. A prototype or a proxy, which has no fields, shows its class's
   * name. A field to distinguish them would cost every map and fence 20 ns.
   */
  [Symbol.toPrimitive](): string {
    const { name } = this.constructor;
    try {
      const line: unknown = this.toString();
      return typeof line === "string" ? line : name;
    } catch {
      return name;
    }
  }

  /** What `JSON.stringify` makes of it: {@link toString}. A class whose objects are data has its own. */
  toJSON(): unknown {
    return this.toString();
  }
}

export function withFacts(line: string, facts: readonly (string | undefined)[]): string {
  const known = facts.filter((fact) => fact !== undefined);
  return known.length === 0 ? line : `${line} (${known.join(", ")})`;
}

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
