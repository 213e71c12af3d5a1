/** What a program says of its own textures, held against what the driver reports. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type ImageInit, LayoutError, ledger, NativeCallError } from "@samepage/interop";
import type { EglContext } from "@samepage/interop/egl";
import * as gl from "../../ffi/gles/constants.ts";
import { gles } from "../../src/egl/library.ts";
import { type Ended, runModule } from "../process.ts";
import { bytesOf, missing, noiseFor, test } from "./help.ts";

type Format = ImageInit["format"];
type Storage = readonly [internal: number, order: number, type: number];

const [BYTE, SHORT_4444, RGBA8UI, RGBA_INTEGER, LUMINANCE, SRGB8_ALPHA8] = [
  ...[gl.GL_UNSIGNED_BYTE, 0x8033, 0x8d7c, 0x8d99, 0x1909, 0x8c43],
];

/** Textures as programs make them, and the formats that each is: the same channels, in the same order. */
const TEXTURES: readonly (readonly [name: string, storage: Storage, is: readonly Format[]])[] = [
  ["R8", [gl.GL_R8, gl.GL_RED, BYTE], ["GRAY8"]],
  ["RG8", [gl.GL_RG8, gl.GL_RG, BYTE], []],
  ["RGB8", [gl.GL_RGB8, gl.GL_RGB, BYTE], ["RGB"]],
  ["RGB without a size", [gl.GL_RGB, gl.GL_RGB, BYTE], ["RGB"]],
  ["RGBA8", [gl.GL_RGBA8, gl.GL_RGBA, BYTE], ["RGBA"]],
  ["RGBA without a size", [gl.GL_RGBA, gl.GL_RGBA, BYTE], ["RGBA"]],
  ["sRGB, whose bytes are the same", [SRGB8_ALPHA8, gl.GL_RGBA, BYTE], ["RGBA"]],
  ["RGBA of 4 bits each", [gl.GL_RGBA, gl.GL_RGBA, SHORT_4444], []],
  ["RGBA of whole numbers", [RGBA8UI, RGBA_INTEGER, BYTE], []],
  ["BGRA", [gl.GL_BGRA_EXT, gl.GL_BGRA_EXT, BYTE], ["BGRA"]],
  ["luminance", [LUMINANCE, LUMINANCE, BYTE], []],
];
const FORMATS: readonly Format[] = ["GRAY8", "RGB", "RGBA", "BGRA"];

/** A texture of a program's in the share group, 8 × 6, until the list ends. */
function textureOf({ openContext }: EglContext, [internal, order, type]: Storage, ends: DisposableStack): number {
  const names = new Uint32Array(1);
  openContext.command("glTexImage2D", () => {
    gles().glGenTextures(1, names);
    gles().glBindTexture(gl.GL_TEXTURE_2D, names[0]);
    gles().glTexImage2D(gl.GL_TEXTURE_2D, 0, internal, 8, 6, 0, order, type, 0n as never);
  });
  ends.defer(() => openContext.command("glDeleteTextures", () => gles().glDeleteTextures(1, names)));
  return names[0];
}

test("image.attach() refuses a size that the texture does not have, and nothing is read", (egl) => {
  using texture = egl.image.allocate({ format: "RGBA", width: 8, height: 8 });
  const [{ handle: { name } }] = texture.planes;
  const before = [ledger.alive, egl.bytesCopied];
  for (const [width, height] of [[64, 64], [9, 8], [8, 9], [7, 8], [8, 7], [4, 16]]) {
    const wrap = () => egl.image.attach([name], { format: "RGBA", width, height });
    const error = assertThrows(wrap, LayoutError, `expected a texture of ${width} × ${height} pixels of rgba unorm8`);
    assertStringIncludes(error.message, "got 8 × 8 of the internal format 0x8058");
    assertEquals([error.argument, error.api], ["textures[0]", "egl"]);
    assertStringIncludes(error.hint!, "glTexImage2D");
  }
  assertEquals([ledger.alive, egl.bytesCopied], before);
});

test("image.attach() takes a texture of the same channels in the same order, and no other", (egl) => {
  using ends = new DisposableStack();
  for (const [name, storage, is] of TEXTURES) {
    const texture = textureOf(egl, storage, ends);
    for (const format of FORMATS) {
      const wrap = () => egl.image.attach([texture], { format, width: 8, height: 6 });
      if (!is.includes(format)) {
        assertThrows(wrap, LayoutError, "got 8 × 6 of the internal format", `${name} as ${format}`);
        continue;
      }
      using wrapped = wrap();
      const noise = noiseFor(wrapped);
      egl.queue.write(wrapped, noise);
      assertEquals(bytesOf(egl, wrapped), noise, `${name} as ${format}`);
    }
  }
});

test("image.attach() checks each plane by its own size and format", (egl) => {
  using picture = egl.image.allocate({ format: "NV12", width: 16, height: 8 });
  const textures = picture.planes.map(({ handle: { name } }) => name);
  const size = { width: 16, height: 8 } as const;
  using wrapped = egl.image.attach(textures, { format: "NV12", ...size });
  assertEquals(wrapped.planes.length, 2);
  const swapped = () => egl.image.attach(textures.toReversed(), { format: "NV12", ...size });
  assertThrows(swapped, LayoutError, "textures[0]: expected a texture of 16 × 8 pixels of r unorm8, got 8 × 4");
  const luma = () => egl.image.attach([textures[0], textures[0]], { format: "NV12", ...size });
  assertThrows(luma, LayoutError, "textures[1]: expected a texture of 8 × 4 pixels of rg unorm8, got 16 × 8");
});

test("image.attach() refuses a texture without storage, and one of another target", (egl) => {
  using ends = new DisposableStack();
  const names = new Uint32Array(2);
  const TEXTURE_3D = 0x806f;
  egl.openContext.command("glBindTexture", () => {
    gles().glGenTextures(2, names);
    gles().glBindTexture(gl.GL_TEXTURE_2D, names[0]);
    gles().glBindTexture(TEXTURE_3D, names[1]);
  });
  ends.defer(() => egl.openContext.command("glDeleteTextures", () => gles().glDeleteTextures(2, names)));
  const wrap = (name: number) => () => egl.image.attach([name], { format: "RGBA", width: 8, height: 6 });
  assertThrows(wrap(names[0]), LayoutError, "got 0 × 0");
  const error = assertThrows(wrap(names[1]), NativeCallError, "glBindTexture failed with GL_INVALID_OPERATION");
  assertEquals(error.hint, "textures[0]: expected a texture of the target GL_TEXTURE_2D.");
});

/** A program in a context of OpenGL ES 3.0, which reports nothing of a texture's levels. */
async function in30(body: string): Promise<Ended> {
  return await runModule(
    `
    import { EglContext } from "@samepage/interop/egl";
    using egl = EglContext.open({ platform: "surfaceless" });
    console.log(egl.glVersion.slice(0, 13));
    ${body}`,
    { env: { MESA_GLES_VERSION_OVERRIDE: "3.0" } },
  );
}

Deno.test({
  name: "egl: image.attach() in OpenGL ES 3.0 refuses another size, and pixels that GL does not write there",
  ignore: missing() !== undefined,
  async fn() {
    const { code, stdout, stderr } = await in30(`
      using texture = egl.image.allocate({ format: "RGBA", width: 8, height: 8 });
      const noise = crypto.getRandomValues(new Uint8Array(256));
      egl.queue.write(texture, noise);
      const wrap = (format, width, height) => {
        try {
          using wrapped = egl.image.attach([texture.planes[0].handle.name], { format, width, height });
          const seen = new Uint8Array(256);
          egl.queue.read(wrapped, seen);
          console.log(seen.every((byte, i) => byte === noise[i]));
        } catch (error) {
          console.log(error.name, error.message.split(", got ")[1].split(". ")[0]);
        }
      };
      wrap("RGBA", 8, 8);
      wrap("RGBA", 64, 64);
      wrap("RGBA", 7, 8);
      wrap("RGBA", 8, 7);
      wrap("GRAY8", 8, 8);
      egl.queue.fill(texture, [1, 1, 1, 1]); // no error of GL's was left behind`);
    assertEquals(code, 0, stderr);
    const no = (code: string) => `LayoutError one to which GL writes no such pixels (${code})`;
    assertEquals(stdout.trim().split("\n"), [
      "OpenGL ES 3.0",
      "true",
      no("GL_INVALID_VALUE"),
      "LayoutError a larger one",
      "LayoutError a larger one",
      no("GL_INVALID_OPERATION"),
    ]);
  },
});
