import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, DisposedError, host, ledger, MapperGraph } from "@samepage/interop";
import { VulkanContext, vulkanDevices } from "@samepage/interop/vulkan";
import { test } from "./help.ts";

test("a device says who it is, and what it has", ({ device }) => {
  assert(/^[0-9a-f]{32}$/.test(device.id.uuid!) && /^[0-9a-f]{32}$/.test(device.driverUuid));
  assert(/^\d+\.\d+\.\d+$/.test(device.apiVersion), device.apiVersion);
  assert(device.extensions.length > 0 && device.queueFamilies.some(({ compute }) => compute));
  assert(device.memoryTypes.some(({ deviceLocal }) => deviceLocal));
  assert(device.memoryTypes.some(({ hostVisible, hostCoherent }) => hostVisible && hostCoherent));
  assertEquals(vulkanDevices().find(({ id }) => id.uuid === device.id.uuid), device);
});

test("an extension is there, or absent with a reason that names it", ({ absent, device }) => {
  for (const [extension, reason] of absent) {
    assert(!device.extensions.includes(extension) && reason.includes(extension), reason);
  }
});

test("a device is chosen by its UUID, also with dashes, or by a part of its name", ({ device }) => {
  const { name, id: { uuid } } = device;
  using one = VulkanContext.open({ uuid: `GPU-${uuid!.toUpperCase()}` });
  using other = VulkanContext.open({ device: name.slice(0, 4).toUpperCase() });
  assertEquals([one.id.uuid, other.name.slice(0, 4)], [uuid, name.slice(0, 4)]);
  const error = assertThrows(() => VulkanContext.open({ uuid: "0".repeat(32) }), ArgumentError);
  assert(error.hint!.includes(uuid!), error.hint);
});

test("open({ on }) takes the device of another context, and refuses where none is known to be that", (vulkan) => {
  using same = VulkanContext.open({ on: vulkan });
  assertEquals(same.id, vulkan.id);
  const error = assertThrows(() => VulkanContext.open({ on: host }), ArgumentError, "is known to be host (host)");
  assertEquals(error.argument, "on");
  assert(error.message.includes(`reports UUID ${vulkan.id.uuid}`), error.message);
});

test("a context stands on the objects of another library, and leaves them alone", (vulkan) => {
  const { instance, physicalDevice, device, queues: [queue], queueFamily, extensions } = vulkan.openDevice.handles;
  using tensor = vulkan.allocate({ shape: [16], dtype: "u32" });
  vulkan.queue.write(tensor, new Uint32Array(16)); // what bytes go through is made on the first transfer
  const before = ledger.alive;
  {
    using attached = VulkanContext.attach({ instance, physicalDevice, device, queue, queueFamily, extensions });
    using graph = new MapperGraph([host, attached, vulkan]);
    {
      using theirs = graph.map(tensor, attached);
      attached.queue.fill(theirs, 5);
    }
    using bare = VulkanContext.attach({ instance, physicalDevice, device, queue, queueFamily });
    assert(bare.absent.get("VK_KHR_external_memory_fd")!.includes("VK_KHR_external_memory_fd"));
  }
  assertEquals(ledger.alive, before);
  const seen = new Uint32Array(16);
  vulkan.queue.read(tensor, seen);
  assertEquals([...new Set(seen)], [5]);
  assertThrows(
    () => VulkanContext.attach({ instance, physicalDevice, device, queue, queueFamily: 99 }),
    ArgumentError,
    "got 99",
  );
});

test("a context ends what was made in it", (vulkan) => {
  const inner = VulkanContext.open({ uuid: vulkan.id.uuid! });
  const before = Object.keys(ledger.alive).length;
  const tensor = inner.allocate({ shape: [4], dtype: "u8" });
  const queue = inner.createQueue();
  inner[Symbol.dispose]();
  assertThrows(() => tensor.handle, DisposedError);
  assertThrows(() => queue.fence(), DisposedError);
  assertThrows(() => inner.allocate({ shape: [4], dtype: "u8" }), DisposedError);
  assert(Object.keys(ledger.alive).length <= before);
});
