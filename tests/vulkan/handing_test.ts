/** The barriers by which images pass from one owner to another: a CPU's driver shows the right pixels without them. */
import { setTap } from "../../src/core/native/library.ts";
import { assertEquals } from "@std/assert";
import { MapperGraph } from "@samepage/interop";
import { VulkanContext } from "@samepage/interop/vulkan";
import {
  VK_IMAGE_LAYOUT_GENERAL,
  VK_IMAGE_LAYOUT_UNDEFINED,
  VK_QUEUE_FAMILY_EXTERNAL,
  VK_QUEUE_FAMILY_IGNORED,
} from "../../ffi/vulkan/constants.ts";
import { VkImageMemoryBarrier } from "../../ffi/vulkan/structs.ts";
import { test } from "./help.ts";

/** An image's barrier, as it was recorded: the layout that it comes from, who had it, who gets it, and its layers. */
interface Passed {
  readonly image: bigint;
  readonly from: number;
  readonly families: readonly [number, number];
  readonly layers: number;
}

const passed: Passed[] = [];

function note(address: bigint): void {
  const { size, fields } = VkImageMemoryBarrier;
  const bytes = new DataView(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(address)!, size));
  const word = ({ offset }: { readonly offset: number }) => bytes.getUint32(offset, true);
  assertEquals(word(fields.newLayout), VK_IMAGE_LAYOUT_GENERAL);
  passed.push({
    image: bytes.getBigUint64(fields.image.offset, true),
    from: word(fields.oldLayout),
    families: [word(fields.srcQueueFamilyIndex), word(fields.dstQueueFamilyIndex)],
    layers: word(fields.layerCount),
  });
}

setTap((_api, functions) => {
  const barrier = functions.vkCmdPipelineBarrier as ((...args: never[]) => void) | undefined;
  if (barrier === undefined) return functions;
  return {
    ...functions,
    vkCmdPipelineBarrier(...args: never[]) {
      if (args[8] === 1) note(args[9]);
      barrier(...args);
    },
  };
});

test("an image passes to another Vulkan with all its layers and its pixels, and back", (vulkan) => {
  using other = VulkanContext.open({ uuid: vulkan.id.uuid! });
  using graph = new MapperGraph([vulkan, other]);
  const [from, to] = [vulkan, other].map((context) => context.image("R8_UINT"));
  using image = from.allocate({ shape: [3, 4, 5] });
  graph.map(image, to)[Symbol.dispose](); // the proof
  const bytes = new Uint8Array(60);
  vulkan.queue.write(image, bytes);
  passed.length = 0;
  const { queueFamily: family } = vulkan.openDevice.handles;
  const ours = image.handle.image;
  {
    using mapped = graph.map(image, to);
    other.queue.write(mapped, bytes);
    const theirs = mapped.handle.image;
    mapped[Symbol.dispose]();
    vulkan.queue.write(image, bytes);
    const [out, back] = [[family, VK_QUEUE_FAMILY_EXTERNAL], [VK_QUEUE_FAMILY_EXTERNAL, family]] as const;
    const general = { from: VK_IMAGE_LAYOUT_GENERAL, layers: 3 };
    assertEquals(passed, [
      { image: ours, ...general, families: out },
      { image: theirs, ...general, families: back },
      { image: theirs, ...general, families: out },
      { image: ours, ...general, families: back },
    ]);
  }
});

test("a new image comes from no layout, once", (vulkan) => {
  passed.length = 0;
  using image = vulkan.image("R8_UINT").allocate({ shape: [4, 5] });
  vulkan.queue.write(image, new Uint8Array(20));
  const families = [VK_QUEUE_FAMILY_IGNORED, VK_QUEUE_FAMILY_IGNORED] as const;
  assertEquals(passed, [{ image: image.handle.image, from: VK_IMAGE_LAYOUT_UNDEFINED, families, layers: 1 }]);
});
