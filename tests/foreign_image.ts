/**
 * Images of an API that is made up, in the place of Vulkan, for which graphs have edges. It exports them by opaque fds:
 * memfds stand for a driver's memory.
 *
 * @module
 */
import { ImagePort, Port } from "../src/core/device/port.ts";
import type { MemoryTarget } from "../src/core/contract.ts";
import { layout } from "../src/core/layout/layout.ts";
import { pictureIn } from "../src/core/layout/pictures.ts";
import type { PixelFormat } from "../src/core/layout/frame_info.ts";
import { type Undo, unwind } from "../src/core/life/undo.ts";
import { Allocation } from "../src/core/memory/allocation.ts";
import { own } from "../src/core/memory/own.ts";
import { duplicateFd } from "../src/core/native/fd.ts";
import { createMemfd } from "../src/core/native/memfd.ts";
import { Tensor } from "../src/core/tensors/tensor.ts";

/** What the API says of an image of bytes: by default, of 70 × 33 pixels of four. */
export interface Said {
  readonly shape?: readonly number[];
  readonly modifier?: bigint;
  readonly dedicated?: boolean;
  /** The format of its pixels, if the API reports it. */
  readonly format?: PixelFormat;
}

/** The memory's length, for any image here. */
export const LENGTH = 65536;

/** An image, whose handle is the fd of its memory. */
export class ForeignImage extends Tensor<number> {
  protected override derive(): never {
    throw new Error("not here");
  }
}

/** An image on a device. */
export function foreignImage(uuid: string | undefined, said: Said = {}): ForeignImage {
  const { dedicated = false, shape = [33, 70, 4], format, ...about } = said;
  const undo: Undo = [];
  const { fd } = createMemfd(LENGTH, undo);
  const context = { api: "vulkan", name: "an exporter", id: { uuid }, targets: [] };
  const target = {
    kind: "vulkan.image",
    context,
    is: (value: unknown) => value instanceof ForeignImage,
    ports: {
      exports: [],
      imports: [],
      images: {
        exports: [{ kind: "opaque-fd", device: { uuid } }],
        imports: [],
        formatOf: () => format,
        export() {
          const objects = [new Port("opaque-fd", { fd: duplicateFd(fd), byteLength: LENGTH, dedicated })];
          const planes = [{ object: 0, offset: 0, stride: 0 }];
          const size = pictureIn(shape, format?.elements ?? 4)!;
          return { port: new ImagePort("opaque-fd", { objects, planes, ...size, ...about }) };
        },
      },
    },
  } as unknown as MemoryTarget<ForeignImage>;
  const at = layout({ shape, dtype: "u8" });
  const allocation = new Allocation({ kind: "test.image", byteLength: at.byteLength, free: () => void unwind(undo) });
  const resource = own({ name: "an exporter's image", allocation });
  return new ForeignImage({ target, handle: fd, layout: at, resource });
}
