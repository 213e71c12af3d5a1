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
