/** A Worker that waits again and again on other threads, until it is terminated. */
import { VulkanContext } from "@samepage/interop/vulkan";
import { shader } from "../help.ts";

const vulkan = VulkanContext.open();
const program = vulkan.program(shader("spin"));
const spin = program.kernel();
const tensor = vulkan.allocate({ shape: [4], dtype: "u32" });
const queues = Array.from({ length: 4 }, () => vulkan.createQueue());
const made = vulkan.queue.createFence();
(globalThis as unknown as Worker).postMessage("waiting");
while (true) {
  const waits = queues.map((queue) => {
    spin.run({ groups: [1] }, [tensor, 20_000], { queue });
    return queue.fence().wait();
  });
  await Promise.all([...waits, vulkan.attachFence(made.handle).wait()]);
}
