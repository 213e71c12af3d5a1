import type { CudaEvent } from "../../ffi/cuda_runtime/handles.ts";
import type { ArrayPlace, Arrays, ArrayStream, Natives } from "../core/contract.ts";
import type { Fence } from "../core/device/fence.ts";
import type { Line } from "../core/device/line.ts";
import { planeLayouts } from "../core/layout/frame_info.ts";
import { layout, type LayoutInit } from "../core/layout/layout.ts";
import { allOrNothing } from "../core/life/undo.ts";
import { attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import { Frame } from "../core/tensors/frame.ts";
import { checks } from "./check.ts";
import { cudart } from "./library.ts";
import { cudaBlockOf, type CudaMemoryKind } from "./memory/block.ts";
import { onStream, type StreamLane } from "./stream_lane.ts";
import type { CudaTensor } from "./tensor.ts";

interface Stream extends ArrayStream {
  readonly handle: bigint;
  readonly line: Line<StreamLane>;
  fence(): Fence;
}

interface Attaching {
  readonly cuContext: bigint;
  readonly device: { readonly ordinal: number };
  readonly within: NonNullable<Arrays["within"]>;
  readonly stream: Stream;
  attach(address: bigint, init: LayoutInit, options?: AttachOptions): CudaTensor;
  attachStream(handle: bigint): Stream;
}

/** CUDA's legacy default stream, for a library that names no stream. */
const LEGACY = 1n;

/** Other code's streams by their handles, each attached once, and again if it was samepage's own and has ended. */
type Streams = (handle: bigint) => Stream;

export function streamsOf(context: Attaching): Streams {
  const streams = new Map<bigint, Stream>();
  return (handle) => {
    if (handle === context.stream.handle) return context.stream;
    let stream = streams.get(handle);
    if (!stream?.line.resource.isLive) streams.set(handle, stream = context.attachStream(handle));
    return stream;
  };
}

/** DLPack's class of each kind of memory. It has none for pages that CUDA did not lock. */
const REACH: { readonly [K in CudaMemoryKind]?: ArrayPlace["memory"] } = {
  ...{ device: "device", virtual: "device", imported: "device", external: "device" },
  ...{ pinned: "host", registered: "host", managed: "managed" },
};

/** CUDA's arrays for DLPack: an address, and the stream of their users. */
export function arraysOf(context: Attaching, stream: Streams): Arrays {
  return {
    ordinal: context.device.ordinal,
    placeOf(tensor) {
      const memory = REACH[(tensor as CudaTensor).memory];
      const block = cudaBlockOf(tensor.grant.allocation); // none where the memory is another API's
      const isOfOther = block !== undefined && block.ordinal !== context.device.ordinal;
      if (memory === undefined || (memory === "device" && isOfOther)) return undefined;
      return { handle: (tensor as CudaTensor).address, byteOffset: 0, memory };
    },
    attach: ({ handle, byteOffset }, init, options) => context.attach(handle + BigInt(byteOffset), init, options),
    stream,
    within: context.within,
    event: (handle) => {
      const event = handle as CudaEvent;
      const fn = "cudaStreamWaitEvent";
      return context.stream.line.submitRaw(onStream(fn, (stream) => cudart()[fn](stream, event, 0)));
    },
  };
}

/** Pictures as FFmpeg's CUDA frames: an address for each plane. The device waits for work on FFmpeg's stream. */
export function nativesOf(context: Attaching, streamOf: Streams): Natives {
  return {
    handles: () => ({ context: context.cuContext, stream: context.stream.handle }),
    attach: ({ objects, planes, queue }, info, options) =>
      attaching(options, (access) =>
        allOrNothing("attaching a picture", (undo) => {
          const work = queue === undefined ? undefined : streamOf(queue || LEGACY).fence();
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
