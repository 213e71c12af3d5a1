import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  host,
  type ImageFormat,
  InteropError,
  LayoutError,
  MapperGraph,
  NativeCallError,
  NoRouteError,
} from "@samepage/interop";
import { EglContext } from "@samepage/interop/egl";
import type { Address } from "../../ffi/address.ts";
import { EGL_GL_TEXTURE_2D } from "../../ffi/egl/constants.ts";
import {
  GL_PACK_ALIGNMENT,
  GL_PACK_SKIP_PIXELS,
  GL_PACK_SKIP_ROWS,
  GL_RASTERIZER_DISCARD,
  GL_SCISSOR_TEST,
  GL_UNPACK_ALIGNMENT,
  GL_UNPACK_SKIP_PIXELS,
  GL_UNPACK_SKIP_ROWS,
} from "../../ffi/gles/constants.ts";
import { egl as native } from "../../src/egl/library.ts";
import { bytesOf, noiseFor, test } from "./help.ts";

const SKIPS = [GL_PACK_SKIP_PIXELS, GL_PACK_SKIP_ROWS, GL_UNPACK_SKIP_PIXELS, GL_UNPACK_SKIP_ROWS];
const FORMATS: readonly ImageFormat[] = ["GRAY8", "RGB", "RGBA", "BGRA", "NV12", "I420", "P010"];

test("a new picture is zeros, and keeps what is written to it, in every format", (egl) => {
  for (const format of FORMATS) {
    using picture = egl.image.allocate({ format, width: 38, height: 22 });
    assertEquals(new Set(bytesOf(egl, picture)), new Set([0]), format);
    const noise = noiseFor(picture);
    egl.queue.write(picture, noise);
    assertEquals(bytesOf(egl, picture), noise, format);
  }
});

test("a picture is an EGLImage, made once", (egl) => {
  for (const storage of ["texture", "renderbuffer"] as const) {
    using picture = egl.image.allocate({ format: "RGBA", width: 8, height: 4, storage });
    const [{ handle }] = picture.planes;
    assert(handle.image > 0n);
    assertEquals([handle.image, handle.storage, handle.width, handle.height], [handle.image, storage, 8, 4]);
  }
});

test("an EGLImage of a texture is the same pixels in another context", (egl) => {
  using other = EglContext.attach({ display: egl.display }); // shares no textures
  using picture = egl.image.allocate({ format: "RGBA", width: 16, height: 8 });
  const [{ handle }] = picture.planes;
  const noise = noiseFor(picture);
  egl.queue.write(picture, noise);
  egl.queue.finish();
  const theirs = other.image.plane(handle.format, [16, 8], picture.planes[0].layout, {
    from: "image",
    image: imageOf(egl, handle.name),
  });
  {
    using _ = theirs;
    const seen = new Uint8Array(noise.length);
    other.queue.read(theirs, seen);
    assertEquals(seen, noise);
    other.queue.fill(theirs, [1, 0, 1, 0]);
    other.queue.finish();
  }
  assertEquals([...bytesOf(egl, picture).subarray(0, 4)], [255, 0, 255, 0]);
});

/** An `EGLImage` of a texture: a picture that is made of it takes it over. */
function imageOf({ handle, display }: EglContext, name: number): Address {
  return native().eglCreateImage(display, handle, EGL_GL_TEXTURE_2D, BigInt(name) as Address, null);
}

test("a clear and a copy work on all pixels, whatever state a program has left", (egl) => {
  using from = egl.image.allocate({ format: "RGBA", width: 16, height: 8 });
  using to = egl.image.allocate({ format: "BGRA", width: 16, height: 8 });
  egl.queue.run([], (gl) => {
    gl.glPixelStorei(GL_PACK_ALIGNMENT, 8);
    gl.glPixelStorei(GL_UNPACK_ALIGNMENT, 8);
    gl.glColorMask(0, 0, 0, 0);
    gl.glDisable(GL_SCISSOR_TEST);
  });
  egl.queue.fill(from, [1, 0.5, 0, 1]);
  egl.queue.copy(from, to);
  const pixel = [0, 128, 255, 255];
  assertEquals([...bytesOf(egl, to)], Array.from({ length: 128 }, () => pixel).flat());
});

test("reads and writes stay within their bytes, whatever skips a program has left", (egl) => {
  using picture = egl.image.allocate({ format: "RGBA", width: 4, height: 4 });
  egl.queue.run([], (gl) => SKIPS.forEach((name) => gl.glPixelStorei(name, 2)));
  const [noise, memory] = [noiseFor(picture), new Uint8Array(256)];
  memory.set(noise);
  egl.queue.write(picture, memory.subarray(0, 64));
  const seen = new Uint8Array(256);
  egl.queue.read(picture, seen.subarray(0, 64));
  assertEquals(seen, memory);
});

test("a clear and a new picture's zeros come although a program has switched the rasterizer off", (egl) => {
  const { symbols: theirs } = Deno.dlopen("libGLESv2.so.2", { glEnable: { parameters: ["u32"], result: "void" } });
  using picture = egl.image.allocate({ format: "RGBA", width: 4, height: 4 });
  egl.queue.run([], () => theirs.glEnable(GL_RASTERIZER_DISCARD));
  egl.queue.fill(picture, [1, 1, 1, 1]);
  assertEquals(new Set(bytesOf(egl, picture)), new Set([255]));
});

test("commands that would go on later are refused", (egl) => {
  using picture = egl.image.allocate({ format: "RGBA", width: 4, height: 4 });
  const error = assertThrows(
    () => egl.queue.run([{ picture, access: "write" }], async () => await undefined),
    ArgumentError,
    "commands: ",
  );
  assertEquals(error.hint, "The context is current only until they return: wait before run(), or behind it.");
});

test("a copy takes every plane", (egl) => {
  using from = egl.image.allocate({ format: "NV12", width: 16, height: 8 });
  using to = egl.image.allocate({ format: "NV12", width: 16, height: 8 });
  const noise = noiseFor(from);
  egl.queue.write(from, noise);
  egl.queue.copy(from, to);
  assertEquals(bytesOf(egl, to), noise);
});

test("pixels of a renderbuffer come from a texture", (egl) => {
  using from = egl.image.allocate({ format: "RGBA", width: 16, height: 8 });
  using to = egl.image.allocate({ format: "RGBA", width: 16, height: 8, storage: "renderbuffer" });
  const noise = noiseFor(from);
  egl.queue.write(from, noise);
  egl.queue.copy(from, to);
  assertEquals(bytesOf(egl, to), noise);
  assertThrows(() => egl.queue.write(to, noise), LayoutError, "only drawn to");
});

test("GL's copies are counted", (egl) => {
  using picture = egl.image.allocate({ format: "NV12", width: 8, height: 8 });
  const before = egl.bytesCopied;
  egl.queue.write(picture, noiseFor(picture));
  assertEquals(egl.bytesCopied - before, 96);
  bytesOf(egl, picture);
  assertEquals(egl.bytesCopied - before, 192);
});

test("a map to the host is a copy, which has to be allowed, and brings back what was written", (egl) => {
  using graph = new MapperGraph([host, egl]);
  using picture = egl.image.allocate({ format: "NV12", width: 16, height: 8 });
  const noise = noiseFor(picture);
  egl.queue.write(picture, noise);
  assertThrows(() => graph.map(picture, host), NoRouteError, "copy");
  {
    using mapped = graph.map(picture, host, { copy: "allow" });
    assertEquals(mapped.route.steps.map(({ edge, transfer }) => `${edge} ${transfer}`), [
      "egl.image→host copy",
    ]);
    assertEquals(mapped.planes.flatMap((plane) => [...plane.bytes()]), [...noise]);
    mapped.planes[1].bytes().fill(3);
  }
  assertEquals(bytesOf(egl, picture), Uint8Array.from(noise, (byte, i) => i < 128 ? byte : 3));
});

test("GL's error in a program's commands is thrown, and the next command has none", (egl) => {
  using picture = egl.image.allocate({ format: "RGBA", width: 8, height: 8 });
  const error = assertThrows(
    () => egl.queue.run([{ picture, access: "write" }], (gl) => gl.glBindTexture(1, 1)),
    NativeCallError,
  );
  assertEquals([error.fn, error.codeName], ["commands", "GL_INVALID_ENUM"]);
  egl.queue.fill(picture, [1, 1, 1, 1]);
  assertEquals(new Set(bytesOf(egl, picture)), new Set([255]));
});

test("a program's own error is thrown with GL's, which is not the next command's", (egl) => {
  using picture = egl.image.allocate({ format: "RGBA", width: 8, height: 8 });
  const mine = new TypeError("mine");
  const error = assertThrows(() =>
    egl.queue.run([], (gl) => {
      gl.glDisable(0);
      throw mine;
    }), InteropError);
  assertEquals(error.errors?.map(String), [
    "TypeError: mine",
    "NativeCallError: commands failed with GL_INVALID_ENUM (0x500).",
  ]);
  egl.queue.fill(picture, [1, 1, 1, 1]);
});

test("tensors over one texture or buffer of a context are peers, also of one that samepage made", (egl) => {
  using graph = new MapperGraph([host, egl]);
  using picture = egl.image.allocate({ format: "RGBA", width: 4, height: 4 });
  const textures = [picture.planes[0].handle.name];
  using wrapped = egl.image.attach(textures, { format: "RGBA", width: 4, height: 4 });
  using buffer = egl.buffer.allocate({ shape: [64], dtype: "u8" });
  using same = egl.buffer.attach(buffer.handle.name, { shape: [64], dtype: "u8" });
  const bytes = new Uint8Array(64).fill(3);
  const pairs = [() => graph.map(wrapped, host, { copy: "allow" }), () => graph.map(same, host, { copy: "allow" })];
  for (const [i, one] of [picture, buffer].entries()) {
    {
      using _lent = pairs[i]();
      assertThrows(() => egl.queue.write(one, bytes), AccessError, "lent");
    }
    egl.queue.write(one, bytes);
    one[Symbol.dispose]();
  }
  assertEquals(bytesOf(egl, wrapped), bytes); // the texture lives as long as the last of them
  const seen = new Uint8Array(64);
  egl.queue.read(same, seen);
  assertEquals(seen, bytes);
});

test("commands of two contexts on one picture come one after the other", async (egl) => {
  using other = EglContext.attach({ display: egl.display, context: egl.handle });
  using picture = egl.image.allocate({ format: "RGBA", width: 512, height: 512 });
  using wrapped = other.image.attach([picture.planes[0].handle.name], { format: "RGBA", width: 512, height: 512 });
  for (let i = 0; i < 50; i++) {
    egl.queue.fill(picture, [i / 255, 0, 0, 1]);
    other.queue.waitFor(egl.queue.fence());
    assertEquals(bytesOf(other, wrapped)[0], i);
    egl.queue.waitFor(other.queue.fence());
  }
  await egl.queue.fence().wait();
});

test("work on a picture is work on each of its planes, which others may use alone", (egl) => {
  using picture = egl.image.allocate({ format: "NV12", width: 8, height: 8 });
  egl.queue.finish();
  const { lane } = egl.line;
  const poll = lane.poll.bind(lane);
  Object.assign(lane, { poll: () => 0 }); // as if GL never finished: what is over is forgotten
  egl.queue.run([{ picture, access: "write" }], (gl) => gl.glFlush());
  const { mark } = egl.queue.fence();
  const found = picture.planes.map((plane) => plane.work.map((fence) => fence.mark));
  Object.assign(lane, { poll });
  assertEquals(found, [[mark], [mark]]);
});
