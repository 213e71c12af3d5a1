import type { Checks } from "../core/checks.ts";
import type { ImageFormat, PicturePlane, PixelsInfo } from "../core/layout/frame_info.ts";
import { fitting, type HeldPicture, heldPicture } from "../core/layout/held_picture.ts";
import type { HeldStream, Placing } from "./held.ts";

/** A pixel format, as a library describes it. */
export interface PixelsFormat {
  /** The library's name. */
  readonly name: string;
  readonly planes: readonly PicturePlane[];
}

/** What a library reports about pixel formats. */
export interface PixelFormatsInit {
  /** The library, as messages name it. */
  readonly library: string;
  readonly checks: Checks;
  /** The library's names of formats that samepage knows. If two name one format, frames are written with the first. */
  readonly names: readonly (readonly [name: string, format: ImageFormat])[];
  /** The library's number of a format, by its name; undefined if it has none of that name. */
  numberOf(name: string): number | undefined;
  /**
   * What a number stands for.
   * @throws {ArgumentError} for an unknown format, and for one whose pixels are not elements in memory.
   */
  describe(number: number, argument: string): PixelsFormat;
}

/** The pixel formats of a library that holds pictures, by its own numbers and names. */
export class PixelFormats {
  readonly #init: PixelFormatsInit;
  readonly #known = new Map<number, PixelsFormat>();
  readonly #numbers = new Map<string, number>();
  readonly #byName: ReadonlyMap<string, ImageFormat>;
  readonly #names: ReadonlyMap<ImageFormat, string>;

  constructor(init: PixelFormatsInit) {
    this.#init = init;
    this.#byName = new Map(init.names);
    this.#names = new Map([...init.names].reverse().map(([name, format]) => [format, name]));
  }

  /**
   * A format by its number.
   * @throws {ArgumentError} for an unknown format, and for one whose pixels are not elements in memory.
   */
  at(number: number, argument: string): PixelsFormat {
    let found = this.#known.get(number);
    if (found === undefined) this.#known.set(number, found = this.#init.describe(number, argument));
    return found;
  }

  /** samepage's name for it, where that stands for pictures of this size. */
  imageFormatOf({ name }: PixelsFormat, width: number, height: number): ImageFormat | undefined {
    return fitting(this.#byName.get(name), width, height);
  }

  /** What pictures of such a format are, of which a part is shown, and where their planes lie. @throws {LayoutError} for a wrong stride. */
  streamOf(format: PixelsFormat, held: Omit<HeldPicture, "name" | "format" | "planes">, place: Placing): HeldStream {
    const { name, planes: formats } = format;
    const { width, height } = held.crop;
    const as = this.imageFormatOf(format, width, height);
    const { info, planes } = heldPicture(this.#init.checks, { ...held, name, format: as, planes: formats });
    return { info, planes: planes.map(place) };
  }

  /** The library's name for a samepage format; undefined if it has none. */
  nameOf(format: ImageFormat): string | undefined {
    return this.#names.get(format);
  }

  /** The library's number of a format, by its name; undefined if it has none of that name. */
  numberOf(name: string): number | undefined {
    let number = this.#numbers.get(name);
    if (number !== undefined) return number;
    number = this.#init.numberOf(name);
    if (number !== undefined) this.#numbers.set(name, number); // there are few of those
    return number;
  }

  /** The library's number of the format of pictures. @throws {ArgumentError} if it has none. */
  numberFor(info: PixelsInfo): number {
    const { library, checks } = this.#init;
    const name = info.type === "image" ? this.nameOf(info.format) : info.format;
    const number = name === undefined ? undefined : this.numberOf(name);
    if (number === undefined) {
      throw checks.wrong("frame", `${library} has no format ${name ?? info.format}.`, this.#remedyFor(info));
    }
    if (info.type === "image" || haveSamePlanes(this.at(number, "frame"), info)) return number;
    const hint = "Describe them as the info of a frame from attach() does, or name their format.";
    throw checks.wrong("frame", `its planes are not those of ${library}'s ${name}.`, hint);
  }

  #remedyFor({ type }: PixelsInfo): string {
    const { library, names } = this.#init;
    const known = new Set(names.filter(([name]) => this.numberOf(name) !== undefined).map(([, format]) => format));
    const convert = `Convert the picture to one of these: ${[...known].join(", ")}.`;
    return type === "image" ? convert : `${convert} Or name its pixels as ${library} does.`;
  }
}

function haveSamePlanes({ planes }: PixelsFormat, info: Pick<PixelsFormat, "planes">): boolean {
  return JSON.stringify(planes) === JSON.stringify(info.planes);
}
