import { NULL } from "../../../ffi/address.ts";
import type { Natives } from "../../core/contract.ts";
import { IMAGE_FORMATS, type ImageInfo, planeLayouts } from "../../core/layout/frame_info.ts";
import { allOrNothing } from "../../core/life/undo.ts";
import { cString } from "../../core/native/text.ts";
import { attaching } from "../../core/tensors/adopt.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { functionsOf } from "../../guard/load.ts";
import type { VulkanBase } from "../base.ts";
import { attachedTo, type VulkanImageTarget } from "../image.ts";
import { checks } from "../library.ts";
import type { OpenDevice } from "../open_device.ts";
import { pointers, type Struct, struct } from "../struct.ts";
import { VULKAN_FORMATS, type VulkanFormatName } from "./formats.ts";
import { type ImageObject, objectOf } from "./image_object.ts";
import { VulkanImage } from "./tensor.ts";

interface Imaging extends VulkanBase {
  image(format: VulkanFormatName): VulkanImageTarget;
}

/** No family of queues. */
const NONE = -1n;

/** Pictures as FFmpeg's Vulkan frames: an image for each plane, with a semaphore and a layout that both sides read and write. */
export function nativesOf(context: Imaging): Natives {
  let known: Known | undefined;
  return {
    handles: () => (known ??= knownOf(context.openDevice)).handles,
    attach: ({ objects }, info, options) =>
      attaching(options, (access) =>
        allOrNothing("attaching images", (undo) => {
          const planes = planeLayouts(info).map(({ shape }, i) => {
            const { handle, turns } = objects[i];
            const image = attachedTo(targetOf(context, info, i), handle, { shape }, access, turns);
            undo.push(() => image[Symbol.dispose]());
            return image;
          });
          return Frame.of(planes, info);
        })),
    pictureOf({ planes, info }) {
      const images = planes.map((plane, i) => imageIn(context, plane, info as ImageInfo, i));
      for (const image of images) image.takingTurns();
      // This command brings all images into one layout, and later commands wait for it.
      const taken = context.line.submitRaw({ fn: "vkQueueSubmit", call: (lane) => lane.run(images, () => {}) });
      for (const { resource } of planes) resource.usedBy(taken);
      return {
        objects: images.map(({ image, info, memory, turns }) => ({
          handle: image,
          ...(memory === undefined ? {} : { memory, byteLength: info!.size }),
          turns: turns!,
        })),
        planes: [],
      };
    },
    keepTurns({ planes }, turns, release) {
      for (const [i, { grant }] of planes.entries()) objectOf(grant.allocation)!.keepTurns(turns[i], release);
    },
  };
}

interface Known {
  readonly handles: Readonly<Record<string, bigint>>;
  /** What some of them point to. */
  readonly lists: readonly Struct[];
}

function knownOf({ handles, features = struct("VkPhysicalDeviceFeatures2") }: OpenDevice): Known {
  const { instance, physicalDevice, device, queueFamily, extensions } = handles;
  const names = pointers(extensions.map(cString));
  return {
    handles: {
      ...{ instance, physicalDevice, device, features: features.address },
      getInstanceProcAddr: functionsOf("vulkan", "vkGetInstanceProcAddr").vkGetInstanceProcAddr,
      ...{ extensions: extensions.length === 0 ? NULL : names.address },
      ...{ extensionCount: BigInt(extensions.length), queueCount: 1n },
      ...{ queueFamily: BigInt(queueFamily), graphicsFamily: NONE, videoFamily: NONE },
    },
    lists: [names, features],
  };
}

function targetOf(context: Imaging, { format }: ImageInfo, plane: number): VulkanImageTarget {
  const { name } = IMAGE_FORMATS[format].planes[plane];
  const found = Object.values(VULKAN_FORMATS).find((one) => one.name === name);
  if (found === undefined) throw checks.wrong("info", `Vulkan has no images of ${name} here.`);
  return context.image(found.vulkan);
}

/** The image of a plane. @throws {ArgumentError} for a plane that is no image, or an image that other libraries cannot use. */
function imageIn(context: Imaging, plane: Frame["planes"][number], info: ImageInfo, i: number): ImageObject {
  const target = targetOf(context, info, i);
  const hint = `Map it to images: graph.map(frame.planes[${i}], vulkan.image("${target.format.vulkan}")).`;
  const expected = `expected planes that are images of ${target.format.vulkan}`;
  if (!(plane instanceof VulkanImage)) throw checks.wrong("frame", `${expected}, got ${plane.name}.`, hint);
  if (plane.format !== target.format) throw checks.wrong("frame", `${expected}, got ${plane.format.vulkan}.`, hint);
  const object = objectOf(plane.grant.allocation);
  if (object?.isOf(context.openDevice) === true && (object.order ?? "optimal") === "optimal") return object;
  throw checks.wrong("frame", "its images are not the driver's own order of pixels in Vulkan's own memory.", hint);
}
