import * as gl from "../../ffi/gles/constants.ts";
import { IMAGE_FORMATS, type ImageFormat, type ImageInfo, type PlaneFormat } from "../core/layout/frame_info.ts";
import type { ExtensionName, OpenContext } from "./open_context.ts";
import { checks } from "./library.ts";

/** GL's format of a plane's pixels. */
export interface GlFormat {
  /** The plane's own. */
  readonly pixel: PlaneFormat;
  /** The format of textures and renderbuffers: `GL_RGBA8`. */
  readonly internal: number;
  /** The format of bytes that are written and read: `GL_RGBA`. */
  readonly order: number;
  /** `GL_UNSIGNED_BYTE`. */
  readonly type: number;
  /** The extensions that it needs, if any. */
  readonly needs: readonly ExtensionName[];
}

/** By pixel format. OpenGL ES has no format whose first channel is blue, except BGRA. */
const FORMATS: Readonly<Record<string, Omit<GlFormat, "pixel">>> = {
  "r unorm8": { internal: gl.GL_R8, order: gl.GL_RED, type: gl.GL_UNSIGNED_BYTE, needs: [] },
  "rg unorm8": { internal: gl.GL_RG8, order: gl.GL_RG, type: gl.GL_UNSIGNED_BYTE, needs: [] },
  "rgb unorm8": { internal: gl.GL_RGB8, order: gl.GL_RGB, type: gl.GL_UNSIGNED_BYTE, needs: [] },
  "rgba unorm8": { internal: gl.GL_RGBA8, order: gl.GL_RGBA, type: gl.GL_UNSIGNED_BYTE, needs: [] },
  "bgra unorm8": {
    internal: gl.GL_BGRA_EXT,
    order: gl.GL_BGRA_EXT,
    type: gl.GL_UNSIGNED_BYTE,
    needs: ["GL_EXT_texture_format_BGRA8888", "GL_EXT_read_format_bgra"],
  },
  "r unorm16": {
    internal: gl.GL_R16_EXT,
    order: gl.GL_RED,
    type: gl.GL_UNSIGNED_SHORT,
    needs: ["GL_EXT_texture_norm16"],
  },
  "rg unorm16": {
    internal: gl.GL_RG16_EXT,
    order: gl.GL_RG,
    type: gl.GL_UNSIGNED_SHORT,
    needs: ["GL_EXT_texture_norm16"],
  },
};

/** GL's formats of the planes of a picture; undefined where GL lacks one. Each plane is a texture of its own. */
export function glFormats(format: ImageFormat): readonly GlFormat[] | undefined {
  const formats = IMAGE_FORMATS[format].planes.map((pixel) => {
    const found = FORMATS[pixel.name];
    return found && { pixel, ...found };
  });
  return formats.every((one) => one !== undefined) ? formats : undefined;
}

export function planeSize({ width, height }: ImageInfo, { pixel: { step, rows = step } }: GlFormat): [number, number] {
  return [width / step, height / rows];
}

/** GL's formats of a picture. @throws {LayoutError} for a format that the context lacks. */
export function heldFormats(context: OpenContext, info: ImageInfo): readonly GlFormat[] {
  const refusal = refuseInfo(context, info);
  if (refusal === undefined) return glFormats(info.format)!;
  const { argument, reason, remedy: hint } = refusal;
  throw checks.unfit(argument, reason, hint);
}

export function refuseInfo(
  context: OpenContext,
  info: ImageInfo,
): { readonly argument: string; readonly reason: string; readonly remedy?: string } | undefined {
  const formats = glFormats(info.format);
  if (formats === undefined) {
    return { argument: "format", reason: `OpenGL ES has no textures of ${info.format}.`, remedy: "Use RGBA or RGB." };
  }
  const lacking = formats.flatMap(({ needs }) => needs).map((name) => context.lacks(name)).find(Boolean);
  if (lacking !== undefined) return { argument: "format", ...lacking };
  const { maxSize, renderer } = context.facts;
  for (const argument of ["width", "height"] as const) {
    if (info[argument] > maxSize) {
      return { argument, reason: `${renderer} has textures of at most ${maxSize} pixels, got ${info[argument]}.` };
    }
  }
  return undefined;
}
