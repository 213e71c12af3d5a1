/**
 * A program's own Vulkan code, in C: samepage knows nothing of what it makes and submits.
 *
 * @module
 */
import { compile } from "../../layer/mod.ts";

const SOURCE = new URL("foreign.c", import.meta.url).pathname;

const SYMBOLS = {
  foreign_open: { parameters: ["buffer"], result: "pointer" },
  foreign_close: { parameters: ["pointer"], result: "void" },
  foreign_size: { parameters: ["pointer"], result: "u64" },
  foreign_type: { parameters: ["pointer"], result: "u32" },
  foreign_buffer: { parameters: ["pointer", "u64"], result: "i32" },
  foreign_image: { parameters: ["pointer", "u32", "u32"], result: "i32" },
  foreign_semaphore: { parameters: ["pointer", "i32"], result: "i32" },
  foreign_fill: { parameters: ["pointer", "u32", "i32", "u64", "i32", "u64"], result: "i32" },
} as const;

/** A semaphore of theirs by its number, with the value of a timeline. */
export interface Point {
  readonly semaphore: number;
  readonly value?: bigint;
}

let library: Deno.DynamicLibrary<typeof SYMBOLS> | undefined;

/** Compiles it. Returns why it cannot be; undefined once it was. */
export async function lackingForeign(): Promise<string | undefined> {
  try {
    const path = await compile("foreign_vulkan.so", ["-shared", "-fPIC", SOURCE, "-l:libvulkan.so.1"]);
    library ??= Deno.dlopen(path, SYMBOLS);
    return undefined;
  } catch (error) {
    return `no cc, or no headers of Vulkan: ${(error as Error).message.split("\n").slice(0, 3).join(" ")}`;
  }
}

function fdOf(what: string, code: number): number {
  if (code < 0) throw new Error(`foreign.c:${-code} refused ${what}`);
  return code;
}

/** Their code on one device. */
export class ForeignVulkan implements Disposable {
  readonly #at: Deno.PointerValue;
  readonly #uuid: string;

  /** @param uuid of the device, as hexadecimal digits. */
  constructor(uuid: string) {
    this.#uuid = uuid;
    this.#at = library!.symbols.foreign_open(Uint8Array.fromHex(uuid.replaceAll("-", "")));
    if (this.#at === null) throw new Error(`foreign.c opens no device ${uuid}`);
  }

  /** What the newest memory was made with. */
  get made(): { readonly size: number; readonly type: number; readonly uuid: string } {
    const { foreign_size, foreign_type } = library!.symbols;
    return { size: Number(foreign_size(this.#at)), type: foreign_type(this.#at), uuid: this.#uuid };
  }

  /** An fd of a new buffer's memory, which the caller owns. */
  buffer(byteLength: number): number {
    return fdOf("a buffer", library!.symbols.foreign_buffer(this.#at, BigInt(byteLength)));
  }

  /** An fd of the memory of a new RGBA image, dedicated to it. */
  image(width: number, height: number): number {
    return fdOf("an image", library!.symbols.foreign_image(this.#at, width, height));
  }

  /** An fd of a new semaphore. */
  semaphore(kind: "binary" | "timeline"): number {
    return fdOf("a semaphore", library!.symbols.foreign_semaphore(this.#at, Number(kind === "timeline")));
  }

  /** Fills the buffer with a word, and the image with its lowest byte. The host waits where it signals nothing. */
  fill(word: number, { waits, signals }: { readonly waits?: Point; readonly signals?: Point } = {}): void {
    const [wait, signal] = [waits, signals].map((point) => [point?.semaphore ?? -1, point?.value ?? 0n] as const);
    fdOf("a fill", library!.symbols.foreign_fill(this.#at, word, ...wait, ...signal));
  }

  [Symbol.dispose](): void {
    library!.symbols.foreign_close(this.#at);
  }
}
