/** Every native call of Vulkan's fails once: what comes of it is typed, and nothing stays behind. */
import { assert, assertEquals } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import { connect, listen } from "../../src/channel/mod.ts";
import { temporaryPath } from "../channel/help.ts";
import { VulkanContext, vulkanDevices, type VulkanTensor } from "../../src/vulkan/mod.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { missing, shader } from "../vulkan/help.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();
const reason = missing();

/** What each operation finds there, and leaves as it was. */
interface There {
  readonly vulkan: VulkanContext;
  readonly other: VulkanContext;
  readonly graph: MapperGraph;
}

function test(name: string, operation: (there: There) => unknown): void {
  Deno.test({
    name: `faults: vulkan: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`,
    ignore: reason !== undefined,
    async fn() {
      using vulkan = VulkanContext.open();
      using other = VulkanContext.open({ uuid: vulkan.id.uuid! });
      using graph = new MapperGraph([host, vulkan, other]);
      using tensor = vulkan.allocate({ shape: [64], dtype: "u32" });
      const seen = new Uint32Array(64);
      for (const context of [vulkan, other]) {
        using scratch = context.allocate({ shape: [4], dtype: "u8" });
        context.queue.write(scratch, new Uint8Array(4)); // what bytes go through is made on the first transfer
      }
      const there = { vulkan, other, graph };
      await operation(there);
      const fds = openFds();
      const faults = await sweep(() => operation(there), () => {
        vulkan.queue.fill(tensor, 7);
        vulkan.queue.read(tensor, seen);
        assertEquals(new Set(seen), new Set([7]));
        assertOpenFds(fds);
      });
      assert(faults.length > 0, "it makes no native call");
    },
  });
}

test("listing the devices", () => vulkanDevices());

test("memory that is sent by an opaque fd, and received", async ({ vulkan, other }) => {
  await using at = await temporaryPath();
  using tensor = vulkan.allocate({ shape: [64], dtype: "u32", exportAs: "opaque-fd" });
  vulkan.queue.fill(tensor, 3); // it is Vulkan's, and has to be handed over
  using server = listen(at.path, { contexts: [other] });
  using client = connect(at.path);
  using peer = await server.accept();
  await client.send(tensor, { access: "read-write" });
  using received = await peer.receive<VulkanTensor>();
  const seen = new Uint32Array(64);
  other.queue.read(received!, seen);
  assertEquals(seen[63], 3);
});

test("opening a device", () => {
  using vulkan = VulkanContext.open();
  using queue = vulkan.createQueue();
  queue.finish();
});

test("attaching to another library's", ({ vulkan }) => {
  const { queues: [queue], ...handles } = vulkan.openDevice.handles;
  using attached = VulkanContext.attach({ ...handles, queue });
  attached.queue.finish();
});

test("a tensor, filled, copied, written and read", ({ vulkan }) => {
  using one = vulkan.allocate({ shape: [64], dtype: "u32" });
  using two = vulkan.allocate({ shape: [64], dtype: "u32", memory: "host" });
  vulkan.queue.fill(one, 1);
  vulkan.queue.copy(one, two);
  const seen = new Uint32Array(64);
  vulkan.queue.read(two, seen);
  assertEquals(seen[63], 1);
  vulkan.queue.write(one, seen);
});

test("the first transfer of a context", () => {
  using vulkan = VulkanContext.open();
  using tensor = vulkan.allocate({ shape: [16], dtype: "u32" });
  vulkan.queue.write(tensor, new Uint32Array(16));
});

test("a tensor that the CPU sees", ({ vulkan, graph }) => {
  using tensor = vulkan.allocate({ shape: [64], dtype: "u32", memory: "host" });
  using mapped = graph.map(tensor, host);
  mapped.view({ dtype: "u32" }).fill(3);
});

test("host memory that a queue fills", ({ vulkan, graph }) => {
  using tensor = host.allocate({ shape: [64], dtype: "u32" });
  using mapped = graph.map(tensor, vulkan);
  vulkan.queue.fill(mapped, 3);
});

test("memory that crosses to another Vulkan, and comes back", ({ vulkan, other, graph }) => {
  using tensor = vulkan.allocate({ shape: [64], dtype: "u32" });
  {
    using mapped = graph.map(tensor, other);
    other.queue.fill(mapped as VulkanTensor, 3);
  }
  vulkan.queue.fill(tensor, 4);
});

test("a kernel", ({ vulkan }) => {
  using program = vulkan.program(shader("spin"));
  using kernel = program.kernel();
  using sum = vulkan.allocate({ shape: [4], dtype: "u32" });
  kernel.run({ groups: [1] }, [sum, 100]);
});

const PIXELS = { shape: [4, 8, 4] } as const;

test("an image, made, written, read and used by a kernel", ({ vulkan }) => {
  using program = vulkan.program(shader("invert"));
  using kernel = program.kernel();
  using count = vulkan.allocate({ shape: [1], dtype: "u32" });
  using image = vulkan.image("R8G8B8A8_UNORM").allocate({ ...PIXELS, tiling: "linear" });
  const seen = new Uint8Array(128);
  vulkan.queue.write(image, seen);
  kernel.run({ groups: [1, 1] }, [image, count]);
  vulkan.queue.read(image, seen);
  assertEquals(seen[127], 255);
});

test("what a device says of images", () => {
  using vulkan = VulkanContext.open();
  const { abilities, modifiers } = vulkan.image("R8G8_UNORM");
  assert(abilities.of("linear", 1) !== undefined && modifiers.length >= 0);
});

test("an image that crosses to another Vulkan, and comes back", ({ vulkan, other, graph }) => {
  using image = vulkan.image("R8G8B8A8_UNORM").allocate(PIXELS);
  {
    using mapped = graph.map(image, other.image("R8G8B8A8_UNORM"));
    other.queue.write(mapped, new Uint8Array(128).fill(5));
  }
  const seen = new Uint8Array(128);
  vulkan.queue.read(image, seen);
  assertEquals(seen[9], 5);
});

test("a VkFence behind work", ({ vulkan }) => {
  using fence = vulkan.queue.createFence({ after: vulkan.queue.fence() });
  assert(fence.handle > 0n);
});

test("queues that wait for each other", async ({ vulkan }) => {
  using one = vulkan.createQueue();
  using two = vulkan.createQueue();
  using tensor = vulkan.allocate({ shape: [4], dtype: "u32" });
  one.fill(tensor, 1);
  two.fill(tensor, 2);
  await two.waitFor(one.fence()).wait();
});
