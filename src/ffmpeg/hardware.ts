import { type Address, NULL } from "../../ffi/address.ts";
import { AV_HWDEVICE_TYPE_NONE } from "../../ffi/avhwcontext57/constants.ts";
import type { NativePicture, Natives } from "../core/contract.ts";
import type { Fence } from "../core/device/fence.ts";
import { polledFence } from "../core/device/foreign_work.ts";
import { type ArgumentError, InteropError } from "../core/errors.ts";
import type { Context } from "../core/graph/context.ts";
import { type ImageInfo, imageInfo } from "../core/layout/frame_info.ts";
import type { EndHooks } from "../core/life/resource.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { textAt } from "../core/native/text.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Metadata } from "../core/tensors/metadata.ts";
import { formats } from "./formats.ts";
import type { Fields } from "./fields.ts";
import { croppedPicture } from "../core/layout/components.ts";
import { bufferBytes, cropOf, momentOf, pictureFacts } from "./frame.ts";
import {
  assertSame,
  formatWithout,
  type HardwareKind,
  KINDS,
  readPicture,
  writeHandles,
  writePicture,
} from "./hardware_kinds.ts";
import { avutil, check, checks, failure, made, struct } from "./library.ts";
import { withErrorsAlone } from "./log.ts";
import { metadataOf } from "./side_data.ts";
import { releases } from "./versions.ts";

/** The hardware devices that this FFmpeg was built with: number and name. */
export function builtDevices(): ReadonlyMap<number, string> {
  const { fns } = avutil();
  const devices = new Map<number, string>();
  for (let type = AV_HWDEVICE_TYPE_NONE;;) {
    type = fns.av_hwdevice_iterate_types(type);
    if (type === AV_HWDEVICE_TYPE_NONE) return devices;
    devices.set(type, textAt(fns.av_hwdevice_get_type_name(type))!);
  }
}

/** What a hardware AVFrame is. */
export interface Surface {
  readonly info: ImageInfo;
  readonly picture: NativePicture;
  readonly metadata: Metadata | undefined;
}

/** FFmpeg's device on another API's context. FFmpeg's hardware frames on it are that context's frames. */
export class Hardware implements EndHooks {
  /** The context whose pictures its frames are. */
  readonly on: Context;
  /** FFmpeg's number of the pixel format that all of its frames have. */
  readonly format: number;
  readonly #kind: HardwareKind;
  readonly #natives: Natives;
  readonly #device: Address;
  /** The frames contexts for frames that are handed over, by pixel format and size. */
  readonly #frames = new Map<string, Address>();
  /** True once its end has seen that there is no other reference: it may then be freed while a wait still polls. */
  #isAlone = false;

  constructor(on: Context, undo: Undo) {
    const kind = KINDS[on.api];
    const { natives } = on;
    if (kind === undefined || natives === undefined) {
      const known = `Pass a context of ${Object.keys(KINDS).join(", ")}.`;
      throw checks.wrong("on", `samepage knows no FFmpeg hardware frames on ${on.name} (${on.api}).`, known);
    }
    if (!builtDevices().has(kind.device)) {
      const there = [...builtDevices().values()].join(", ");
      throw new InteropError(`this FFmpeg was built without ${kind.format}; it has ${there}.`, {
        ...{ api: "ffmpeg", fn: "av_hwdevice_ctx_alloc" },
        hint: "SAMEPAGE_LIB_FFMPEG names another libavutil.",
      });
    }
    const { fns, structs } = avutil();
    if (structs[kind.struct] === undefined) {
      const has = releases((structs) => structs[kind.struct] !== undefined);
      const what = `samepage knows FFmpeg's frames of ${kind.format} in ${has}, and this is ${structs.release}.`;
      const hint = "SAMEPAGE_LIB_FFMPEG names another libavutil.";
      throw new InteropError(what, { api: "ffmpeg", fn: "av_hwdevice_ctx_alloc", hint });
    }
    this.on = on;
    this.#natives = natives;
    this.#kind = kind;
    this.format = formats.numberOf(kind.format)!;
    this.#device = made(fns.av_hwdevice_ctx_alloc(kind.device), "av_hwdevice_ctx_alloc");
    undo.push(() => unreference(this.#device));
    const { hwctx } = struct.at("AVHWDeviceContext", bufferBytes(this.#device));
    writeHandles(kind, hwctx, natives.handles());
    check(withErrorsAlone(() => fns.av_hwdevice_ctx_init(this.#device)), "av_hwdevice_ctx_init");
  }

  /** A new reference to the device, which the caller owns. */
  reference(): Address {
    return made(avutil().fns.av_buffer_ref(this.#device), "av_buffer_ref");
  }

  /** FFmpeg's number of the device's API. */
  get type(): number {
    return this.#kind.device;
  }

  /** Describes a hardware AVFrame. @throws {ArgumentError} for one of another device, or without a frames context. */
  describe(fields: Fields): Surface {
    const { number, device } = this.#storedAs(fields);
    const format = formats.at(number, "pointer");
    const crop = cropOf(fields, format);
    const { left, top, width, height } = crop;
    const named = formats.imageFormatOf(format, width, height);
    if (named === undefined) {
      throw checks.wrong("pointer", `its surface has pixels of ${format.name} (${width} × ${height}).`, CONVERT);
    }
    const { media, ...facts } = pictureFacts(fields, format.name);
    const about = { ...facts, media: { ...media, ...momentOf(fields) } };
    const info = { ...imageInfo({ format: named, width, height }), ...about };
    const picture = croppedPicture(readPicture(this.#kind, fields, named, device), info, format.planes, crop);
    if (picture !== undefined) return { info, picture, metadata: metadataOf(fields) };
    const what = `its AVFrame begins at pixel ${left}, ${top} of its surface, and a frame begins with the surface.`;
    throw checks.unfit("pointer", what, "Set crop_left and crop_top to 0, and leave them to who shows it.");
  }

  /** Describes a frame in an AVFrame. Returns how many of its buffers that used. */
  write(fields: Fields, frame: Frame, stored: number): number {
    const { info } = frame;
    if (info.type !== "image") {
      const what = `a hardware frame is an image, and this is ${info.type === "audio" ? "sound" : info.format}.`;
      throw checks.wrong("frame", what, "Map it to memory of the host, and that to FFmpeg.");
    }
    fields.hw_frames_ctx = made(avutil().fns.av_buffer_ref(this.#framesOf(stored, info)), "av_buffer_ref");
    return writePicture(this.#kind, fields, frame, this.#natives);
  }

  /** Drops what it keeps for later frames, as its end begins. */
  giveUp(): void {
    for (const frames of this.#frames.values()) unreference(frames);
    this.#frames.clear();
  }

  /** A fence that is reached once FFmpeg has no reference to the device. */
  lastWork(): Fence | undefined {
    const isOver = () => this.#isAlone ||= avutil().fns.av_buffer_get_ref_count(this.#device) === 1;
    if (isOver()) return undefined;
    const name = `FFmpeg's references to its device on ${this.on.name}`;
    return polledFence({ api: "ffmpeg", name, fn: "av_buffer_get_ref_count", error: failure, isOver });
  }

  /** The format of a frame's pixels, and the struct of its device. */
  #storedAs(fields: Fields): { readonly number: number; readonly device?: Address } {
    const { hw_frames_ctx } = fields;
    if (hw_frames_ctx === NULL) return { number: formatWithout(this.#kind, fields) };
    const { device_ctx, sw_format } = struct.at("AVHWFramesContext", bufferBytes(hw_frames_ctx));
    const device = struct.at("AVHWDeviceContext", device_ctx);
    assertSame(this.#kind, device, this.#natives.handles(), this.on.name);
    return { number: sw_format, device: device.hwctx };
  }

  #framesOf(stored: number, { width, height }: ImageInfo): Address {
    const key = `${stored} ${width} ${height}`;
    const known = this.#frames.get(key);
    if (known !== undefined) return known;
    const frames = allOrNothing("making a frames context", (undo) => {
      const { fns } = avutil();
      const frames = made(fns.av_hwframe_ctx_alloc(this.#device), "av_hwframe_ctx_alloc");
      undo.push(() => unreference(frames));
      const about = { format: this.format, sw_format: stored, width, height };
      struct.change("AVHWFramesContext", bufferBytes(frames), about);
      check(fns.av_hwframe_ctx_init(frames), "av_hwframe_ctx_init");
      return frames;
    });
    this.#frames.set(key, frames);
    return frames;
  }
}

const CONVERT = "Have FFmpeg convert it to nv12 or bgra: scale_vaapi, scale_cuda, av_hwframe_transfer_data().";

/** The API and the kind of hardware frames, by FFmpeg's number of their format. */
let byFormat: ReadonlyMap<number, readonly [api: string, kind: HardwareKind]> | undefined;

/** The context whose hardware frames have such a format; undefined for a format of software. */
export function hardwareFor(on: Hardware | undefined, format: number): Hardware | undefined {
  if (format === on?.format) return on;
  const found = (byFormat ??= hardwareFormats()).get(format);
  if (found === undefined) return undefined;
  throw elsewhere(on, found);
}

function hardwareFormats(): NonNullable<typeof byFormat> {
  return new Map(Object.entries(KINDS).map((entry) => [formats.numberOf(entry[1].format)!, entry]));
}

function elsewhere(
  on: Hardware | undefined,
  [api, kind]: readonly [api: string, kind: HardwareKind],
): ArgumentError {
  const here = on === undefined ? "on no device" : `on ${on.on.name}`;
  return checks.wrong(
    "pointer",
    `its format is ${kind.format}: its pixels are a device's, and this context is ${here}.`,
    `Open FFmpegContext.open({ on }) with a context of ${api}, or download it: av_hwframe_transfer_data().`,
  );
}

function unreference(reference: Address): void {
  avutil().fns.av_buffer_unref(new BigUint64Array([reference]));
}
