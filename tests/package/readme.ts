import { join } from "@std/path";
import { hasDevice } from "../opencl/present.ts";
import { ROOT } from "./project.ts";

/** README's first TypeScript snippet, and the output that the ```text block right after it promises. */
export interface Snippet {
  readonly code: string;
  readonly prints: string;
}

/** Reads {@linkcode Snippet} from README.md. */
export async function firstSnippet(): Promise<Snippet> {
  const readme = await Deno.readTextFile(join(ROOT, "README.md"));
  const blocks = [...readme.matchAll(/^```([\w-]*)[^\n]*\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({
    language,
    text,
  }));
  const first = blocks.findIndex((block) => block.language === "ts");
  const [code, prints] = [blocks[first], blocks[first + 1]];
  if (!code) throw new Error("README.md has no ```ts block");
  if (prints?.language !== "text") throw new Error("README.md: a ```text block must follow the first ```ts block");
  return { code: code.text, prints: prints.text };
}

/** Why a snippet that uses OpenCL can not run here, in words for a test's name; `undefined` where it can. */
export function missingFor({ code }: Snippet): string | undefined {
  if (!code.includes("@samepage/interop/opencl")) return undefined;
  return hasDevice() ? undefined : "an OpenCL device";
}

/** A test's name, with what it lacks at its end. */
export function named(name: string, missing: string | undefined): string {
  return missing ? `${name} (skipped: needs ${missing})` : name;
}
