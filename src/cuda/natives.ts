import type { Natives } from "../core/contract.ts";
import type { Fence } from "../core/device/fence.ts";
import { planeLayouts } from "../core/layout/frame_info.ts";
import { layout, type LayoutInit } from "../core/layout/layout.ts";
import { allOrNothing } from "../core/life/undo.ts";
import { attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import { Frame } from "../core/tensors/frame.ts";
import { checks } from "./check.ts";
import type { CudaTensor } from "./tensor.ts";

interface Stream {
  readonly handle: bigint;
  fence(): Fence;
}

interface Attaching {
  readonly cuContext: bigint;
  readonly stream: Stream;
  attach(address: bigint, init: LayoutInit, options?: AttachOptions): CudaTensor;
  attachStream(handle: bigint): Stream;
}

/** CUDA's legacy default stream, where a library names none. */
const LEGACY = 1n;

/** Pictures as FFmpeg has them in CUDA: an address for each plane. Work on its stream is waited for on the device. */
export function nativesOf(context: Attaching): Natives {
  const streams = new Map<bigint, Stream>();
  const workOn = (handle: bigint): Fence => {
    if (handle === context.stream.handle) return context.stream.fence();
    let stream = streams.get(handle);
    if (stream === undefined) streams.set(handle, stream = context.attachStream(handle));
    return stream.fence();
  };
  return {
    handles: () => ({ context: context.cuContext, stream: context.stream.handle }),
    attach: ({ objects, planes, queue }, info, options) =>
      attaching(options, (access) =>
        allOrNothing("attaching a picture", (undo) => {
          const work = queue === undefined ? undefined : workOn(queue || LEGACY);
          const tensors = planeLayouts(info).map(({ shape, dtype, strides: [, ...inner] }, i) => {
            const { object, offset, stride } = planes[i];
            const at = layout({ shape, dtype, strides: [stride, ...inner] });
            const tensor = context.attach(objects[object].handle + BigInt(offset), at, access && { access });
            undo.push(() => tensor[Symbol.dispose]());
            if (work !== undefined) tensor.resource.usedBy(work);
            return tensor;
          });
          return Frame.of(tensors, info);
        })),
    pictureOf(frame) {
      const dense = planeLayouts(frame.info);
      const broken = frame.planes.findIndex(({ layout: { strides } }, i) =>
        strides.slice(1).some((stride, at) => stride !== dense[i].strides[at + 1])
      );
      if (broken >= 0) throw checks.unfit("frame", `there are gaps within the rows of plane ${broken}.`);
      return {
        objects: frame.planes.map((plane) => ({ handle: (plane as CudaTensor).rawHandle })),
        planes: frame.planes.map(({ layout: { byteOffset, strides: [stride] } }, object) => ({
          object,
          offset: byteOffset,
          stride,
        })),
      };
    },
  };
}
