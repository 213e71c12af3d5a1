import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { sizeOf } from "../../src/core/layout/dtype.ts";
import { ArgumentError, InteropError, LayoutError } from "../../src/core/errors.ts";
import {
  type AudioInfo,
  fourccOf,
  type FrameInfo,
  frameInfo,
  type ImageFormat,
  imageInfo,
  type ImageInit,
  pixelFormat,
  planeLayouts,
} from "../../src/core/layout/frame_info.ts";

/** Each format's name in drm_fourcc.h, its bytes for a picture of 4 by 2 pixels, and the shapes of its planes. */
const FORMATS: Record<ImageFormat, { drm: string; bytes: number; shapes: number[][] }> = {
  GRAY8: { drm: "R8", bytes: 8, shapes: [[2, 4]] },
  RGB: { drm: "BGR888", bytes: 24, shapes: [[2, 4, 3]] },
  BGR: { drm: "RGB888", bytes: 24, shapes: [[2, 4, 3]] },
  RGBA: { drm: "ABGR8888", bytes: 32, shapes: [[2, 4, 4]] },
  BGRA: { drm: "ARGB8888", bytes: 32, shapes: [[2, 4, 4]] },
  RGBX: { drm: "XBGR8888", bytes: 32, shapes: [[2, 4, 4]] },
  BGRX: { drm: "XRGB8888", bytes: 32, shapes: [[2, 4, 4]] },
  NV12: { drm: "NV12", bytes: 12, shapes: [[2, 4], [1, 2, 2]] },
  I420: { drm: "YUV420", bytes: 12, shapes: [[2, 4], [1, 2], [1, 2]] },
  YV12: { drm: "YVU420", bytes: 12, shapes: [[2, 4], [1, 2], [1, 2]] },
  YUV444: { drm: "YUV444", bytes: 24, shapes: [[2, 4], [2, 4], [2, 4]] },
  P010: { drm: "P010", bytes: 24, shapes: [[2, 4], [1, 2, 2]] },
  P012: { drm: "P012", bytes: 24, shapes: [[2, 4], [1, 2, 2]] },
  P016: { drm: "P016", bytes: 24, shapes: [[2, 4], [1, 2, 2]] },
  YUY2: { drm: "YUYV", bytes: 16, shapes: [[2, 2, 4]] },
  UYVY: { drm: "UYVY", bytes: 16, shapes: [[2, 2, 4]] },
};
const names = Object.keys(FORMATS) as ImageFormat[];

/** Pixels that are not a picture's, with their names in drm_fourcc.h. */
const PIXELS: readonly (readonly [...Parameters<typeof pixelFormat>, drm: string])[] = [
  ["r", "unorm16", "R16"],
  ["rg", "unorm8", "GR88"],
  ["rg", "unorm16", "GR1616"],
  ["argb", "unorm8", "BGRA8888"],
  ["abgr", "unorm8", "RGBA8888"],
  ["rgbx", "unorm8", "XBGR8888"],
  ["bgrx", "unorm8", "XRGB8888"],
  ["rgba", "unorm16", "ABGR16161616"],
  ["rgba", "float16", "ABGR16161616F"],
  ["rgb", "unorm565", "RGB565"],
  ["rgbx", "unorm555", "XRGB1555"],
  ["rgbx", "unorm101010", "XRGB2101010"],
  ["rgba", "unorm1010102", "RGBA1010102"],
];

const headers = ["/usr/include/drm/drm_fourcc.h", "/usr/include/libdrm/drm_fourcc.h"];
const header = headers.find((path) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
});

Deno.test({
  name: `fourcc codes are those of drm_fourcc.h${header === undefined ? " (not here: apt install libdrm-dev)" : ""}`,
  ignore: header === undefined,
  async fn() {
    const path = await Deno.makeTempFile();
    const drm = [...names.map((name) => FORMATS[name].drm), ...PIXELS.map(([, , name]) => name)];
    const lines = drm.map((name) => `printf("%u\\n", (unsigned) DRM_FORMAT_${name});`);
    const source = `#include <stdio.h>\n#include "${header}"\nint main(void) { ${lines.join(" ")} }`;
    await Deno.writeTextFile(`${path}.c`, source);
    const cc = await new Deno.Command("cc", { args: ["-I/usr/include/libdrm", "-o", path, `${path}.c`] }).output();
    assert(cc.success, new TextDecoder().decode(cc.stderr));
    const { stdout } = await new Deno.Command(path).output();
    await Promise.all([Deno.remove(path), Deno.remove(`${path}.c`)]);
    const codes = new TextDecoder().decode(stdout).trim().split("\n").map(Number);
    const ours = names.map((format) => imageInfo({ format, width: 2, height: 2 }).fourcc);
    assertEquals([...ours, ...PIXELS.map(([order, encoding]) => pixelFormat(order, encoding).fourcc)], codes);
  },
});

Deno.test("a fourcc is four characters, the first in the low byte", () => {
  assertEquals(fourccOf("AB24"), 0x34324241);
  assertEquals(fourccOf("R8  "), 0x20203852);
});

Deno.test("each format's planes have its shapes, and together its bytes, without a gap", () => {
  for (const format of names) {
    const planes = planeLayouts(imageInfo({ format, width: 4, height: 2 }));
    assertEquals(planes.map((plane) => plane.shape), FORMATS[format].shapes);
    assertEquals(planes.reduce((sum, plane) => sum + plane.byteLength, 0), FORMATS[format].bytes);
    planes.reduce((end, plane) => (assertEquals(plane.byteOffset, end), end + plane.byteLength), 0);
  }
});

Deno.test("rows and planes begin at multiples of rowAlign and planeAlign, and no plane overlaps another", () => {
  const anyImage = fc.record({
    format: fc.constantFrom(...names),
    width: fc.integer({ min: 1, max: 50 }).map((n) => 2 * n),
    height: fc.integer({ min: 1, max: 50 }).map((n) => 2 * n),
    rowAlign: fc.constantFrom(1, 2, 16, 64, 256),
    planeAlign: fc.constantFrom(1, 2, 128, 512),
  });
  fc.assert(fc.property(anyImage, ({ rowAlign, planeAlign, ...init }) => {
    const planes = planeLayouts(imageInfo(init), rowAlign, planeAlign);
    let end = 0;
    for (const { byteOffset, byteLength, strides, dtype } of planes) {
      assert(byteOffset >= end && byteOffset % sizeOf(dtype) === 0);
      assertEquals([byteOffset % rowAlign, byteOffset % planeAlign, strides[0] % rowAlign], [0, 0, 0]);
      end = byteOffset + byteLength;
    }
  }));
});

Deno.test("what is wrong with an image is named", () => {
  const wrong: [Partial<Record<keyof ImageInit, unknown>>, string][] = [
    [{ format: "RGB565" }, "format"],
    [{ format: "constructor" }, "format"],
    [{ format: undefined }, "format"],
    [{ width: 0 }, "width"],
    [{ width: 3 }, "width"],
    [{ height: 3 }, "height"],
    [{ height: NaN }, "height"],
  ];
  for (const [part, argument] of wrong) {
    const init = { format: "NV12", width: 4, height: 4, ...part } as ImageInit;
    assertEquals(assertThrows(() => imageInfo(init), LayoutError).argument, argument);
  }
  assertEquals(imageInfo({ format: "GRAY8", width: 3, height: 3 }).width, 3);
});

Deno.test("an image keeps its modifier, all 64 bits, and its colour", () => {
  const init = { format: "NV12", width: 2, height: 2 } as const;
  const { modifier, colour } = imageInfo({ ...init, modifier: 0xffff_ffff_ffff_fffen, colour: { range: "full" } });
  assertEquals([modifier, colour], [0xffff_ffff_ffff_fffen, { range: "full" }]);
  assertEquals(imageInfo(init).modifier, 0n);
});

Deno.test("a picture's planes are as they are described, also of an odd size, and JSON has its bigints", () => {
  const planes = [{ dtype: "u16", elements: 1, step: 1, rows: 1 }, {
    dtype: "u16",
    elements: 2,
    step: 2,
    rows: 2,
  }] as const;
  const info = { type: "picture", format: "p210le", width: 7, height: 5, planes, media: { pts: 3n } } as const;
  assertEquals(planeLayouts(frameInfo(info)).map(({ shape, byteOffset }) => [shape, byteOffset]), [
    [[5, 7], 0],
    [[3, 4, 2], 70],
  ]);
  assertEquals(JSON.parse(JSON.stringify(frameInfo(info))).media, { pts: "3" });
  const wrong: [object, string][] = [
    [{ format: 1 }, "info"],
    [{ planes: "two" }, "info"],
    [{ planes: new Array(65) }, "info"],
    [{ planes: [] }, "planes.length"],
    [{ width: 0 }, "width"],
    [{ height: 1.5 }, "height"],
    [{ planes: [{ ...planes[0], step: 0 }] }, "planes[0].step"],
    [{ planes: [planes[0], { ...planes[0], rows: "1" }] }, "planes[1].rows"],
  ];
  for (const [part, argument] of wrong) {
    const given = { ...info, ...part } as unknown as FrameInfo;
    assertEquals(assertThrows(() => frameInfo(given), LayoutError).argument, argument);
  }
  const facts: [object, string][] = [
    [{ pts: 5 }, "media.pts"],
    [{ duration: 2n ** 63n }, "media.duration"],
    [{ timeBase: [1, 2.5] }, "media.timeBase"],
    [{ sampleAspect: [4, 3, 1] }, "media.sampleAspect"],
    [{ keyFrame: 1 }, "media.keyFrame"],
    [{ transfer: 16 }, "media.transfer"],
    [{ dts: 1n }, "media"],
  ];
  const sound = { type: "audio", format: "u8", sampleRate: 1, channels: 1, samples: 1, layout: "planar" } as const;
  for (const [media, argument] of facts) {
    for (const kind of [info, imageInfo({ format: "GRAY8", width: 1, height: 1 }), sound]) {
      const given = { ...kind, media } as unknown as FrameInfo;
      assertEquals(assertThrows(() => frameInfo(given), InteropError).argument, argument);
    }
  }
  assertEquals(JSON.parse(JSON.stringify(frameInfo({ ...sound, media: { pts: 3n } }))).media, { pts: "3" });
  assertThrows(() => frameInfo({ ...info, planes: [null] } as unknown as FrameInfo), InteropError, "planes[0]");
});

Deno.test("sound: one plane with the channels in turn, or a plane a channel", () => {
  const info: AudioInfo = {
    type: "audio",
    format: "i16",
    sampleRate: 48000,
    channels: 3,
    samples: 10,
    layout: "planar",
  };
  assertEquals(planeLayouts(info).map((plane) => [plane.shape, plane.byteOffset]), [[[10], 0], [[10], 20], [[10], 40]]);
  const [only] = planeLayouts({ ...info, layout: "interleaved" });
  assertEquals([only.shape, only.strides, only.byteLength], [[10, 3], [6, 2], 60]);
  for (const field of ["sampleRate", "channels", "samples"] as const) {
    assertThrows(() => planeLayouts(frameInfo({ ...info, [field]: 0 })), LayoutError);
  }
});

const TABLE: FrameInfo = {
  ...{ type: "table", format: "mine", rows: 10 },
  columns: [{ name: "x", dtype: "u8", shape: [3] }, { name: "x", dtype: "f64", shape: [] }],
};

Deno.test("a table: a plane for each column, whose first dimension is the rows", () => {
  const planes = planeLayouts(frameInfo(TABLE)).map((plane) => [plane.shape, plane.dtype, plane.byteOffset]);
  assertEquals(planes, [[[10, 3], "u8", 0], [[10], "f64", 32]]);
  const { columns } = frameInfo(TABLE) as { columns: readonly { readonly shape: readonly number[] }[] };
  assert([columns, columns[0], columns[0].shape].every(Object.isFrozen), "it is a copy that nobody changes");
  const many = Array.from({ length: 65 }, () => ({ name: "", dtype: "u8", shape: [] }) as const);
  for (const wrong of [{ rows: 0 }, { rows: 1.5 }, { columns: [] }, { columns: many }]) {
    assertThrows(() => frameInfo({ ...TABLE, ...wrong } as FrameInfo), LayoutError);
  }
  assertThrows(() => frameInfo({ ...TABLE, format: undefined } as unknown as FrameInfo), ArgumentError, "format");
});

const PICTURE: FrameInfo = {
  type: "picture",
  format: "yuv422p10le",
  width: 5,
  height: 4,
  planes: [{ dtype: "u16", elements: 1, step: 1, rows: 1 }],
};
const INFOS: readonly FrameInfo[] = [
  imageInfo({ format: "NV12", width: 4, height: 2 }),
  PICTURE,
  { type: "audio", format: "f32", sampleRate: 8000, channels: 1, samples: 5, layout: "planar" },
  TABLE,
];

Deno.test("what a frame's description has besides is named, and not kept", () => {
  for (const info of INFOS) {
    const wrong = { ...info, color: { range: "full" } } as unknown as FrameInfo;
    const error = assertThrows(() => frameInfo(wrong), InteropError);
    assert(error.message.startsWith("info: unknown property color."), error.message);
  }
});

Deno.test("a wrong colour is named, also a picture's; a right one is kept, and frozen", () => {
  const wrong: readonly (readonly [unknown, string])[] = [
    ...[[null, "colour"], ["red", "colour"], [{ primaries: 1 }, "colour"]] as const,
    ...[[{ matrix: "bt601x" }, "colour.matrix"], [{ matrix: 5n }, "colour.matrix"]] as const,
    ...[[{ range: "whole" }, "colour.range"], [{ range: null }, "colour.range"]] as const,
  ];
  for (const info of INFOS.slice(0, 2)) {
    for (const [colour, argument] of wrong) {
      const error = assertThrows(() => frameInfo({ ...info, colour } as FrameInfo), InteropError);
      assertEquals(error.argument, argument);
    }
    const given = { matrix: "bt2020", range: "limited" } as const;
    const { colour } = frameInfo({ ...info, colour: given } as FrameInfo) as { colour: object };
    assertEquals(colour, given);
    assert(Object.isFrozen(colour) && colour !== given);
  }
});
