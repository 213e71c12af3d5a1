/**
 * Frames that FFmpeg makes by itself, in C, with none of samepage's code.
 *
 * @module
 */
const SYMBOLS = {
  format_name: { parameters: ["i32"], result: "pointer" },
  component: { parameters: ["buffer", "i32", "buffer"], result: "i32" },
  component_size: { parameters: ["buffer", "i32", "i32", "i32", "buffer"], result: "void" },
  value_at: { parameters: ["buffer", "i32", "i32", "i32"], result: "u32" },
  picture: { parameters: ["buffer", "i32", "i32", "i32"], result: "u64" },
  pixel: { parameters: ["u64", "i32", "i32", "i32"], result: "u32" },
  sound: { parameters: ["i32", "i32", "i32", "i32"], result: "u64" },
  scattered: { parameters: ["buffer", "i32", "i32"], result: "u64" },
  set_crop: { parameters: ["u64", "i32", "i32", "i32", "i32"], result: "void" },
  set_facts: { parameters: ["u64"], result: "void" },
  flip: { parameters: ["u64"], result: "void" },
  stretch: { parameters: ["u64", "i32"], result: "void" },
  set_format: { parameters: ["u64", "i32"], result: "void" },
  forget_buffers: { parameters: ["u64"], result: "void" },
  misplace: { parameters: ["u64", "i32", "u64"], result: "void" },
  lock_buffer: { parameters: ["u64"], result: "void" },
  empty: { parameters: [], result: "u64" },
  cloned: { parameters: ["u64"], result: "u64" },
  freed: { parameters: ["u64"], result: "void" },
  freed_later: { parameters: ["u64"], result: "void" },
  put: { parameters: ["u64", "i32", "i32", "i32"], result: "void" },
  references: { parameters: ["u64"], result: "i32" },
  is_writable: { parameters: ["u64"], result: "i32" },
  format_of: { parameters: ["buffer"], result: "i32" },
  plane_of: { parameters: ["u64", "i32"], result: "u64" },
  linesize_of: { parameters: ["u64", "i32"], result: "i32" },
} as const;

const SOURCE = new URL("frames.c", import.meta.url).pathname;
const HEADERS = new URL("../../.ffmpeg/57/include", import.meta.url).pathname;
const FOLDER = new URL("../../out/ffmpeg/", import.meta.url).pathname; // git ignores it

/** FFmpeg's frames, or what is missing for them. */
export const frames = await built();

type Frames = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

/** The reason why there are no frames here, for the names of tests. */
export const missing = typeof frames === "string" ? frames : undefined;

/** The frames of tests that do not run without. */
export function inC(): Frames {
  return frames as Frames;
}

async function built(): Promise<Frames | string> {
  await Deno.mkdir(FOLDER, { recursive: true });
  const library = await Deno.makeTempFile({ dir: FOLDER, suffix: ".so" });
  try {
    const args = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", "-isystem", HEADERS];
    const command = new Deno.Command("cc", { args: [...args, "-o", library, SOURCE, "-l:libavutil.so.57"] });
    const { success, stderr } = await command.output();
    const said = new TextDecoder().decode(stderr);
    if (success) return Deno.dlopen(library, SYMBOLS).symbols;
    if (said.includes("libavutil")) return "FFmpeg 5.1, or its headers";
    throw new Error(said);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "cc";
    throw error;
  } finally {
    await Deno.remove(library);
  }
}

/** A text as C takes it. */
export function cText(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}

/** An AVFrame of the program's, freed at the end of its block. */
export class CFrame implements Disposable {
  readonly pointer: bigint;

  constructor(pointer: bigint) {
    if (pointer === 0n) throw new Error("FFmpeg makes no such frame");
    this.pointer = pointer;
  }

  static picture(format: string, width: number, height: number, align = 0): CFrame {
    return new CFrame(inC().picture(cText(format), width, height, align));
  }

  static scattered(format: string, width: number, height: number): CFrame {
    return new CFrame(inC().scattered(cText(format), width, height));
  }

  static sound(format: number, channels: number, samples: number, rate = 48000): CFrame {
    return new CFrame(inC().sound(format, channels, samples, rate));
  }

  get references(): number {
    return inC().references(this.pointer);
  }

  /** Another AVFrame with the same buffers. */
  clone(): CFrame {
    return new CFrame(inC().cloned(this.pointer));
  }

  [Symbol.dispose](): void {
    inC().freed(this.pointer);
  }
}

/** A test that needs FFmpeg. */
export function test(name: string, fn: () => void | Promise<void>): void {
  Deno.test({ name: missing ? `${name} (not here: ${missing})` : name, ignore: missing !== undefined, fn });
}
