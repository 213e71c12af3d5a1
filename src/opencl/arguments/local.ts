import { Printed } from "../../core/printed.ts";
import { aKind, shown } from "../../core/argument.ts";
import { Parameter, type ParameterPlace } from "../../core/device/parameter.ts";
import { checks } from "../check.ts";

/** Local memory of a work-group, as a kernel argument. */
export class LocalMemory extends Printed {
  readonly #byteLength: number;

  /** `byteLength` bytes for each work-group. @throws {ArgumentError} unless that is a whole number above 0. */
  constructor(byteLength: number) {
    super();
    if (!Number.isSafeInteger(byteLength) || byteLength <= 0) {
      throw checks.wrong("byteLength", `${shown(byteLength)} is not a whole number above 0.`);
    }
    this.#byteLength = byteLength;
  }

  /** Its size. */
  toString(): string {
    return `${this.byteLength} bytes of local memory`;
  }

  /** Its size in bytes. */
  get byteLength(): number {
    return this.#byteLength;
  }

  /** The size of a LocalMemory; undefined for anything else. For those who write mappers. */
  static sizeOf(value: unknown): number | undefined {
    return typeof value === "object" && value !== null && #byteLength in value ? value.#byteLength : undefined;
  }
}

/** A pointer to local memory: its argument is a size. */
export class LocalParameter extends Parameter {
  /** @see {@link Parameter} */
  constructor(place: ParameterPlace) {
    super(place, 0, 1);
  }

  /** @see {@link Parameter.pack} */
  override pack(value: unknown): undefined {
    if (LocalMemory.sizeOf(value) !== undefined) return;
    throw this.wrong(`expected local memory, got ${aKind(value)}.`, "Pass new LocalMemory(bytes).");
  }
}
