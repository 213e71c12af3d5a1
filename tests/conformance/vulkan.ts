import { MapperGraph } from "../../mod.ts";
import { LibraryNotFoundError, messageOf } from "../../src/core/errors.ts";
import { host } from "../../src/host/mod.ts";
import { VulkanContext, vulkanDevices } from "../../src/vulkan/mod.ts";
import { hostEnd } from "./host_end.ts";
import type { Candidate, Subject } from "./subject.ts";
import { keepSemaphores, VulkanEnd } from "./vulkan_end.ts";

/** The edges of Vulkan's buffers, on every device that is here. */
export function vulkans(): Candidate[] {
  const edges = ["host→vulkan", "vulkan→host", "vulkan→vulkan"];
  const names = devices();
  if (typeof names === "string") return edges.map((edge) => ({ edge, open: names }));
  return names.flatMap((device) => [
    { edge: "host→vulkan", device, open: () => opened(device, (end) => [hostEnd, end]) },
    { edge: "vulkan→host", device, open: () => opened(device, (end) => [end, hostEnd]) },
    { edge: "vulkan→vulkan", device, open: () => opened(device, (end, other) => [end, other]) },
  ]);
}

/** The names of Vulkan's devices, each once: a device is opened by its name. Or why there are none. */
export function devices(): readonly string[] | string {
  try {
    return [...new Set(vulkanDevices().map(({ name }) => name))];
  } catch (error) {
    if (error instanceof LibraryNotFoundError) return "no Vulkan loader";
    return messageOf(error);
  }
}

type Ends = readonly [source: Subject["source"], target: Subject["target"]];

function opened(device: string, ends: (end: VulkanEnd, other: VulkanEnd) => Ends): Subject {
  using made = new DisposableStack();
  const [end, other] = [0, 1].map(() => made.use(new VulkanEnd(device, { memory: "host" })));
  const [source, target] = ends(end, other);
  keepSemaphores(end, [end.target.line, other.target.line]);
  const graph = made.use(new MapperGraph([host, end.target, other.target]));
  const kept = made.move();
  return {
    ...{ graph, source, target, expected: "alias", elsewhere: target === hostEnd ? hostEnd : other },
    ...(target === hostEnd ? { withoutCalls: true } : {}), // the buffer is mapped once
    openContext: () => VulkanContext.open({ device }),
    [Symbol.dispose]: () => kept.dispose(),
  };
}
