import { type Address, NULL } from "../../ffi/address.ts";
import { VK_IMAGE_TILING_OPTIMAL } from "../../ffi/avvulkan57/constants.ts";
import type { FieldLayout } from "../../ffi/layout.ts";
import type { NativePicture, Natives, PictureObject, Turns } from "../core/contract.ts";
import { IMAGE_FORMATS, type ImageFormat } from "../core/layout/frame_info.ts";
import { counted } from "../core/life/ledger.ts";
import { allOrNothing } from "../core/life/undo.ts";
import { type InMemory, StructType } from "../core/native/struct_type.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Fields } from "./fields.ts";
import { avutil, checks, made, struct } from "./library.ts";

/**
 * An image of an AVVkFrame, whose fields are lists with an item for each plane. FFmpeg and samepage both record its
 * uses.
 */
type VkImage = InMemory<ReturnType<typeof imageLayout>> & Turns;

function imageLayout(plane: number) {
  const { size, align, fields } = avutil().structs.AVVkFrame!;
  const word = ({ offset }: FieldLayout) => ({ offset: offset + 8 * plane, type: "u64" }) as const;
  const int = ({ offset }: FieldLayout) => ({ offset: offset + 4 * plane, type: "u32" }) as const;
  return {
    ...{ size, align },
    fields: {
      ...{ handle: word(fields.img), memory: word(fields.mem), byteLength: word(fields.size) },
      ...{ semaphore: word(fields.sem), value: word(fields.sem_value) },
      ...{ layout: int(fields.layout), access: int(fields.access) },
    },
  };
}

const imageTypes: StructType<ReturnType<typeof imageLayout>>[] = [];

/** The index of the image that each record of turns belongs to, in its AVVkFrame. */
const planes = new WeakMap<Turns, number>();

function imageAt(frame: Address, plane: number): VkImage {
  const image = (imageTypes[plane] ??= new StructType(imageLayout(plane), "ffmpeg")).at(frame);
  planes.set(image, plane);
  return image;
}

/** The images of an AVVkFrame, one for each plane. */
export function readVkFrame({ data: frame }: Fields, format: ImageFormat): NativePicture {
  if (frame === NULL) throw checks.wrong("pointer", "its AVFrame has no AVVkFrame: data[0] is null.");
  const objects = IMAGE_FORMATS[format].planes.map((_, i): PictureObject => {
    const turns = imageAt(frame, i);
    if (turns.handle !== 0n) return { handle: turns.handle, turns };
    throw checks.wrong("pointer", `its AVVkFrame has no image for plane ${i} of ${format}.`);
  });
  return { objects, planes: [] };
}

/** An AVVkFrame for a frame's images, which lives as long as they do: FFmpeg and samepage both write how they were used. */
export function writeVkFrame(fields: Fields, frame: Frame, natives: Natives): number {
  const { objects } = natives.pictureOf(frame);
  fields.data = knownFrame(objects) ?? newVkFrame(frame, objects, natives);
  return 0;
}

/** The AVVkFrame that these images are in, of FFmpeg's or made here before. */
function knownFrame(objects: readonly PictureObject[]): Address | undefined {
  const known = objects.map(({ turns }) => planes.has(turns!) ? turns as VkImage : undefined);
  const [first] = known;
  if (first !== undefined && known.every((image, i) => image?.address === first.address && planes.get(image) === i)) {
    return first.address;
  }
  if (known.every((image) => image === undefined)) return undefined;
  throw checks.wrong("frame", "one of its images is a plane of another of FFmpeg's frames.", "Use that frame.");
}

function newVkFrame(frame: Frame, objects: readonly PictureObject[], natives: Natives): Address {
  const { av_vk_frame_alloc, av_free } = avutil().fns;
  return allOrNothing("making an AVVkFrame", (undo) => {
    const address = made(av_vk_frame_alloc!(), "av_vk_frame_alloc");
    const vkFrame = struct.at("AVVkFrame", address);
    const free = counted("ffmpeg.AVVkFrame", () => {
      av_free(vkFrame.internal);
      av_free(address);
    });
    undo.push(free);
    vkFrame.tiling = VK_IMAGE_TILING_OPTIMAL;
    let images = objects.length;
    const kept = objects.map(({ handle, memory = 0n, byteLength = 0, turns }, i) => {
      const { semaphore, value, layout, access } = turns!;
      const about = { handle, memory, byteLength: BigInt(byteLength), semaphore, value, layout, access };
      return Object.assign(imageAt(address, i), about);
    });
    natives.keepTurns!(frame, kept, () => void (--images === 0 && free()));
    return address;
  });
}
