import { type Names, optionsIn, shownFields } from "../argument.ts";
import type { Checks } from "../checks.ts";
import type { OpenOn } from "./device_on.ts";

/** A choice of a device by words, and by its place in a list for one of several that are alike. */
interface Choice extends OpenOn {
  readonly index?: number;
}

/**
 * A program's choice of a device: `index` is a number, the caller checks `on`, and all else is text.
 *
 * @throws {ArgumentError}
 */
export function choiceIn<T extends Choice>(checks: Checks, choice: T, names: Names<T>): T {
  const wanted = { ...optionsIn(choice, names, "choice") };
  const { on: _, index, ...texts } = wanted;
  for (const [name, value] of Object.entries(texts)) {
    if (value !== undefined) checks.assertText(value, `choice.${name}`);
  }
  if (index !== undefined) checks.assertInteger(index, "choice.index", 0, 2 ** 31 - 1);
  return wanted;
}

/** True if the text contains what is wanted, in upper or lower case, or if nothing is wanted. */
export function hasPart(text: string, wanted: string | undefined): boolean {
  return wanted === undefined || text.toLowerCase().includes(wanted.toLowerCase());
}

/** What the error says where no device fits. */
interface Missing {
  /** The API in words, and the function that lists its devices. */
  readonly title: string;
  readonly fn: string;
  /** What to install where there is no device at all. */
  readonly install: string;
  /** What the program asked for, and what there is. */
  readonly wanted: object;
  readonly there: readonly string[];
}

/** The first GPU of the devices that fit, else the first of them. @throws {ArgumentError} if none fits. */
export function gpuFirst<D extends { readonly type: string }>(
  fitting: readonly D[],
  checks: Checks,
  { title, fn, install, wanted, there }: Missing,
): D {
  const device = fitting.find(({ type }) => type === "gpu") ?? fitting[0];
  if (device !== undefined) return device;
  if (there.length === 0) throw checks.wrong("choice", `${title} has no device.`, install, fn);
  throw checks.wrong("choice", `no ${title} device fits ${shownFields(wanted)}.`, `There is ${there.join("; ")}.`, fn);
}
