/**
 * Frames that FFmpeg makes by itself, in C, with none of samepage's code.
 *
 * @module
 */
import { dirname } from "node:path";
import { environment, libraryPaths } from "../../src/core/native/library.ts";
import { buildLibrary } from "../c_library.ts";

const SYMBOLS = {
  format_name: { parameters: ["i32"], result: "pointer" },
  component: { parameters: ["buffer", "i32", "buffer"], result: "i32" },
  component_size: { parameters: ["buffer", "i32", "i32", "i32", "buffer"], result: "void" },
  value_at: { parameters: ["buffer", "i32", "i32", "i32"], result: "u32" },
  picture: { parameters: ["buffer", "i32", "i32", "i32"], result: "u64" },
  pixel: { parameters: ["u64", "i32", "i32", "i32"], result: "u32" },
  sound: { parameters: ["i32", "i32", "i32", "i32"], result: "u64" },
  scattered: { parameters: ["buffer", "i32", "i32"], result: "u64" },
  adjacent: { parameters: ["i32", "i32"], result: "u64" },
  set_crop: { parameters: ["u64", "i32", "i32", "i32", "i32"], result: "void" },
  set_facts: { parameters: ["u64"], result: "void" },
  is_key: { parameters: ["u64"], result: "i32" },
  set_key: { parameters: ["u64", "i32"], result: "void" },
  change: { parameters: ["u64", "buffer", "i32"], result: "void" },
  add_side_data: { parameters: ["u64"], result: "void" },
  add_short_matrix: { parameters: ["u64"], result: "void" },
  side_byte: { parameters: ["u64", "i32", "i32"], result: "i32" },
  flip: { parameters: ["u64"], result: "void" },
  stretch: { parameters: ["u64", "i32"], result: "void" },
  set_format: { parameters: ["u64", "i32"], result: "void" },
  forget_buffers: { parameters: ["u64"], result: "void" },
  misplace: { parameters: ["u64", "i32", "u64"], result: "void" },
  lock_buffer: { parameters: ["u64"], result: "void" },
  empty: { parameters: [], result: "u64" },
  cloned: { parameters: ["u64"], result: "u64" },
  unreferenced: { parameters: ["u64"], result: "void" },
  freed: { parameters: ["u64"], result: "void" },
  freed_later: { parameters: ["u64"], result: "void" },
  put: { parameters: ["u64", "i32", "i32", "i32"], result: "void" },
  references: { parameters: ["u64"], result: "i32" },
  is_writable: { parameters: ["u64"], result: "i32" },
  format_of: { parameters: ["buffer"], result: "i32" },
  plane_of: { parameters: ["u64", "i32"], result: "u64" },
  linesize_of: { parameters: ["u64", "i32"], result: "i32" },
  hardware: { parameters: ["u64", "buffer", "buffer", "i32", "i32"], result: "u64" },
  own_device: { parameters: ["buffer"], result: "u64" },
  beside: { parameters: ["u64"], result: "u64" },
  transfer: { parameters: ["u64", "u64"], result: "i32" },
  mapped: { parameters: ["u64", "buffer", "i32"], result: "u64" },
  buffer_references: { parameters: ["u64"], result: "i32" },
  unreference: { parameters: ["u64"], result: "void" },
  swap_frames_context: { parameters: ["u64", "u64"], result: "u64" },
  drm_frame: {
    parameters: ["i32", "i32", "i32", "buffer", "u64", "u64", "i32", "buffer", "buffer"],
    result: "u64",
  },
  set_cuda_context: { parameters: ["u64", "u64"], result: "void" },
  set_cuda_stream: { parameters: ["u64", "u64"], result: "void" },
  set_modifier: { parameters: ["u64", "i32", "u64"], result: "void" },
  drm_facts: { parameters: ["u64", "buffer"], result: "void" },
} as const;

/** The libavutil that samepage opens: the one that is named, or the first that is installed. */
const AVUTIL = environment("SAMEPAGE_LIB_FFMPEG") ??
  [57, 59, 60, 61].map((major) => `libavutil.so.${major}`).find(isInstalled);
/** Its major version, by its name; the tests' own libraries have none there. */
export const MAJOR: number | undefined = AVUTIL === undefined
  ? undefined
  : Number(/\.so\.(\d+)/.exec(AVUTIL)?.[1] ?? "57");

const HEADERS = new URL(`../../.ffmpeg/${MAJOR}/include`, import.meta.url).pathname;
const FOLDER = new URL("../../out/ffmpeg/", import.meta.url).pathname; // git ignores it
const LIBRARY = `${FOLDER}frames${MAJOR}.so`;
/** A libavutil that says that it has version 99, once it was built. */
export const NEWER = `${FOLDER}newer${MAJOR}.so`;

/** By its file: to open libavutil is to open libva, before a test has chosen its driver. */
function isInstalled(name: string): boolean {
  const { access } = Deno.dlopen("libc.so.6", { access: { parameters: ["buffer", "i32"], result: "i32" } }).symbols;
  const isThere = (path: string) => access(new TextEncoder().encode(`${path}\0`), 0) === 0; // without --allow-read, too
  return libraryPaths(name).some((path) => path.includes("/") && isThere(path));
}

/** Compiles them. Returns what is missing for that. */
export async function buildFrames(): Promise<string | undefined> {
  return await built("frames.c", LIBRARY) ?? await built("newer.c", NEWER);
}

/** What has libavutil's allocations fail, as `LD_PRELOAD`, once it was built. */
export const NO_MEMORY = `${FOLDER}no_memory${MAJOR}.so`;

/** Compiles it. Returns what is missing for that. */
export function buildNoMemory(): Promise<string | undefined> {
  return built("no_memory.c", NO_MEMORY);
}

/** Compiles a CUDA driver in memory of the host's, and has this process's libcuda.so.1 be it. Returns what is missing. */
export async function useCuda(): Promise<string | undefined> {
  const library = `${FOLDER}libcuda.so`;
  const missing = await built("libcuda.c", library, "-Wl,-soname,libcuda.so.1");
  if (missing === undefined) Deno.dlopen(library, {});
  return missing;
}

/** Compiles NVDEC in memory of the host's, for {@link useCuda}. Returns what is missing, or what the library has more. */
export async function useNvdec() {
  const library = `${FOLDER}libnvcuvid.so`;
  const missing = await useCuda() ?? await built("libnvcuvid.c", library, "-Wl,-soname,libnvcuvid.so.1");
  if (missing !== undefined) return missing;
  return Deno.dlopen(library, {
    nvdec_decoders: { parameters: [], result: "i32" },
    nvdec_refuse: { parameters: ["i32"], result: "void" },
  }).symbols;
}

async function built(name: string, library: string, ...more: string[]): Promise<string | undefined> {
  if (AVUTIL === undefined) return "FFmpeg";
  return await buildLibrary({
    sources: [new URL(name, import.meta.url).pathname],
    library,
    args: ["-isystem", HEADERS, "-Wl,--no-as-needed", ...linked(AVUTIL), ...more],
    headers: { said: "libavutil", missing: `the headers of libavutil ${MAJOR}` },
  });
}

function linked(library: string): string[] {
  return library.includes("/") ? [library, `-Wl,-rpath,${dirname(library)}`] : [`-l:${library}`];
}

type Frames = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

let opened: Frames | undefined;

/** Its functions, once it was built. */
export function inC(): Frames {
  return opened ??= Deno.dlopen(LIBRARY, SYMBOLS).symbols;
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

  /** A frame of a device's. */
  static hardware(device: bigint, format: string, stored: string, width: number, height: number): CFrame {
    return new CFrame(inC().hardware(device, cText(format), cText(stored), width, height));
  }

  /** The same picture in another format, in place. */
  mapped(format: string, flags = 1): CFrame {
    return new CFrame(inC().mapped(this.pointer, cText(format), flags));
  }

  /** A copy of the pixels of a device's frame, in memory. */
  downloaded(format: string, width: number, height: number): CFrame {
    const copy = CFrame.picture(format, width, height);
    if (inC().transfer(copy.pointer, this.pointer) < 0) throw new Error("FFmpeg does not download it");
    return copy;
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
