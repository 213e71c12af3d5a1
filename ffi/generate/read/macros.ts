import { clang, type Target } from "../clang.ts";
import type { Library } from "../library.ts";

/** An object-like macro. */
export interface Macro {
  /** Its name. */
  readonly name: string;
  /** What it stands for, as written. */
  readonly text: string;
  /** The file that defines it. */
  readonly file: string;
}

/** Reads the macros that a library's headers leave defined, in their order. */
export async function readMacros(library: Library, target: Target): Promise<Macro[]> {
  const macros = new Map<string, Macro>();
  let file = "";
  for (const line of (await clang({ target, library }, ["-E", "-dD"])).split("\n")) {
    const [, entered] = line.match(/^# \d+ "(.*?)"/) ?? [];
    const [, removed] = line.match(/^#undef (\w+)/) ?? [];
    const [, name, text] = line.match(/^#define (\w+) (.*)$/) ?? [];
    if (entered !== undefined) file = entered;
    else if (removed !== undefined) macros.delete(removed);
    else if (name !== undefined) macros.set(name, { name, text, file });
  }
  return [...macros.values()];
}
