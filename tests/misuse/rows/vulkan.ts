import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  imageInfo,
  InteropError,
  LayoutError,
  MapperGraph,
  NoRouteError,
} from "@samepage/interop";
import {
  VulkanContext,
  vulkanDevices,
  type VulkanImage,
  type VulkanImageTarget,
  type VulkanKernel,
  type VulkanTensor,
} from "@samepage/interop/vulkan";
import { any, fails, same, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const WORDS = { shape: [64], dtype: "u32" } as const;
const RGBA = "R8G8B8A8_UNORM";
const PIXELS = { shape: [4, 8, 4] } as const;
const SHADERS = new URL("../../vulkan/shaders/", import.meta.url);

/** A row with a context of its own. */
function withVulkan(use: (vulkan: VulkanContext) => unknown, fails?: Failure): Row {
  return {
    async run() {
      using vulkan = VulkanContext.open();
      await use(vulkan);
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

/** A row with two images' targets and a kernel: `green(readonly rgba8 from, r8ui to, uint most)`. */
function withImages(args: (pixels: VulkanImage, bytes: VulkanImage) => readonly unknown[], fails: Failure): Row {
  const row = withVulkan((vulkan) => {
    using program = vulkan.program(Deno.readFileSync(new URL("green.spv", SHADERS)));
    using kernel = program.kernel();
    using pixels = vulkan.image(RGBA).allocate(PIXELS);
    using bytes = vulkan.image("R8_UINT").allocate({ shape: [4, 8] });
    kernel.run({ groups: [1, 1] }, args(pixels, bytes) as Parameters<VulkanKernel["run"]>[1]);
  }, fails);
  return { ...row, flags: ["--allow-ffi", "--allow-read"] };
}

/** A row with two `VkDevice`s of one device. */
function withTwo(
  use: (vulkan: VulkanContext, other: VulkanContext, graph: MapperGraph) => unknown,
  fails: Failure,
): Row {
  const row = withVulkan((vulkan) => {
    using other = VulkanContext.open({ uuid: vulkan.id.uuid! });
    using graph = new MapperGraph([host, vulkan, other]);
    use(vulkan, other, graph);
  }, fails);
  return { ...row, flags: ["--allow-ffi", "--allow-read"] };
}

/** A map that no route takes. */
const closed = (message: RegExp, hint: RegExp): Failure => (
  { error: NoRouteError, api: "core", argument: "target", message, hint, has: { refused: message } }
);

/** A row with a kernel: `mix(readonly float[] from, vec4[] to, vec3 scale, int shift, uvec2 size)`. */
function withKernel(args: (from: VulkanTensor, to: VulkanTensor) => readonly unknown[], fails: Failure): Row {
  const row = withVulkan((vulkan) => {
    using program = vulkan.program(Deno.readFileSync(new URL("mix.spv", SHADERS)));
    using kernel = program.kernel();
    using from = vulkan.allocate({ shape: [64], dtype: "f32" });
    using to = vulkan.allocate({ shape: [64, 4], dtype: "f32" });
    kernel.run({ groups: [1] }, args(from, to) as Parameters<VulkanKernel["run"]>[1]);
  }, fails);
  return { ...row, flags: ["--allow-ffi", "--allow-read"] };
}

const wrong = (argument: string, message: RegExp, hint?: RegExp): Failure => (
  { error: ArgumentError, api: "vulkan", argument, message, ...(hint === undefined ? {} : { hint }) }
);
const ofRun = (argument: string, message: RegExp, hint?: RegExp): Failure => (
  { ...wrong(argument, message, hint), fn: "vkCmdDispatch" }
);
const unfit = (argument: string, message: RegExp, hint?: RegExp): Failure => (
  { ...wrong(argument, message, hint), error: LayoutError }
);

const FN = "vkGetFenceFdKHR";

/** Handles that are not used. */
const HANDLES = { instance: 1n, physicalDevice: 1n, device: 1n, queue: 1n, queueFamily: 0 };

export default table(import.meta, {
  "a UUID that no device has": {
    run: () => VulkanContext.open({ uuid: "0".repeat(32) }),
    fails: {
      ...wrong("choice", /No Vulkan device fits {"uuid":"0{32}"}/, /There is .*UUID [0-9a-f]{32}/),
      fn: "vkEnumeratePhysicalDevices",
    },
  },
  "a device by a number": {
    run: () => VulkanContext.open({ device: any(0) }),
    fails: wrong("choice.device", /expected a string, got a number/),
  },
  "validation that is neither true nor false": {
    run: () => VulkanContext.open({ validation: any("yes") }),
    fails: wrong("choice.validation", /expected a boolean/),
  },
  "a choice that is misspelt": {
    run: () => VulkanContext.open(any({ UUID: "" })),
    fails: { error: ArgumentError, api: "core", argument: "choice", message: /unknown property UUID/, hint: /uuid/ },
  },
  "handles of another library that are null": {
    run: () => VulkanContext.attach({ ...HANDLES, device: 0n }),
    fails: wrong("handles.device", /expected a handle, got null/),
  },
  "handles of another library that are numbers": {
    run: () => VulkanContext.attach({ ...HANDLES, queue: any(1) }),
    fails: wrong("handles.queue", /expected a bigint, got a number/),
  },
  "extensions of another library's device as a text": {
    run: () => VulkanContext.attach({ ...HANDLES, extensions: any("VK_KHR_external_memory_fd") }),
    fails: wrong("handles.extensions", /expected an array of names/),
  },
  "memory of no place": withVulkan(
    (vulkan) => vulkan.allocate({ ...WORDS, memory: any("shared") }),
    wrong("memory", /expected one of "device", "host", got "shared"/),
  ),
  "memory without a dtype": withVulkan(
    (vulkan) => vulkan.allocate(any({ shape: [4] })),
    { error: LayoutError, api: "core", argument: "dtype", message: /expected a dtype/, hint: /Use one of/ },
  ),
  "a frame in memory of no place": withVulkan(
    (vulkan) => vulkan.allocateFrame(imageInfo({ format: "NV12", width: 4, height: 4 }), { memory: any("gpu") }),
    wrong("memory", /got "gpu"/),
  ),
  "memory of a context that has ended": {
    run() {
      const vulkan = VulkanContext.open();
      vulkan[Symbol.dispose]();
      vulkan.allocate(WORDS);
    },
    fails: { error: DisposedError, api: "core", message: /vulkan context .* was disposed/ },
  },
  "a queue of a context that has ended": {
    run() {
      const vulkan = VulkanContext.open();
      vulkan[Symbol.dispose]();
      vulkan.createQueue();
    },
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "a fence that is null": withVulkan(
    (vulkan) => vulkan.attachFence(0n),
    wrong("handle", /expected a handle, got null/),
  ),
  "an invalid sync file": withVulkan(
    (vulkan) => vulkan.importFence(any("3")),
    wrong("fd", /expected an fd, got "3"/),
  ),
  "a sync file by an fd that cannot be": withVulkan(
    (vulkan) => vulkan.importFence(-1),
    wrong("fd", /expected an fd, got -1/),
  ),
  "a semaphore by an fd, where the device imports none": withVulkan((vulkan) => {
    for (const kind of ["timeline", "sync-fd"] as const) {
      fails(kind, () => vulkan.importSemaphore(0, { kind }), ArgumentError);
    }
    vulkan.importSemaphore(0);
  }, wrong("kind", /imports no binary semaphores/, /The doctor/)),
  "a signal of no semaphore": withVulkan((vulkan) => {
    fails("wait", () => vulkan.queue.waitSemaphores([any(vulkan)]), ArgumentError);
    vulkan.queue.signalSemaphores([]);
  }, wrong("semaphores", /a list of semaphores/)),
  "memory by anything but an fd": withVulkan(
    (vulkan) => vulkan.importMemory(-1, { shape: [4], dtype: "u8", size: 4 }),
    wrong("fd", /expected an fd, got -1/),
  ),
  "memory by an fd, of another device": withVulkan((vulkan) => {
    const init = { shape: [4], dtype: "u8" } as const;
    for (const size of [0, -1, 1.5, "4"]) {
      fails("size", () => vulkan.importMemory(0, { ...init, size: any(size) }), ArgumentError);
    }
    fails("past its end", () => vulkan.importMemory(0, { ...init, size: 3 }), LayoutError);
    vulkan.importMemory(0, { ...init, size: 4, uuid: "ff" });
  }, wrong("uuid", /the memory is of device ff/)),
  "an image by an fd, of another format": withVulkan((vulkan) => {
    vulkan.image("R8G8B8A8_UNORM").importMemory(0, { shape: [4, 4], size: 64 });
  }, { error: LayoutError, api: "vulkan", argument: "shape", message: /pixels of 4, got \[4, 4\]/ }),
  "a fence behind what is none": withVulkan(
    (vulkan) => vulkan.queue.createFence({ after: any(Promise.resolve()) }),
    wrong("after", /expected a fence/, /host\.signal/),
  ),
  "a fence of its own that has ended": withVulkan((vulkan) => {
    const fence = vulkan.queue.createFence();
    fence[Symbol.dispose]();
    say(fence.handle);
  }, { error: DisposedError, api: "core", message: /VkFence was disposed/ }),
  "a fence as a sync file, where the device has none": withVulkan((vulkan) => {
    using fence = vulkan.queue.createFence();
    if (vulkan.openDevice.abilities.fenceSyncFd.exports) {
      throw new InteropError("it has them", { api: "vulkan", fn: FN, hint: "Wait for the file." });
    }
    fence.exportSyncFile();
  }, { error: InteropError, api: "vulkan", fn: FN, message: /./, hint: /^Wait for the/ }),
  "a fill with a value of another dtype": withVulkan((vulkan) => {
    using tensor = vulkan.allocate(WORDS);
    vulkan.queue.fill(tensor, -1);
  }, wrong("value", /expected a whole number from 0/)),
  "a fill of bytes that no words cover": withVulkan((vulkan) => {
    using tensor = vulkan.allocate({ shape: [3], dtype: "u8" });
    vulkan.queue.fill(tensor, 1);
  }, { ...unfit("to", /the 3 bytes at byte 0 of vulkan .* are not a whole word/, /Write it/), fn: "vkCmdFillBuffer" }),
  "a copy to another shape": withVulkan((vulkan) => {
    using one = vulkan.allocate(WORDS);
    using two = vulkan.allocate({ shape: [32], dtype: "u32" });
    vulkan.queue.copy(one, two);
  }, { ...unfit("to", /expected the elements of \[64\] u32/), fn: "vkCmdCopyBuffer" }),
  "a copy onto itself": withVulkan((vulkan) => {
    using tensor = vulkan.allocate(WORDS);
    vulkan.queue.copy(tensor, tensor);
  }, { ...unfit("to", /overlap/), fn: "vkCmdCopyBuffer" }),
  "a read into too little": withVulkan((vulkan) => {
    using tensor = vulkan.allocate(WORDS);
    vulkan.queue.read(tensor, new Uint32Array(63));
  }, unfit("into", /expected the 256 bytes/)),
  "a write of floats to whole numbers": withVulkan((vulkan) => {
    using tensor = vulkan.allocate(WORDS);
    vulkan.queue.write(tensor, new Float32Array(64));
  }, unfit("from", /expected u32, which vulkan tensor \[64\] u32 holds, got a Float32Array/, /Pass a Uint32Array/)),
  "a read of an image's bytes as floats": withVulkan((vulkan) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    vulkan.queue.read(image, new Uint8ClampedArray(128));
    vulkan.queue.read(image, new Float32Array(32));
  }, unfit("into", /expected u8, which .* holds, got a Float32Array/, /Pass a Uint8Array, or/)),
  "a write of something else": withVulkan((vulkan) => {
    using tensor = vulkan.allocate(WORDS);
    vulkan.queue.write(tensor, any([1, 2, 3]));
  }, wrong("from", /expected a typed array/)),
  "a tensor of the host's": withVulkan(
    (vulkan) => {
      using tensor = host.allocate(WORDS);
      vulkan.queue.fill(any(tensor), 1);
    },
    wrong(
      "to",
      /expected a VulkanTensor or a VulkanImage, got a HostTensor/,
      /^Map it first: graph.map\(tensor, vulkan\).$/,
    ),
  ),
  "a copy of a tensor of the host's": withVulkan((vulkan) => {
    using source = host.allocate(WORDS);
    using tensor = vulkan.allocate(WORDS);
    vulkan.queue.copy(any(source), tensor);
  }, wrong("from", /got a HostTensor/, /^Map it first: graph.map\(tensor, vulkan\), or queue.write\(\) its view.$/)),
  "a fill of a frame": withVulkan((vulkan) => {
    using frame = vulkan.allocateFrame(imageInfo({ format: "NV12", width: 8, height: 8 }));
    vulkan.queue.fill(any(frame), 1);
  }, wrong("to", /expected a VulkanTensor or a VulkanImage, got a Frame/, /frame.planes\[i\]/)),
  "a place for an image's pixels": {
    ...withVulkan((vulkan) => {
      using image = vulkan.image(RGBA).allocate(PIXELS);
      const bytes = new Uint8Array(128);
      vulkan.queue.write(image, bytes.fill(7), { at: "dense" });
      vulkan.queue.read(image, bytes.fill(0), { at: "dense" });
      say(bytes.every((byte) => byte === 7));
      vulkan.queue.read(image, bytes, { at: { ...PIXELS, dtype: "u8", rowAlign: 64 } });
    }, unfit("at", /an image is read without gaps; read it into a dense array, or copy it to a tensor first/)),
    says: ["true"],
  },
  "a tensor of another context": withVulkan((vulkan) => {
    using other = VulkanContext.open();
    using tensor = other.allocate(WORDS);
    vulkan.queue.fill(tensor, 1);
  }, wrong("to", /belongs to another context/, /graph.map/)),
  "a tensor that was disposed": withVulkan((vulkan) => {
    const tensor = vulkan.allocate(WORDS);
    tensor[Symbol.dispose]();
    vulkan.queue.fill(tensor, 1);
  }, { error: DisposedError, api: "core", argument: "to", message: /was disposed/ }),
  "a fill of what was mapped for reading": withVulkan((vulkan) => {
    using graph = new MapperGraph([host, vulkan]);
    using tensor = host.allocate(WORDS);
    using mapped = graph.map(tensor, vulkan, { access: "read" });
    vulkan.queue.fill(mapped, 1);
  }, { error: AccessError, api: "core", argument: "access", message: /was lent for "read"/, hint: /read-write/ }),
  "work to wait for that is a promise": withVulkan((vulkan) => {
    using tensor = vulkan.allocate(WORDS);
    vulkan.queue.fill(tensor, 1, { after: any(Promise.resolve()) });
  }, wrong("after", /expected a fence/, /host\.signal/)),
  "memory that came from the host, to another Vulkan": withVulkan((vulkan) => {
    using other = VulkanContext.open();
    using graph = new MapperGraph([vulkan, other]);
    using all = new MapperGraph([host, vulkan]);
    using tensor = host.allocate(WORDS);
    using mapped = all.map(tensor, vulkan);
    graph.map(mapped, other);
  }, {
    error: NoRouteError,
    ...{ api: "core", argument: "target" },
    message: /came from another API/,
    hint: /Map the tensor that it came from/,
    has: { refused: /Map the tensor/ },
  }),
  "a program that is a text": withVulkan(
    (vulkan) => vulkan.program(any("void main() {}")),
    wrong("spirv", /expected a Uint8Array or Uint32Array/),
  ),
  "a program that is not SPIR-V": withVulkan(
    (vulkan) => vulkan.program(new Uint8Array(40)),
    wrong("spirv", /not SPIR-V/, /glslangValidator/),
  ),
  "a program that is cut off": withVulkan(
    (vulkan) => vulkan.program(new Uint32Array([0x07230203, 0x10000, 0, 10, 0, 0x50001])),
    wrong("spirv", /cut off/),
  ),
  "a kernel that there is not": {
    ...withVulkan((vulkan) => {
      using program = vulkan.program(Deno.readFileSync(new URL("mix.spv", SHADERS)));
      program.kernel("other");
    }, wrong("name", /there is no kernel "other"\./, /^It has main\.$/)),
    flags: ["--allow-ffi", "--allow-read"],
  },
  "a part of a group": {
    ...withVulkan((vulkan) => {
      using program = vulkan.program(Deno.readFileSync(new URL("mix.spv", SHADERS)));
      using kernel = program.kernel();
      say(kernel.groupSize!.join());
      kernel.run({ groups: [2.5] }, [1, 2, 3, 4, 5]);
    }, ofRun("groups[0]", /expected a whole number from 1 to \d+, got 2\.5/, /Math\.ceil\(n \/ 8\)/)),
    flags: ["--allow-ffi", "--allow-read"],
    says: ["8,2,1"],
  },
  "too few arguments": withKernel(
    (from, to) => [from, to],
    ofRun("args", /main: args: expected 5 arguments/),
  ),
  "a tensor of another dtype": withKernel(
    (_, to) => [any<VulkanTensor>(to.slice({ shape: [64], dtype: "u32" })), to, [1, 1, 1], 0, [1, 1]],
    ofRun("from", /points to f32; .* holds u32/, /Slice the tensor.*declare its elements/),
  ),
  "a number for a buffer": withKernel(
    (from) => [from, 5, [1, 1, 1], 0, [1, 1]],
    ofRun("to", /expected a tensor in memory of the device, got a number/, /graph.map/),
  ),
  "a vector of another length": withKernel(
    (from, to) => [from, to, [1, 1], 0, [1, 1]],
    ofRun("scale", /expected 3 elements, got 2/),
  ),
  "an image of no format": withVulkan(
    (vulkan) => vulkan.image(any("RGBA8")),
    wrong("format", /expected one of "R8_UNORM".*got "RGBA8"/),
  ),
  "an image without its channels": withVulkan(
    (vulkan) => vulkan.image(RGBA).allocate({ shape: [4, 8] }),
    unfit("shape", /expected \[height, width, 4\] or \[layers, .* for pixels of rgba unorm8, got \[4, 8\]/),
  ),
  "an image of more layers than the device takes": withVulkan(
    (vulkan) => vulkan.image("R8_UNORM").allocate({ shape: [2 ** 20, 1, 2] }),
    unfit("shape", /1048576 layers are more than the \d+ of/),
  ),
  "layers in rows": withVulkan(
    (vulkan) => vulkan.image(RGBA).allocate({ shape: [2, 4, 8, 4], tiling: "linear" }),
    wrong("tiling", /layers lie in the driver's own order/, /an image of each layer/),
  ),
  "layers for a dma-buf": withVulkan(
    (vulkan) => vulkan.image(RGBA).allocate({ shape: [2, 4, 8, 4], exportAs: "dma-buf" }),
    wrong("exportAs", /layers lie in the driver's own order/, /an image of each layer/),
  ),
  "layers for a shader that takes one picture": withImages(
    (pixels, bytes) => [(pixels.target as VulkanImageTarget).allocate({ shape: [2, 4, 8, 4] }), bytes, 1],
    ofRun("from", /expected one picture, and .* has 2 layers/),
  ),
  "an image of more pixels than the device takes": withVulkan(
    (vulkan) => vulkan.image("R8_UNORM").allocate({ shape: [1, 2 ** 20] }),
    unfit("shape", /1048576 × 1 pixels are more than the \d+ × \d+ of/),
  ),
  "an image of no tiling": withVulkan(
    (vulkan) => vulkan.image(RGBA).allocate({ ...PIXELS, tiling: any("tiled") }),
    wrong("tiling", /expected one of "optimal", "linear", got "tiled"/),
  ),
  "an image of no modifiers": withVulkan(
    (vulkan) => vulkan.image(RGBA).allocate({ ...PIXELS, tiling: { modifiers: [] } }),
    wrong("tiling.modifiers", /expected a list of DRM format modifiers, got one of none/),
  ),
  "a modifier that is a number": withVulkan(
    (vulkan) => vulkan.image(RGBA).allocate({ ...PIXELS, tiling: { modifiers: any([0]) } }),
    wrong("tiling.modifiers[0]", /expected a bigint of 64 bits, got a number/),
  ),
  "a modifier that the device has not": withVulkan(
    (vulkan) => vulkan.image(RGBA).allocate({ ...PIXELS, tiling: { modifiers: [0xffn << 56n] } }),
    wrong("tiling", /no images of R8G8B8A8_UNORM, by the modifier 0xff0{14}/, /Its DRM format modifiers for them/),
  ),
  "an image in the driver's own order as a dma-buf": withVulkan(
    (vulkan) => vulkan.image(RGBA).allocate({ ...PIXELS, exportAs: "dma-buf" }),
    wrong("exportAs", /only the device knows its own order/, /linear/),
  ),
  "an image by an fd of no kind": withVulkan(
    (vulkan) => vulkan.image(RGBA).allocate({ ...PIXELS, exportAs: any("memfd") }),
    wrong("exportAs", /expected one of "opaque-fd", "dma-buf", got "memfd"/),
  ),
  "an option of images that is misspelt": withVulkan(
    (vulkan) => vulkan.image(RGBA).allocate(any({ ...PIXELS, order: "linear" })),
    { error: ArgumentError, api: "core", argument: "init", message: /unknown property order/, hint: /tiling/ },
  ),
  "a buffer attached by anything but a handle": withVulkan((vulkan) => {
    let ended = 0;
    const handles = [0n, -1n, 2n ** 64n, 4096, NaN, "4096", null, undefined, {}];
    for (const handle of handles) {
      const attach = () => vulkan.attach(any(handle), WORDS, { owner: () => void ended++ });
      fails(String(handle), attach, ArgumentError);
    }
    same("owners", ended, handles.length);
    using made = vulkan.allocate(WORDS);
    for (const options of [null, 1, { owner: 1 }, { access: "all" }, { after: 1 }, { acces: "read" }]) {
      fails(JSON.stringify(options), () => vulkan.attach(made.handle.buffer, WORDS, any(options)), ArgumentError);
    }
    vulkan.attach(any(made.handle), WORDS); // the object is not a handle
  }, wrong("handle", /expected a bigint/)),
  "a buffer attached with a layout that is longer": withVulkan((vulkan) => {
    using made = vulkan.allocate(WORDS);
    const { buffer } = made.handle;
    for (const init of [{ ...WORDS, byteOffset: 2 ** 40 }, { ...WORDS, shape: [-1] }, { ...WORDS, byteOffset: 2 }]) {
      fails(JSON.stringify(init), () => vulkan.attach(buffer, init), LayoutError);
    }
    vulkan.attach(buffer, { shape: [1 << 20], dtype: "u8" });
  }, { ...unfit("init", /reaches to byte 1048576; the memory has/), fn: "vkGetBufferMemoryRequirements2" }),
  "a buffer attached twice, and used when its maker and the context are gone": {
    run() {
      const vulkan = VulkanContext.open();
      const made = vulkan.allocate(WORDS);
      const { buffer } = made.handle;
      let ended = 0;
      const [one, two] = [1, 2].map(() => vulkan.attach(buffer, WORDS, { owner: () => void ended++ }));
      made[Symbol.dispose]();
      one[Symbol.dispose]();
      same("owners while a peer is left", ended, 0);
      vulkan.queue.fill(two, 1); // the memory is its too
      fails("one", () => one.handle, DisposedError);
      vulkan[Symbol.dispose]();
      same("owners", ended, 2);
      fails("two", () => two.handle, DisposedError);
      vulkan.attach(buffer, WORDS);
    },
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "a tensor attached in another VkDevice": withTwo((vulkan, other) => {
    using made = vulkan.allocate(WORDS);
    using tensor = vulkan.attach(made.handle.buffer, WORDS);
    other.queue.fill(tensor, 1);
  }, wrong("to", /belongs to another context/, /Map it here first/)),
  "another library's image that is null": withVulkan(
    (vulkan) => vulkan.image(RGBA).attach(0n, PIXELS),
    wrong("image", /expected a handle, got null/),
  ),
  "another library's image in no layout": withVulkan(
    (vulkan) => vulkan.image(RGBA).attach(1n, { ...PIXELS, layout: any("general") }),
    wrong("form.layout", /expected a VkImageLayout, got general/),
  ),
  "another library's image in a layout that no word holds": withVulkan(
    (vulkan) => vulkan.image(RGBA).attach(1n, { ...PIXELS, layout: 2 ** 40 }),
    wrong("form.layout", /expected a VkImageLayout, got 1099511627776/),
  ),
  "a known image as one of another size": withVulkan((vulkan) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    vulkan.image(RGBA).attach(image.handle.image, { shape: [8, 4, 4] });
  }, wrong("image", /is known here as 8 × 4 pixels of R8G8B8A8_UNORM/)),
  "a part of an image": withVulkan((vulkan) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    image.slice({ shape: [2, 8, 4], dtype: "u8" });
  }, unfit("init", /is an image, which has no parts/, /origin/)),
  "a fill of an image": withVulkan((vulkan) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    vulkan.queue.fill(image, 0);
  }, wrong("value", /expected four finite numbers, got a number/, /red, green, blue, alpha/)),
  "a fill of an image with three channels": withVulkan((vulkan) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    vulkan.queue.fill(image, [1, 0, 0]);
  }, wrong("value", /expected four finite numbers, got 3\./, /red, green, blue, alpha/)),
  "a fill of an image with what no channel holds": withVulkan((vulkan) => {
    using image = vulkan.image("R8_UINT").allocate({ shape: [4, 8] });
    vulkan.queue.fill(image, [1, 0, -1, 0]);
  }, wrong("value", /expected four whole numbers from 0 to 4294967295, got -1\./, /red, green, blue, alpha/)),
  "a copy of an image to an image": withVulkan((vulkan) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    using to = vulkan.image(RGBA).allocate(PIXELS);
    vulkan.queue.copy(image, to);
  }, wrong("to", /both are images, which are copied to and from tensors/, /Copy it to a tensor first/)),
  "a read of an image into too much": withVulkan((vulkan) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    vulkan.queue.read(image, new Uint8Array(129));
  }, unfit("into", /expected the 128 bytes/)),
  "an image of another format in a kernel": withImages(
    (_, bytes) => [bytes, bytes, 1],
    ofRun("from", /expected pixels of rgba unorm8, and those of .* are r uint8 \(R8_UINT\)/),
  ),
  "a buffer for an image": withImages(
    (pixels) => [pixels, new Uint8Array(32), 1],
    ofRun("to", /expected an image of the device, got a Uint8Array/, /vulkan\.image\(format\)/),
  ),
  "an image for a buffer": withKernel(
    (from) => [from, (from.target as VulkanContext).image(RGBA).allocate(PIXELS), [1, 1, 1], 0, [1, 1]],
    ofRun("to", /expected a tensor in memory of the device, got a VulkanImage/, /graph.map/),
  ),
  "an image of another context in a kernel": withTwo((vulkan, other) => {
    using program = vulkan.program(Deno.readFileSync(new URL("green.spv", SHADERS)));
    using kernel = program.kernel();
    using pixels = vulkan.image(RGBA).allocate(PIXELS);
    using bytes = other.image("R8_UINT").allocate({ shape: [4, 8] });
    kernel.run({ groups: [1, 1] }, [pixels, bytes, 1]);
  }, ofRun("to", /belongs to another context/, /vulkan\.image\(format\)/)),
  "an image that is only read, to a kernel that writes": withImages(
    (pixels, bytes) => [pixels, bytes.borrow("read"), 1],
    {
      error: AccessError,
      api: "vulkan",
      fn: "vkCmdDispatch",
      argument: "to",
      message: /may be written/,
      hint: /Declare it readonly/,
    },
  ),
  "an image to one of another format": withTwo((vulkan, other, graph) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    graph.map(image, other.image("R8G8B8A8_UINT"));
  }, closed(/its pixels are R8G8B8A8_UNORM, and these images have R8G8B8A8_UINT/, /vulkan.image\("R8G8B8A8_UNORM"\)/)),
  "an image that came from another Vulkan, to a third": withTwo((vulkan, other, graph) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    using mapped = graph.map(image, other.image(RGBA));
    using third = VulkanContext.open({ uuid: vulkan.id.uuid! });
    using all = new MapperGraph([vulkan, other, third]);
    all.map(mapped, third.image(RGBA));
  }, closed(/the image came from another API/, /Map the image that it came from/)),
  "another library's image to another Vulkan": withTwo((vulkan, other, graph) => {
    using attached = vulkan.image("R8_UINT").attach(1n, { shape: [2, 2] });
    graph.map(attached, other.image("R8_UINT"));
  }, closed(/another library's, and only that one/, /allocate it here/)),
  "memory of one Vulkan that another shows, to a third": withTwo((vulkan, other) => {
    using third = VulkanContext.open({ uuid: vulkan.id.uuid! });
    using graph = new MapperGraph([vulkan, other, third]);
    using tensor = vulkan.allocate(WORDS);
    using mapped = graph.map(tensor, other);
    graph.map(mapped, third);
  }, closed(/came from another API/, /Map the tensor that it came from/)),
  "memory that is used here while another Vulkan writes it": withTwo((vulkan, other, graph) => {
    using tensor = vulkan.allocate(WORDS);
    using _ = graph.map(tensor, other);
    vulkan.queue.fill(tensor, 1);
  }, {
    error: AccessError,
    api: "core",
    argument: "to",
    message: /lent to its .* map for "read-write"/,
    hint: /Dispose/,
  }),
  "an image that is used here while another Vulkan writes it": withTwo((vulkan, other, graph) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    using _ = graph.map(image, other.image(RGBA));
    vulkan.queue.write(image, new Uint8Array(128));
  }, {
    error: AccessError,
    api: "core",
    argument: "to",
    message: /lent to its .* map for "read-write"/,
    hint: /Dispose/,
  }),
  "what has images, used as it is meant": withVulkan((vulkan) => {
    const target = vulkan.image(RGBA);
    using image = target.allocate({ ...PIXELS, tiling: "linear" });
    const { width, height, modifier, format } = image;
    if (!target.is(image) || width !== 8 || height !== 4 || modifier !== 0n || format.vulkan !== RGBA) throw image.name;
    if (image.layers !== undefined) throw image.name;
    if (!Array.isArray(target.modifiers) || target.abilities.of("optimal", 0) === undefined) throw "no images";
  }),
  "what it has, used as it is meant": {
    ...withVulkan(async (vulkan) => {
      say(vulkanDevices().some(({ id }) => id.uuid === vulkan.id.uuid), vulkan.handle > 0n, vulkan.absent.size >= 0);
      using tensor = vulkan.allocate(WORDS);
      using other = vulkan.createQueue();
      using program = vulkan.program(Deno.readFileSync(new URL("spin.spv", SHADERS)));
      using kernel = program.kernel();
      kernel.run({ groups: [1] }, [tensor, 1], { queue: other, after: vulkan.queue.fence() });
      await vulkan.queue.waitFor(other.fence()).wait();
      vulkan.queue.finish();
      say(vulkan.is(tensor), other.handle > 0n, program.handle > 0n, kernel.handle > 0n, vulkan.bytesCopied);
      say(other.context === vulkan, tensor.finished() instanceof Promise);
    }),
    flags: ["--allow-ffi", "--allow-read"],
    says: ["true true true", "true true true true 0", "true true"],
  },
});
