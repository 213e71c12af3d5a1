import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  imageInfo,
  LayoutError,
  MapperGraph,
  NoRouteError,
} from "@samepage/interop";
import { VulkanContext, vulkanDevices, type VulkanKernel, type VulkanTensor } from "@samepage/interop/vulkan";
import { any, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const WORDS = { shape: [64], dtype: "u32" } as const;
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

/** A row with a kernel: `mix(readonly float[] from, vec4[] to, vec3 scale, int shift, uvec2 size)`. */
function withKernel(args: (from: VulkanTensor, to: VulkanTensor) => readonly unknown[], fails: Failure): Row {
  const row = withVulkan((vulkan) => {
    using program = vulkan.program(Deno.readFileSync(new URL("mix.spv", SHADERS)));
    using kernel = program.kernel();
    using from = vulkan.allocate({ shape: [64], dtype: "f32" });
    using to = vulkan.allocate({ shape: [64, 4], dtype: "f32" });
    kernel.run([1], args(from, to) as Parameters<VulkanKernel["run"]>[1]);
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

/** Handles that nobody looks at. */
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
  "a fill with a value of another dtype": withVulkan((vulkan) => {
    using tensor = vulkan.allocate(WORDS);
    vulkan.queue.fill(tensor, -1);
  }, wrong("value", /expected a whole number from 0/)),
  "a fill of bytes that no words cover": withVulkan((vulkan) => {
    using tensor = vulkan.allocate({ shape: [5], dtype: "u8" });
    vulkan.queue.fill(tensor, 1);
  }, unfit("tensor", /expected multiples of 4/, /Write it/)),
  "a copy to another shape": withVulkan((vulkan) => {
    using one = vulkan.allocate(WORDS);
    using two = vulkan.allocate({ shape: [32], dtype: "u32" });
    vulkan.queue.copy(one, two);
  }, { ...unfit("to", /expected the elements of \[64\] u32/), fn: "vkCmdCopyBuffer" }),
  "a copy onto itself": withVulkan((vulkan) => {
    using tensor = vulkan.allocate(WORDS);
    vulkan.queue.copy(tensor, tensor);
  }, unfit("to", /overlap/)),
  "a read into too little": withVulkan((vulkan) => {
    using tensor = vulkan.allocate(WORDS);
    vulkan.queue.read(tensor, new Uint32Array(63));
  }, unfit("into", /expected the 256 bytes/)),
  "a write of something else": withVulkan((vulkan) => {
    using tensor = vulkan.allocate(WORDS);
    vulkan.queue.write(tensor, any([1, 2, 3]));
  }, wrong("from", /expected a typed array/)),
  "a tensor of the host's": withVulkan((vulkan) => {
    using tensor = host.allocate(WORDS);
    vulkan.queue.fill(any(tensor), 1);
  }, wrong("tensor", /expected a VulkanTensor, got a HostTensor/)),
  "a tensor of another context": withVulkan((vulkan) => {
    using other = VulkanContext.open();
    using tensor = other.allocate(WORDS);
    vulkan.queue.fill(tensor, 1);
  }, wrong("tensor", /belongs to another context/, /graph.map/)),
  "a tensor that was disposed": withVulkan((vulkan) => {
    const tensor = vulkan.allocate(WORDS);
    tensor[Symbol.dispose]();
    vulkan.queue.fill(tensor, 1);
  }, { error: DisposedError, api: "core", argument: "tensor", message: /was disposed/ }),
  "a fill of what was mapped for reading": withVulkan((vulkan) => {
    using graph = new MapperGraph([host, vulkan]);
    using tensor = host.allocate(WORDS);
    using mapped = graph.map(tensor, vulkan, { access: "read" });
    vulkan.queue.fill(mapped, 1);
  }, { error: AccessError, api: "core", argument: "access", message: /was lent for "read"/, hint: /read-write/ }),
  "work to wait for that is a promise": withVulkan((vulkan) => {
    using tensor = vulkan.allocate(WORDS);
    vulkan.queue.fill(tensor, 1, { after: any(Promise.resolve()) });
  }, wrong("after", /expected a fence/)),
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
  "a program that is no SPIR-V": withVulkan(
    (vulkan) => vulkan.program(new Uint8Array(40)),
    wrong("spirv", /no SPIR-V/, /glslangValidator/),
  ),
  "a program that is cut off": withVulkan(
    (vulkan) => vulkan.program(new Uint32Array([0x07230203, 0x10000, 0, 10, 0, 0x50001])),
    wrong("spirv", /cut off/),
  ),
  "a kernel that there is not": {
    ...withVulkan((vulkan) => {
      using program = vulkan.program(Deno.readFileSync(new URL("mix.spv", SHADERS)));
      program.kernel("other");
    }, wrong("name", /there is no "other"/, /There is main/)),
    flags: ["--allow-ffi", "--allow-read"],
  },
  "too few arguments": withKernel(
    (from, to) => [from, to],
    ofRun("args", /main: args: expected 5 arguments/),
  ),
  "a tensor of another dtype": withKernel(
    (_, to) => [any<VulkanTensor>(to.slice({ shape: [64], dtype: "u32" })), to, [1, 1, 1], 0, [1, 1]],
    ofRun("from", /points to f32; .* holds u32/, /Slice the tensor/),
  ),
  "a number for a buffer": withKernel(
    (from) => [from, 5, [1, 1, 1], 0, [1, 1]],
    ofRun("to", /expected a tensor in memory of the device, got number/, /graph.map/),
  ),
  "a vector of another length": withKernel(
    (from, to) => [from, to, [1, 1], 0, [1, 1]],
    ofRun("scale", /expected 3 elements, got 2/),
  ),
  "what it has, used as it is meant": {
    ...withVulkan(async (vulkan) => {
      say(vulkanDevices().some(({ id }) => id.uuid === vulkan.id.uuid), vulkan.handle > 0n, vulkan.absent.size >= 0);
      using tensor = vulkan.allocate(WORDS);
      using other = vulkan.createQueue();
      using program = vulkan.program(Deno.readFileSync(new URL("spin.spv", SHADERS)));
      using kernel = program.kernel();
      kernel.run([1], [tensor, 1], { queue: other, after: vulkan.queue.fence() });
      await vulkan.queue.waitFor(other.fence()).wait();
      vulkan.queue.finish();
      say(vulkan.is(tensor), other.handle > 0n, program.handle > 0n, kernel.handle > 0n, vulkan.bytesCopied);
      say(other.context === vulkan, tensor.finished() instanceof Promise);
    }),
    flags: ["--allow-ffi", "--allow-read"],
    says: ["true true true", "true true true true 0", "true true"],
  },
});
