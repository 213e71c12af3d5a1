// What is still written once per API, with its places. A list may only become shorter: no mechanism is written once
// more, and a change that folds a place takes it off.

import { assertEquals } from "@std/assert";
import { join, relative } from "@std/path";
import { ROOT } from "./project.ts";

/** A mechanism that more than one API writes, or that is to move to the core. */
interface Twin {
  /** What a file is called that has it, below src; every file by default. */
  readonly path?: RegExp;
  /** What stands in it, where its name is not enough. */
  readonly text?: RegExp;
  /** The files below src that have it today. */
  readonly places: readonly string[];
}

/** The folders of APIs, and of the edges between them. */
const OF_APIS = /^(cuda|dmabuf|egl|ffmpeg|opencl|opencv|vaapi|vulkan)\//;

const TWINS: { readonly [mechanism: string]: Twin } = {
  "the check of a native call's code": { text: /^(export )?function check\(/m, places: [] },
  "the check of an object that a native call made": { text: /^export function made[<(]/m, places: [] },
  "the wrapper of a library": {
    text: /\blazyLibrary</,
    places: [
      "core/native/libc.ts",
      "core/native/library.ts",
      "cuda/egl/library.ts",
      "cuda/library.ts",
      "guard/exception.ts",
      "opencv/library.ts",
      "python/library.ts",
      "vaapi/library.ts",
    ],
  },
  "the maker of an error about what does not fit": {
    text: /\b(function|const) unfit\b/,
    places: [
      "cuda/transfers/array.ts",
      "opencl/buffers/attached.ts",
      "opencl/programs/sources.ts",
      "opencv/operations/image.ts",
      "opencv/shape.ts",
    ],
  },
  "an edge from or to the host that is written by hand": {
    path: /^\w+\/edges\/(host_to_\w+|\w+_to_host)\.ts$/,
    places: [
      "cuda/edges/host_to_cuda.ts",
      "vaapi/edges/host_to_vaapi.ts",
      "vaapi/edges/vaapi_to_host.ts",
      "opencl/edges/host_to_opencl.ts",
      "opencl/edges/host_to_opencl_image.ts",
    ],
  },
  "a copy that was asked for: allocate, there, back": {
    path: OF_APIS,
    text: /\bfunction (staged|copyOf|mapCopy|copyOnDevice)\(|\.elsewhere\(/,
    places: [
      "cuda/edges/copy.ts",
      "egl/memory.ts",
      "vaapi/edges/host_to_vaapi.ts",
      "vaapi/edges/vaapi_to_host.ts",
      "opencl/edges/host_to_opencl_image.ts",
    ],
  },
  "the count of the maps that have a native object": {
    path: OF_APIS,
    text: /^ +#?(holders|lent|maps|users|uses) = 0;/m,
    places: ["egl/buffer.ts", "egl/picture.ts"],
  },
  "what was imported of a block, kept by a context": {
    path: OF_APIS,
    text: /\bnew Imports</,
    places: ["cuda/external/ports.ts", "vulkan/context.ts"],
  },
  "the native commands of a queue's verbs": {
    path: OF_APIS,
    text: /\bimplements Commands</,
    places: [
      "cuda/transfers/commands.ts",
      "egl/queue_commands.ts",
      "opencl/transfers/commands.ts",
      "vulkan/queue_commands.ts",
    ],
  },
  "a class of kernels or of programs": {
    path: OF_APIS,
    text: /\bclass \w+(Kernel|Program) extends NativeObject/,
    places: [],
  },
  "a table of formats": {
    path: OF_APIS,
    text:
      /\[\w in (ImageFormat|ChannelType|CudaArrayDType|VulkanFormatName)\]|Record<string, Omit<GlFormat|Record<DType, number>/,
    places: [
      "cuda/arrays/format.ts",
      "cuda/egl/frame.ts",
      "egl/formats.ts",
      "opencl/images/format.ts",
      "opencv/type.ts",
      "vaapi/formats.ts",
      "vulkan/images/formats.ts",
    ],
  },
  "our own objects, by their native handles": {
    path: OF_APIS,
    text: /\b(const|static readonly) #?(ours|lines|live) = new Map</,
    places: [],
  },
  "a line for work that was attached": {
    path: OF_APIS,
    text: /\bnew Line<(Foreign|Event|Sync)Lane>/,
    places: ["cuda/ipc/event.ts", "dmabuf/sync.ts", "opencl/queues/attached_event.ts"],
  },
  "the first grant of a block": {
    path: OF_APIS,
    text: /\bGrant\.root\(/,
    places: ["opencl/buffers/own_tensor.ts"],
  },
  "the base of a context": {
    path: /\/base(_context)?\.ts$/,
    places: [
      "cuda/base.ts",
      "egl/base.ts",
      "opencl/base_context.ts",
      "opencv/base.ts",
      "vaapi/base.ts",
      "vulkan/base.ts",
    ],
  },
};

/** All sources below src, by their paths there. */
async function sources(): Promise<ReadonlyMap<string, string>> {
  const folder = join(ROOT, "src");
  const found = new Map<string, string>();
  const folders = [folder];
  for (const at of folders) {
    for await (const entry of Deno.readDir(at)) {
      const path = join(at, entry.name);
      if (entry.isDirectory) folders.push(path);
      else if (path.endsWith(".ts")) found.set(relative(folder, path), await Deno.readTextFile(path));
    }
  }
  return found;
}

const SOURCES = await sources();

for (const [mechanism, { path, text, places }] of Object.entries(TWINS)) {
  Deno.test(`twins: ${mechanism} is in no more places than before: ${places.length}`, () => {
    const has = ([file, source]: readonly [string, string]) =>
      (path?.test(file) ?? true) && (text?.test(source) ?? true);
    const found = [...SOURCES].filter(has).map(([file]) => file).sort();
    const written = found.filter((file) => !places.includes(file));
    const folded = places.filter((file) => !found.includes(file));
    assertEquals(written, [], `${mechanism}: there was to be no new one; use what the others use, or fold them`);
    assertEquals(folded, [], `${mechanism}: these are gone, so take them off the list in twins_test.ts`);
  });
}
