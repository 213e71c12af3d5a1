/**
 * External textures without a stream: over an EGLImage, for Mesa has no streams.
 *
 * @module
 */
import * as gl from "../../ffi/gles/constants.ts";
import type { EglContext } from "../../src/egl/mod.ts";
import { ExternalTexture } from "../../src/egl/external.ts";
import { glesExtensions } from "../../src/egl/library.ts";
import { EglStreamFrame } from "../../src/egl/stream_consumer.ts";
import { Resource } from "../../src/core/life/resource.ts";
import type { Undo } from "../../src/core/life/undo.ts";

/** A frame whose texture shows a picture. */
export function frameOver(egl: EglContext, image: bigint): EglStreamFrame {
  const undo: Undo = [];
  const texture = new ExternalTexture(egl.openContext, undo);
  texture.command("glEGLImageTargetTexture2DOES", () => {
    texture.bind();
    glesExtensions().glEGLImageTargetTexture2DOES!(gl.GL_TEXTURE_EXTERNAL_OES, image as never);
  });
  return new EglStreamFrame(egl, texture, new Resource({ name: "frame", owners: [egl.resource], undo }));
}
