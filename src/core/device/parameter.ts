import { aKind, shown } from "../argument.ts";
import { bytesIn } from "../checks.ts";
import { ArgumentError, type ErrorFields } from "../errors.ts";
import type { Access } from "../memory/access.ts";
import type { Usable } from "./line.ts";
import type { Element } from "./types.ts";

export interface ParameterPlace {
  readonly api: string;
  readonly fn: string;
  readonly kernel: string;
  readonly index: number;
  readonly type: string;
  /** Its name in the source, if the compiler reports it. */
  readonly name?: string | undefined;
}

/**
 * Checks arguments and packs them to bytes. It keeps no argument, so native kernels can share it.
 * @typeParam C the context that a kernel runs in
 */
export abstract class Parameter<C = unknown> {
  readonly index: number;
  readonly type: string;
  /** The argument, as errors name it: its name in the source, or `"args[2]"`. */
  readonly argument: string;
  /** Its place, for messages: `blur: argument 0 (uchar* source)`. */
  readonly where: string;
  readonly size: number;
  readonly align: number;
  readonly #api: string;
  readonly #fn: string;

  constructor({ api, fn, kernel, index, type, name }: ParameterPlace, size: number, align: number) {
    this.index = index;
    this.type = type;
    this.argument = name ?? `args[${index}]`;
    this.where = `${shown(kernel)}: argument ${index} (${shown(name === undefined ? type : `${type} ${name}`)})`;
    this.size = size;
    this.align = align;
    this.#api = api;
    this.#fn = fn;
  }

  /**
   * Checks what cannot change while the argument lives, and writes its bytes. Returns the object that the kernel uses, if
   * the argument is one; the caller checks whether it may be used now.
   * @throws {ArgumentError} if its kind, type, size, range or context is wrong.
   * @throws {LayoutError} if its first element is not aligned for its type.
   * @throws {AccessError} if the kernel may write it, and its own access is `"read"`.
   * @throws {DisposedError} if it was disposed.
   */
  abstract pack(value: unknown, view: DataView<ArrayBuffer>, offset: number, context: C): Usable | undefined;

  accessTo(_used: Usable): Access {
    return "read";
  }

  wrong(what: string, hint?: string): ArgumentError {
    return new ArgumentError(`${this.where}: ${what}`, this.about(hint));
  }

  about(hint?: string): ErrorFields {
    const fields = { api: this.#api, fn: this.#fn, argument: this.argument };
    return hint === undefined ? fields : { ...fields, hint };
  }
}

/** A number, a vector or a struct, passed by value. Each may be passed as its bytes, in a typed array. */
export class ValueParameter<C = unknown> extends Parameter<C> {
  readonly #element: Element | undefined;

  /** A struct if `element` is a size in bytes. Where the size is 0, only the driver knows it, and checks the bytes. */
  constructor(place: ParameterPlace, element: Element | number) {
    const { size, align } = typeof element === "number" ? { size: element, align: 16 } : element;
    super(place, size, align);
    this.#element = typeof element === "number" ? undefined : element;
  }

  override pack(value: unknown, view: DataView<ArrayBuffer>, offset: number): undefined {
    const element = this.#element;
    if (ArrayBuffer.isView(value)) this.#packBytes(value, view, offset);
    else if (element === undefined) {
      throw this.wrong(`expected the bytes of a ${this.type}, got ${aKind(value)}.`, "Pass them as a typed array.");
    } else if (element.lanes === 1) this.#packNumber(element, value, view, offset);
    else this.#packVector(element, value, view, offset);
  }

  #packBytes(value: ArrayBufferView, view: DataView<ArrayBuffer>, offset: number): void {
    const bytes = bytesIn(value, (what, hint) => this.wrong(what, hint))!;
    const { byteLength } = bytes;
    if (byteLength === 0) throw this.wrong("expected bytes, got none.");
    if (this.size === 0) return;
    if (byteLength !== this.size) throw this.wrong(`expected ${this.size} bytes, got ${byteLength}.`);
    new Uint8Array(view.buffer, offset, this.size).set(bytes);
  }

  #packVector(element: Element, value: unknown, view: DataView<ArrayBuffer>, offset: number): void {
    const { lanes, numbers } = element;
    if (!Array.isArray(value)) throw this.wrong(`expected an array of ${lanes} numbers, got ${aKind(value)}.`);
    if (value.length !== lanes) throw this.wrong(`expected ${lanes} elements, got ${value.length}.`);
    for (let i = 0; i < lanes; i++) this.#packNumber(element, value[i], view, offset + i * numbers.size);
  }

  #packNumber({ numbers, isBoolean }: Element, given: unknown, view: DataView<ArrayBuffer>, offset: number): void {
    const value = isBoolean && typeof given === "boolean" ? Number(given) : given;
    const refusal = numbers.refusal(value);
    if (refusal !== undefined) throw this.wrong(refusal, isBoolean ? "Pass true or false." : undefined);
    numbers.write(view, offset, value as number | bigint);
  }
}
