import type { Natives } from "../../core/contract.ts";
import { IMAGE_FORMATS } from "../../core/layout/frame_info.ts";
import { allOrNothing } from "../../core/life/undo.ts";
import { attaching, type AttachOptions } from "../../core/tensors/adopt.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { checks } from "../check.ts";
import { type OpenCLImageFormat, PIXEL_FORMATS } from "./format.ts";
import { ImageTensor } from "./tensor.ts";

interface Imaging {
  readonly handle: bigint;
  readonly device: { readonly handle: bigint };
  readonly queue: { readonly handle: bigint };
  image(format: OpenCLImageFormat): { attach(handle: bigint, options?: AttachOptions): ImageTensor };
}

/** Pictures as FFmpeg has them in OpenCL: an image for each plane, and commands on the context's own queue. */
export function nativesOf(context: Imaging): Natives {
  return {
    handles: () => ({ device: context.device.handle, context: context.handle, queue: context.queue.handle }),
    attach: ({ objects }, info, options) =>
      attaching(options, (access) =>
        allOrNothing("attaching images", (undo) => {
          const planes = objects.map(({ handle }, i) => {
            const image = targetOf(context, IMAGE_FORMATS[info.format].planes[i].name).attach(
              handle,
              access && { access },
            );
            undo.push(() => image[Symbol.dispose]());
            return image;
          });
          return Frame.of(planes, info);
        })),
    pictureOf({ planes }) {
      const other = planes.find((plane) => !ImageTensor.isImage(plane));
      if (other === undefined) {
        return { objects: planes.map(({ handle }) => ({ handle: handle as bigint })), planes: [] };
      }
      const hint = 'Map the frame to images: graph.map(frame, cl.image({ order: "R", type: "UNORM_INT8" })).';
      throw checks.wrong("frame", `expected planes that are images, got ${other.name}.`, hint);
    },
  };
}

function targetOf(context: Imaging, common: string) {
  const format = PIXEL_FORMATS.values().find((one) => one.common === common);
  if (format === undefined) throw checks.wrong("info", `OpenCL has no images of ${common}.`);
  return context.image(format);
}
