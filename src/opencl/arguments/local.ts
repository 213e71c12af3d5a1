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

  /** Returns the size of a LocalMemory; undefined for anything else. For mappers. */
  static sizeOf(value: unknown): number | undefined {
    return typeof value === "object" && value !== null && #byteLength in value ? value.#byteLength : undefined;
  }
}

export class LocalParameter extends Parameter {
  constructor(place: ParameterPlace) {
    super(place, 0, 1);
  }

  override pack(value: unknown): undefined {
    if (LocalMemory.sizeOf(value) !== undefined) return;
    throw this.wrong(`expected local memory, got ${aKind(value)}.`, "Pass new LocalMemory(bytes).");
  }
}
