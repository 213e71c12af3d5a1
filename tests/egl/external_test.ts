/** External textures, as consumers of streams draw them: here over an EGLImage, for Mesa has no streams. */
import { assertEquals, assertThrows } from "@std/assert";
import * as gl from "../../ffi/gles/constants.ts";
import { ArgumentError } from "../../mod.ts";
import { EXTERNAL } from "../../src/egl/external.ts";
import { checkGl } from "../../src/egl/errors.ts";
import { frameOver } from "./external.ts";
import { bytesOf, noiseFor, test } from "./help.ts";

const SIZE = { format: "RGBA", width: 24, height: 16 } as const;

test("an external texture is drawn to a picture, pixel by pixel, whatever state GL is in", (egl) => {
  assertEquals(egl.openContext.has(EXTERNAL), true);
  using from = egl.image.allocate(SIZE);
  using to = egl.image.allocate(SIZE);
  const noise = noiseFor(from);
  egl.queue.write(from, noise);
  using frame = frameOver(egl, from.planes[0].handle.image);
  egl.queue.run([], (gles) => {
    gles.glViewport(3, 3, 2, 2);
    gles.glColorMask(0, 1, 0, 1);
    gles.glActiveTexture(gl.GL_TEXTURE0 + 3);
    checkGl("commands");
  });
  frame.drawTo(to);
  assertEquals(bytesOf(egl, to), noise);
});

test("an external texture is scaled by the nearest pixel", (egl) => {
  using from = egl.image.allocate({ ...SIZE, width: 2, height: 2 });
  using to = egl.image.allocate({ ...SIZE, width: 4, height: 2 });
  egl.queue.write(from, new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]));
  using frame = frameOver(egl, from.planes[0].handle.image);
  frame.drawTo(to.planes[0]);
  const [a, b, c, d] = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]];
  assertEquals([...bytesOf(egl, to)], [a, a, b, b, c, c, d, d].flat());
});

test("an external texture is not drawn to planes, nor to another's picture", (egl) => {
  using from = egl.image.allocate(SIZE);
  using frame = frameOver(egl, from.planes[0].handle.image);
  using planes = egl.image.allocate({ ...SIZE, format: "NV12" });
  assertThrows(() => frame.drawTo(planes), ArgumentError, "has several planes");
});
