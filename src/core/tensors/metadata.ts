import { literal, object, shown } from "../argument.ts";
import { Checks } from "../checks.ts";
import { Printed } from "../printed.ts";

/** The fields that samepage knows. A program adds its own by declaration merging. */
export interface MetadataFields {
  /** When to show the frame, in nanoseconds. */
  timestamp: bigint;
  /** How long to show it, in nanoseconds. */
  duration: bigint;
  /** Which stream it came from. */
  stream: string;
  /** Its number in the stream. */
  sequence: number;
}

/**
 * What is known of a frame besides its bytes: a dictionary with typed keys. It travels with every map.
 *
 * @example
 * ```ts
 * import { Metadata } from "@samepage/interop";
 *
 * const metadata = new Metadata({ timestamp: 40_000_000n });
 * metadata.set("stream", "front door");
 * console.log(metadata.get("timestamp")); // 40000000n
 * ```
 */
export class Metadata extends Printed {
  /** Most frames of a stream have none. */
  #fields: Map<string, unknown> | undefined;

  /** Begins with these fields. @throws {ArgumentError} if `fields` is no object. */
  constructor(fields?: Partial<MetadataFields>) {
    super();
    this.#fields = fields === undefined ? undefined : new Map(Object.entries(object(fields, "fields")));
  }

  /** True for what this class has made, and not for a proxy of it. For mappers. */
  static owns(value: object): boolean {
    return #fields in value;
  }

  /** Its keys and values, in one line. `console.log` shows the same. */
  toString(): string {
    const fields = Array.from(this.#fields ?? [], ([key, value]) => `${shown(key)}: ${literal(value)}`);
    return `metadata { ${fields.length === 0 ? "nothing is set" : fields.join(", ")} }`;
  }

  /** The value of a key; undefined if it is not set. */
  get<K extends keyof MetadataFields>(key: K): MetadataFields[K] | undefined {
    return this.#fields?.get(key) as MetadataFields[K] | undefined;
  }

  /** Sets a key. */
  set<K extends keyof MetadataFields>(key: K, value: MetadataFields[K]): this {
    (this.#fields ??= new Map()).set(key, value);
    return this;
  }

  /** Unsets a key. Returns true if it was set. */
  delete(key: keyof MetadataFields): boolean {
    return this.#fields?.delete(key) ?? false;
  }

  /** Every key that is set, with its value. */
  entries(): IterableIterator<[string, unknown]> {
    return (this.#fields ??= new Map()).entries();
  }
}

const checks: Checks = new Checks("core");

export function assertMetadata(given: unknown): asserts given is Metadata | undefined {
  if (given !== undefined) checks.assertInstance(given, Metadata, "metadata");
}
