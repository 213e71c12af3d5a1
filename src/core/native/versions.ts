import { InteropError } from "../errors.ts";
import { libraryPaths } from "./library.ts";

/** A version of a library that samepage knows. */
export interface KnownVersion {
  /** What its makers call the release: `"5.1"`. */
  readonly release: string;
  /** The package of Debian's that has it, where one does. */
  readonly inDebian?: string;
}

/** What messages say of a library. */
export interface VersionsInit {
  readonly api: string;
  /** The product that it is a part of: `"FFmpeg"`. */
  readonly product: string;
  /** The library, whose files end in the version: `"libavutil"`. */
  readonly library: string;
  /** The function that returns the version. */
  readonly fn: string;
  /** The variable that names the file to open. */
  readonly variable: string;
}

/** The versions of a library whose structs are known, by their numbers. Another one is refused: its structs lie elsewhere. */
export class Versions<V extends KnownVersion> {
  readonly #known: ReadonlyMap<number, V>;
  readonly #init: VersionsInit;

  constructor(known: ReadonlyMap<number, V>, init: VersionsInit) {
    [this.#known, this.#init] = [known, init];
  }

  /** What to do where there is none of them. */
  get hint(): string {
    const versions = [...this.#known.values()];
    const packages = versions.flatMap(({ inDebian }) => inDebian ?? []).join(" or ");
    return `Install ${this.#init.product} ${inWords(versions)}: apt install ${packages}.`;
  }

  /** Where they may be, the first one first. */
  get candidates(): readonly string[] {
    return [...this.#known.keys()].flatMap((version) => libraryPaths(`${this.#init.library}.so.${version}`));
  }

  /** The releases of some: `"5.1 or 7.1"`. */
  releases(which: (version: V) => boolean): string {
    return inWords([...this.#known.values()].filter(which));
  }

  /** @throws {InteropError} for a version that is not known. */
  of(version: number): V {
    const found = this.#known.get(version);
    if (found !== undefined) return found;
    const { api, library, fn, variable } = this.#init;
    const known = [...this.#known.keys()].join(", ");
    throw new InteropError(`${library} has version ${version}, and samepage knows the structs of ${known}.`, {
      ...{ api, fn, hint: `${this.hint} Both may be installed: ${variable} names the one to open.` },
    });
  }
}

function inWords(versions: readonly KnownVersion[]): string {
  return versions.map(({ release }) => release).join(" or ");
}
