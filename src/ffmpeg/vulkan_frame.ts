import { type Address, NULL } from "../../ffi/address.ts";
import { VK_IMAGE_TILING_OPTIMAL } from "../../ffi/avvulkan57/constants.ts";
import type { NativePicture, Natives, PictureObject, Turns } from "../core/contract.ts";
import { IMAGE_FORMATS, type ImageFormat } from "../core/layout/frame_info.ts";
import { counted } from "../core/life/ledger.ts";
import { allOrNothing } from "../core/life/undo.ts";
import { viewAt } from "../core/native/pin.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Fields } from "./fields.ts";
import { avutil, checks, made } from "./library.ts";

/** What FFmpeg and samepage know of an image's turns, where FFmpeg keeps it: in an AVVkFrame, which lives longer. */
class VkTurns implements Turns {
  readonly frame: Address;
  readonly plane: number;
  readonly #view: DataView<ArrayBuffer>;

  constructor(frame: Address, plane: number) {
    this.frame = frame;
    this.plane = plane;
    this.#view = vkFrameAt(frame);
  }

  get semaphore(): bigint {
    return this.#view.getBigUint64(wordAt("sem", this.plane), true);
  }

  get value(): bigint {
    return this.#view.getBigUint64(wordAt("sem_value", this.plane), true);
  }

  set value(value: bigint) {
    this.#view.setBigUint64(wordAt("sem_value", this.plane), value, true);
  }

  get layout(): number {
    return this.#view.getUint32(intAt("layout", this.plane), true);
  }

  set layout(layout: number) {
    this.#view.setUint32(intAt("layout", this.plane), layout, true);
  }

  get access(): number {
    return this.#view.getUint32(intAt("access", this.plane), true);
  }

  set access(access: number) {
    this.#view.setUint32(intAt("access", this.plane), access, true);
  }
}

/** The images of an AVVkFrame, one for each plane. */
export function readVkFrame({ view }: Fields, format: ImageFormat): NativePicture {
  const frame = view.getBigUint64(avutil().structs.AVFrame.fields.data.offset, true) as Address;
  if (frame === NULL) throw checks.wrong("pointer", "its AVFrame has no AVVkFrame: data[0] is null.");
  const of = vkFrameAt(frame);
  const objects = IMAGE_FORMATS[format].planes.map((_, i): PictureObject => {
    const handle = of.getBigUint64(wordAt("img", i), true);
    if (handle === 0n) throw checks.wrong("pointer", `its AVVkFrame has no image for plane ${i} of ${format}.`);
    return { handle, turns: new VkTurns(frame, i) };
  });
  return { objects, planes: [] };
}

/** An AVVkFrame for a frame's images, which lives as long as they do: FFmpeg and samepage both write how they were used. */
export function writeVkFrame(view: DataView<ArrayBuffer>, frame: Frame, natives: Natives): number {
  const { objects } = natives.pictureOf(frame);
  const vkFrame = knownFrame(objects) ?? newVkFrame(frame, objects, natives);
  view.setBigUint64(avutil().structs.AVFrame.fields.data.offset, vkFrame, true);
  return 0;
}

/** The AVVkFrame that these images are in, of FFmpeg's or made here before. */
function knownFrame(objects: readonly PictureObject[]): Address | undefined {
  const known = objects.map(({ turns }) => turns instanceof VkTurns ? turns : undefined);
  const [first] = known;
  if (first !== undefined && known.every((turns, i) => turns?.frame === first.frame && turns.plane === i)) {
    return first.frame;
  }
  if (known.every((turns) => turns === undefined)) return undefined;
  throw checks.wrong("frame", "one of its images is a plane of another of FFmpeg's frames.", "Use that frame.");
}

function newVkFrame(frame: Frame, objects: readonly PictureObject[], natives: Natives): Address {
  const { fns: { av_vk_frame_alloc, av_free }, structs: { vulkan } } = avutil();
  return allOrNothing("making an AVVkFrame", (undo) => {
    const address = made(av_vk_frame_alloc!(), "av_vk_frame_alloc");
    const view = vkFrameAt(address);
    const free = counted("ffmpeg.AVVkFrame", () => {
      av_free(view.getBigUint64(vulkan!.AVVkFrame.fields.internal.offset, true) as Address);
      av_free(address);
    });
    undo.push(free);
    view.setUint32(vulkan!.AVVkFrame.fields.tiling.offset, VK_IMAGE_TILING_OPTIMAL, true);
    for (const [i, { handle, memory = 0n, byteLength = 0, turns }] of objects.entries()) {
      view.setBigUint64(wordAt("img", i), handle, true);
      view.setBigUint64(wordAt("mem", i), memory, true);
      view.setBigUint64(wordAt("size", i), BigInt(byteLength), true);
      view.setBigUint64(wordAt("sem", i), turns!.semaphore, true);
      Object.assign(new VkTurns(address, i), { value: turns!.value, layout: turns!.layout, access: turns!.access });
    }
    let images = objects.length;
    const kept = objects.map((_, i) => new VkTurns(address, i));
    natives.keepTurns!(frame, kept, () => void (--images === 0 && free()));
    return address;
  });
}

type Field = "img" | "mem" | "size" | "sem" | "sem_value" | "layout" | "access";

function wordAt(field: Field, plane: number): number {
  return avutil().structs.vulkan!.AVVkFrame.fields[field].offset + 8 * plane;
}

function intAt(field: Field, plane: number): number {
  return avutil().structs.vulkan!.AVVkFrame.fields[field].offset + 4 * plane;
}

function vkFrameAt(address: Address): DataView<ArrayBuffer> {
  return viewAt(address, avutil().structs.vulkan!.AVVkFrame.size, "ffmpeg");
}
