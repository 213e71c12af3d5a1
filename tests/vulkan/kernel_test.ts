import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, host, LayoutError, MapperGraph, region } from "@samepage/interop";
import { VulkanContext, type VulkanKernel, type VulkanTensor } from "@samepage/interop/vulkan";
import { shader, test } from "./help.ts";

test("a shader says what its parameters are", (vulkan) => {
  using program = vulkan.program(shader("mix"));
  assertEquals(program.kernelNames, ["main"]);
  using kernel = program.kernel();
  assertEquals(kernel.parameters, [
    { type: "readonly float[]", name: "from" },
    { type: "vec4[]", name: "to" },
    { type: "vec3", name: "scale" },
    { type: "int", name: "shift" },
    { type: "uvec2", name: "size" },
  ]);
  assertEquals(kernel.groupSize, [8, 2, 1]);
});

test("a kernel gets its buffers by their bindings, and its push constants by their offsets", (vulkan) => {
  using program = vulkan.program(shader("mix"));
  using kernel = program.kernel("main");
  using from = vulkan.allocate({ shape: [6], dtype: "f32" });
  using to = vulkan.allocate({ shape: [6, 4], dtype: "f32" });
  vulkan.queue.write(from, Float32Array.of(1, 2, 3, 4, 5, 6));
  kernel.run({ groups: [1, 1] }, [from, to, [1, 10, 100], -3, [3, 2]]);
  const seen = new Float32Array(24);
  vulkan.queue.read(to, seen);
  assertEquals([...seen], [1, 2, 3, 4, 5, 6].flatMap((x) => [x, 10 * x, 100 * x, -3]));
});

test("a kernel runs over host memory, and over memory of another Vulkan, in place", (vulkan) => {
  using other = VulkanContext.open({ uuid: vulkan.id.uuid! });
  using graph = new MapperGraph([host, vulkan, other]);
  using program = vulkan.program(shader("mix"));
  using kernel = program.kernel();
  using from = host.allocate({ shape: [6], dtype: "f32" });
  using to = other.allocate({ shape: [6, 4], dtype: "f32" });
  from.view().set([1, 2, 3, 4, 5, 6]);
  {
    using source = graph.map(from, vulkan, { access: "read" });
    using target = graph.map(to, vulkan, { access: "write" });
    kernel.run({ groups: [1, 1] }, [source, target, [1, 1, 2], 0, [6, 1]]);
  }
  const seen = new Float32Array(24);
  other.queue.read(to, seen);
  assertEquals([...seen], [1, 2, 3, 4, 5, 6].flatMap((x) => [x, x, 2 * x, 0]));
});

test("kernel.run() begins where a slice does", (vulkan) => {
  using program = vulkan.program(shader("mix"));
  using kernel = program.kernel();
  const first = vulkan.device.limits.minStorageBufferOffsetAlignment / 4;
  using from = vulkan.allocate({ shape: [first + 6], dtype: "f32" });
  using to = vulkan.allocate({ shape: [first + 6, 4], dtype: "f32" });
  vulkan.queue.write(from, Float32Array.from({ length: first + 6 }, (_, i) => 100 + i));
  {
    using source = from.slice(region(from.layout, [first], [6])) as VulkanTensor;
    using target = to.slice(region(to.layout, [first, 0], [6, 4])) as VulkanTensor;
    kernel.run({ groups: [1, 1] }, [source, target, [1, 1, 1], 0, [6, 1]]);
  }
  const seen = new Float32Array(4 * (first + 6));
  vulkan.queue.read(to, seen);
  const expected = Array.from(
    { length: first + 6 },
    (_, i) => i < first ? [0, 0, 0, 0] : [100 + i, 100 + i, 100 + i, 0],
  );
  assertEquals([...seen], expected.flat());
});

test("a kernel reaches nothing outside of its tensor", (vulkan) => {
  using program = vulkan.program(shader("outside"));
  using kernel = program.kernel();
  const align = vulkan.device.limits.minStorageBufferOffsetAlignment;
  using whole = vulkan.allocate({ shape: [1024, align], dtype: "u8" });
  {
    using part = whole.slice({ shape: [4], dtype: "u32", byteOffset: align }) as VulkanTensor;
    for (const at of [4, 200, 1_000_000, 0x3fff_fff0]) kernel.run({ groups: [1] }, [part, at]);
  }
  const seen = new Uint8Array(1024 * align);
  vulkan.queue.read(whole, seen);
  const outside = seen.findIndex((byte, at) => byte !== 0 && (at < align || at >= align + 16));
  assertEquals(outside, -1, "a byte outside was written");
});

function wrong(
  kernel: VulkanKernel,
  args: readonly unknown[],
  error: typeof ArgumentError | typeof LayoutError | typeof AccessError,
  says: string,
) {
  assertThrows(() => kernel.run({ groups: [1] }, args as Parameters<VulkanKernel["run"]>[1]), error, says);
}

test("arguments are checked against the shader", (vulkan) => {
  using program = vulkan.program(shader("mix"));
  using kernel = program.kernel();
  using from = vulkan.allocate({ shape: [8], dtype: "f32" });
  using to = vulkan.allocate({ shape: [8, 4], dtype: "f32" });
  using bytes = vulkan.allocate({ shape: [32], dtype: "u8" });
  const rest = [[1, 1, 1], 0, [1, 1]];
  wrong(kernel, [from, to], ArgumentError, "expected 5 arguments");
  wrong(kernel, [bytes, to, ...rest], ArgumentError, "holds u8");
  wrong(kernel, [from.handle, to, ...rest], ArgumentError, "expected a tensor");
  wrong(kernel, [from, to, [1, 1], 0, [1, 1]], ArgumentError, "expected 3 elements");
  wrong(kernel, [from, to, [1, 1, 1], 2 ** 31, [1, 1]], ArgumentError, "whole number");
  {
    using part = from.slice({ shape: [4], dtype: "f32", byteOffset: 4 }) as VulkanTensor;
    wrong(kernel, [part, to, ...rest], LayoutError, "multiple of");
  }
  using graph = new MapperGraph([host, vulkan]);
  using mine = host.allocate({ shape: [8, 4], dtype: "f32" });
  using onlyRead = graph.map(mine, vulkan, { access: "read" });
  wrong(kernel, [from, onlyRead, ...rest], AccessError, "Declare it readonly, or map with");
  assertThrows(() => kernel.run({ groups: [0] }, [from, to, [1, 1, 1], 0, [1, 1]]), ArgumentError, "groups");
});

test("anything but a shader, or wants more than buffers, is refused", (vulkan) => {
  assertThrows(() => vulkan.program(new Uint8Array(64)), ArgumentError, "it is not SPIR-V");
  const spirv = shader("spin");
  assertThrows(() => vulkan.program(spirv.slice(0, spirv.length - 40)), ArgumentError, "cut off");
  using program = vulkan.program(spirv);
  assertThrows(() => program.kernel("other"), ArgumentError, 'no kernel "other"');
  using uniform = vulkan.program(shader("uniform"));
  assertThrows(() => uniform.kernel(), ArgumentError, "binding 1 is neither a storage buffer nor a storage image");
  assert(uniform.kernelNames.includes("main"));
});
