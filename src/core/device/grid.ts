import type { Address } from "../../../ffi/address.ts";
import { aKind, isMade, type Maker, type Names, otherNames, shown, withArticle } from "../argument.ts";
import { ArgumentError } from "../errors.ts";
import { addressOf } from "../native/pin.ts";

/** What launches, as errors name it. */
export interface Launch {
  /** The API. */
  readonly api: string;
  /** The native function. */
  readonly fn: string;
  /** The kernel's name. */
  readonly kernel: string;
}

export function wrongLaunch({ api, fn, kernel }: Launch, argument: string, what: string, hint?: string): ArgumentError {
  const fields = { api, fn, argument };
  return new ArgumentError(`${kernel}: ${argument}: ${what}`, hint === undefined ? fields : { ...fields, hint });
}

export function assertQueue<Q extends { readonly context: unknown }>(
  queue: unknown,
  type: Maker<Q>,
  context: unknown,
  launch: Launch,
  argument: string = "queue",
): void {
  if (!isMade(queue, type)) {
    throw wrongLaunch(launch, argument, `expected ${withArticle(type.name)}, got ${aKind(queue)}.`);
  }
  if (queue.context !== context) throw wrongLaunch(launch, argument, "it is of another context.");
}

/**
 * Returns the range of a launch, whose properties say what their numbers count. An array alone would not: APIs differ.
 * @param unit the property that every launch has; one that has no other is checked by a comparison
 * @param names all properties
 * @throws {ArgumentError} if it is not an object, or has an unknown property.
 */
export function rangeIn<R extends object>(given: R, unit: keyof R & string, names: Names<R>, launch: Launch): R {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw wrongRange(launch, names, `expected an object such as { ${unit}: [64] }, got ${aKind(given)}.`);
  }
  for (const name in given) {
    if (name === unit || Object.hasOwn(names, name) || !Object.hasOwn(given, name)) continue;
    throw wrongRange(launch, names, `unknown property ${otherNames(given, names)}.`);
  }
  return given;
}

function wrongRange(launch: Launch, names: object, what: string): ArgumentError {
  return wrongLaunch(launch, "range", what, `Use ${Object.keys(names).join(", ")}.`);
}

/**
 * Sizes of a launch along one to three dimensions: of a grid, a group or an offset. They are checked against the limits of
 * the device, and laid out as three `size_t` for a native call.
 */
export class Sizes {
  readonly address: Address;
  length = 0;
  readonly #launch: Launch;
  readonly #argument: string;
  readonly #least: number;
  readonly #most: readonly number[];
  readonly #groupSize: readonly number[] | undefined;
  readonly #sizes: number[] = [1, 1, 1];
  /** The words as halves: writing bigints would cost more than the rest of the launch. */
  readonly #halves = new Uint32Array(6);

  /** `groupSize` is how many items one stands for, if that is known, for messages. */
  constructor(
    launch: Launch,
    argument: string,
    least: number,
    most: readonly number[],
    groupSize?: readonly number[],
  ) {
    this.#groupSize = groupSize;
    this.#launch = launch;
    this.#argument = argument;
    this.#least = least;
    this.#most = most;
    this.address = addressOf(this.#halves, launch.api);
  }

  at(dimension: number): number {
    return this.#sizes[dimension];
  }

  get items(): number {
    return this.#sizes[0] * this.#sizes[1] * this.#sizes[2];
  }

  /** Takes as many sizes as `like` has, if given. @throws {ArgumentError} for another number, and beyond the limits. */
  take(given: readonly number[], like?: Sizes): void {
    if (!Array.isArray(given)) {
      throw this.wrong("", `expected an array, got ${aKind(given)}.`, "Pass a number for each dimension: [64].");
    }
    const { length } = given;
    if (length < 1 || length > 3) throw this.wrong("", `expected 1 to 3 dimensions, got ${length}.`);
    if (like !== undefined && length !== like.length) {
      throw this.wrong("", `expected the ${like.length} dimensions of ${like.#argument}, got ${length}.`);
    }
    if (this.#has(given)) return;
    this.length = 0; // where one is refused, the others are not those of a launch
    for (let i = 0; i < 3; i++) {
      const size: number = i < length ? given[i] : 1;
      if (i < length && !(Number.isInteger(size) && size >= this.#least && size <= this.#most[i])) {
        throw this.#wrongSize(i, size);
      }
      this.#sizes[i] = size;
      this.#halves[2 * i] = size;
      this.#halves[2 * i + 1] = size / 2 ** 32;
    }
    this.length = length;
  }

  /** Are these the sizes that were taken last? Most launches of a kernel are alike. */
  #has(given: readonly number[]): boolean {
    if (given.length !== this.length) return false;
    for (let i = 0; i < given.length; i++) if (given[i] !== this.#sizes[i]) return false;
    return true;
  }

  /** Throws if there are more items than `most`: `"1025 threads are more than the 1024 that a block may have"`. */
  assertItems(most: number, what: string, limit: string): void {
    const { items } = this;
    if (items > most) throw this.wrong("", `${items} ${what} are more than the ${most} that ${limit}.`);
  }

  /** The error of wrong sizes; `at` is empty or the dimension: `"[0]"`. */
  wrong(at: string, what: string, hint?: string): ArgumentError {
    return wrongLaunch(this.#launch, `${this.#argument}${at}`, what, hint);
  }

  #wrongSize(dimension: number, size: unknown): ArgumentError {
    const isFraction = typeof size === "number" && size > 0 && !Number.isInteger(size) && Number.isFinite(size);
    return this.wrong(
      `[${dimension}]`,
      `expected a whole number from ${this.#least} to ${this.#most[dimension]}, got ${shown(size)}.`,
      isFraction
        ? `Round it up, and let the kernel skip what is outside: Math.ceil(n / ${this.#groupSize?.[dimension] ?? 256}).`
        : undefined,
    );
  }
}
