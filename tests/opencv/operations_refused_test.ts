// What an operation refuses, before any native call: which argument it names.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ArgumentError, type DType, host, LayoutError, MapperGraph } from "@samepage/interop";
import { OpenCVContext, type OpenCVMat } from "@samepage/interop/opencv";
import { MAP_ANONYMOUS, MAP_FIXED, MAP_PRIVATE, PROT_NONE, PROT_READ, PROT_WRITE } from "../../ffi/libc/constants.ts";
import { NULL } from "../../ffi/address.ts";
import { PAGE } from "../../src/core/native/blocks.ts";
import { libc } from "../../src/core/native/libc.ts";
import { thrown } from "../opencl/help.ts";
import { testMat } from "./help.ts";

/** Something that is not of its type. */
// deno-lint-ignore no-explicit-any -- whatever a program without types may pass
type Anything = any;

/** The arrays that the rows use. */
interface Arrays {
  readonly cv: OpenCVContext;
  readonly colour: OpenCVMat;
  readonly other: OpenCVMat;
  readonly grey: OpenCVMat;
  readonly small: OpenCVMat;
  readonly half: OpenCVMat;
  readonly hue: OpenCVMat;
  readonly volume: OpenCVMat;
  readonly gone: OpenCVMat;
}

type Row = readonly [call: (arrays: Arrays) => unknown, argument: string, kind?: typeof ArgumentError];

const ROWS: readonly Row[] = [
  // Anything but a Mat, or not fit for the function.
  [({ cv, grey }) => cv.Canny(null as Anything, grey, 1, 2), "src"],
  [({ cv, grey }) => cv.Canny(grey, {} as Anything, 1, 2), "dst"],
  [({ cv, grey }) => cv.Canny(new Proxy(grey, {}), grey, 1, 2), "src"],
  [({ cv, half, grey }) => cv.Canny(half, grey, 1, 2), "src", LayoutError],
  [({ cv, colour }) => cv.Canny(colour, colour, 1, 2), "dst", LayoutError],
  [({ cv, volume, grey }) => cv.Canny(volume, grey, 1, 2), "src", LayoutError],
  [({ cv, colour, small }) => cv.copyTo(colour, small), "dst", LayoutError],
  [({ cv, grey, colour }) => cv.copyTo(grey, colour), "dst", LayoutError],
  [({ cv, colour, other, small }) => cv.copyTo(colour, other, { mask: small }), "mask", LayoutError],
  [({ cv, colour, other, half }) => cv.copyTo(colour, other, { mask: half }), "mask", LayoutError],
  [({ cv, colour, other }) => cv.copyTo(colour, other, { mask: null as Anything }), "mask"],
  [({ cv, colour, other }) => cv.copyTo(colour, other, null as Anything), "options"],
  [({ cv, colour, other }) => cv.copyTo(colour, other, { reallocate: 1 as Anything }), "reallocate"],

  // convertTo, flip.
  [({ cv, colour, other }) => cv.convertTo(colour, other, "u32"), "rtype"],
  [({ cv, colour, other }) => cv.convertTo(colour, other, "constructor" as DType), "rtype"],
  [({ cv, colour, other }) => cv.convertTo(colour, other, "f32"), "dst", LayoutError],
  [({ cv, colour, other }) => cv.convertTo(colour, other, "u8", { alpha: NaN }), "alpha"],
  [({ cv, colour, other }) => cv.convertTo(colour, other, "u8", { beta: "1" as Anything }), "beta"],
  [({ cv, colour, other }) => cv.flip(colour, other, 1 as Anything), "flipCode"],
  [({ cv, colour, other }) => cv.flip(colour, other, "toString" as Anything), "flipCode"],

  // cvtColor.
  [({ cv, colour, grey }) => cv.cvtColor(colour, grey, "BGR2GREY" as Anything), "code"],
  [({ cv, colour, grey }) => cv.cvtColor(colour, grey, 6 as Anything), "code"],
  [({ cv, grey, other }) => cv.cvtColor(grey, other, "BGR2GRAY"), "src", LayoutError],
  [({ cv, half, grey }) => cv.cvtColor(half, grey, "BGR2GRAY"), "src", LayoutError],
  [({ cv, colour, other }) => cv.cvtColor(colour, other, "BGR2GRAY"), "dst", LayoutError],
  [({ cv, hue }) => cv.cvtColor(hue, hue, "HLS2BGR"), "src", LayoutError], // it would turn for ever
  [({ cv, grey, colour }) => cv.cvtColor(grey, colour, "YUV2BGR_NV12"), "src", LayoutError], // 16 rows
  [({ cv, small, colour }) => cv.cvtColor(small, colour, "YUV2BGR_NV12"), "src", LayoutError], // 5 columns
  [({ cv, colour, grey }) => cv.cvtColor(colour, grey, "BGR2YUV_I420"), "dst", LayoutError],

  // GaussianBlur.
  ...[[2, 3], [3, -1], [3], [0, 0], [3, NaN], [32769, 3], [2 ** 40 + 1, 3], "3", [3, 3, 3]].map((ksize): Row => [
    ({ cv, colour }) => cv.GaussianBlur(colour, colour, ksize as Anything),
    Array.isArray(ksize) && ksize.length === 2 ? `ksize[${Number(ksize[0] % 2 === 1 && ksize[0] < 32768)}]` : "ksize",
  ]),
  [({ cv, colour }) => cv.GaussianBlur(colour, colour, [3, 3], { sigmaX: -1 }), "sigmaX"],
  [({ cv, colour }) => cv.GaussianBlur(colour, colour, [0, 0], { sigmaX: 1e9 }), "sigmaX"],
  [({ cv, colour }) => cv.GaussianBlur(colour, colour, [3, 3], { sigmaY: Infinity }), "sigmaY"],
  [({ cv, colour }) => cv.GaussianBlur(colour, colour, [3, 3], { border: "wrap" as Anything }), "border"],
  [({ cv, half }) => cv.GaussianBlur(half, half, [3, 3]), "src", LayoutError],

  // Canny, threshold.
  [({ cv, grey }) => cv.Canny(grey, grey, -1, 2), "threshold1"],
  [({ cv, grey }) => cv.Canny(grey, grey, 1, 2 ** 31), "threshold2"],
  [({ cv, grey }) => cv.Canny(grey, grey, 1, 2, { apertureSize: 4 as Anything }), "apertureSize"],
  [({ cv, grey }) => cv.Canny(grey, grey, 1, 2, { apertureSize: -1 as Anything }), "apertureSize"],
  [({ cv, grey }) => cv.Canny(grey, grey, 1, 2, { L2gradient: 1 as Anything }), "L2gradient"],
  [({ cv, grey }) => cv.threshold(grey, grey, NaN, 255, "binary"), "thresh"],
  [({ cv, grey }) => cv.threshold(grey, grey, 2 ** 31, 255, "binary"), "thresh"],
  [({ cv, grey }) => cv.threshold(grey, grey, 1, 1e10, "binary"), "maxval"],
  [({ cv, grey }) => cv.threshold(grey, grey, 1, 255, 8 as Anything), "type"],
  [({ cv, grey }) => cv.threshold(grey, grey, 1, 255, "binary", { search: true as Anything }), "search"],
  [({ cv, colour }) => cv.threshold(colour, colour, 1, 255, "binary", { search: "otsu" }), "src", LayoutError],
  [({ cv, half }) => cv.threshold(half, half, 1, 255, "binary"), "src", LayoutError],

  // resize, warpAffine.
  [({ cv, colour }) => cv.resize(colour, colour, [8, 16]), "dst", LayoutError],
  [({ cv, colour, other }) => cv.resize(colour, other, [0, 16]), "dsize[0]"],
  [({ cv, colour, other }) => cv.resize(colour, other, [8, 2 ** 31]), "dsize[1]"],
  [({ cv, colour, other }) => cv.resize(colour, other, [16, 8]), "dst", LayoutError],
  [
    ({ cv, colour, other }) => cv.resize(colour, other, [8, 16], { interpolation: "best" as Anything }),
    "interpolation",
  ],
  [({ cv, half, other }) => cv.resize(half, other, [8, 16]), "src", LayoutError],
  ...[[1, 2, 3], [1, 0, 0, 0, 1, NaN], [[1, 2, 3]], [[1, 2], [3, 4]], "123456", null, [1, 0, 0, 0, 1, 0, 0]].map((
    M,
  ): Row => [
    ({ cv, colour, other }) => cv.warpAffine(colour, other, M as Anything, [8, 16]),
    Array.isArray(M) && Number.isNaN(M[5]) ? "M[5]" : "M",
  ]),
  [({ cv, colour }) => cv.warpAffine(colour, colour, [1, 0, 0, 0, 1, 0], [8, 16]), "dst", LayoutError],
  [({ cv, colour, other }) => cv.warpAffine(colour, other, [1, 0, 0, 0, 1, 0], [8, 32767]), "dsize[1]"],
  [
    ({ cv, colour, other }) => cv.warpAffine(colour, other, [1, 0, 0, 0, 1, 0], [8, 16], { inverse: 0 as Anything }),
    "inverse",
  ],
  [
    ({ cv, colour, other }) =>
      cv.warpAffine(colour, other, [1, 0, 0, 0, 1, 0], [8, 16], { borderValue: [0, 0, 0, 0, 0] }),
    "borderValue",
  ],
  [
    ({ cv, colour, other }) => cv.warpAffine(colour, other, [1, 0, 0, 0, 1, 0], [8, 16], { borderValue: [0, NaN] }),
    "borderValue[1]",
  ],
];

/** Names that are not OpenCV's here, and what the error says of them. */
const NAMES:
  readonly (readonly [call: (arrays: Pick<Arrays, "cv" | "colour">, name: Anything) => unknown, string, string])[] = [
    [({ cv, colour }, name) => cv.cvtColor(colour, colour, name), "COLOR_BGR2GRAY", 'Leave COLOR_ out: "BGR2GRAY".'],
    [
      ({ cv, colour }, name) => cv.cvtColor(colour, colour, name),
      "cv2.COLOR_BGR2GRAY",
      'Leave COLOR_ out: "BGR2GRAY".',
    ],
    [({ cv, colour }, name) => cv.cvtColor(colour, colour, name), "BGR2GREY", "Near it: BGR2GRAY, BGRA2GRAY, "],
    [({ cv, colour }, name) => cv.cvtColor(colour, colour, name), "rgb2hsv_full", "Near it: RGB2HSV_FULL, "],
    [({ cv, colour }, name) => cv.cvtColor(colour, colour, name), "NV12", "Near it: YUV2BGR_NV12, YUV2RGB_NV12, "],
    [
      ({ cv, colour }, name) => cv.cvtColor(colour, colour, name),
      "q".repeat(2 ** 20),
      "expected one of 142 names",
    ],
    [
      ({ cv, colour }, interpolation) => cv.resize(colour, colour, [1, 1], { interpolation }),
      "INTER_NEAREST_EXACT",
      'lanczos4, got "INTER_NEAREST_EXACT". Leave INTER_ out: "nearest-exact".',
    ],
    [
      ({ cv, colour }, name) => cv.threshold(colour, colour, 1, 2, name),
      "THRESH_BINARY_INV",
      'Leave THRESH_ out: "binary-inv".',
    ],
    [
      ({ cv, colour }, border) => cv.GaussianBlur(colour, colour, [3, 3], { border }),
      "BORDER_REFLECT_101",
      'out: "reflect-101".',
    ],
    [({ cv }, name) => cv.imdecode(Uint8Array.of(1), name), "IMREAD_GRAYSCALE", 'Leave IMREAD_ out: "grayscale".'],
  ];

testMat("operations say which name may have been meant, and never list a hundred", () => {
  using cv = OpenCVContext.open();
  using colour = cv.mat.create({ shape: [16, 8, 3], dtype: "u8" });
  for (const [call, name, says] of NAMES) {
    const { message } = thrown(ArgumentError, () => call({ cv, colour }, name));
    assertStringIncludes(message, says);
    assert(message.length < name.length + 300, message);
  }
});

testMat("operations say the size that does not fit by rows and columns", () => {
  using cv = OpenCVContext.open();
  using colour = cv.mat.create({ shape: [16, 8, 3], dtype: "u8" });
  using line = cv.mat.create({ shape: [1, 320, 3], dtype: "u8" });
  const { message } = thrown(LayoutError, () => cv.resize(colour, line, [320, 240]));
  assertStringIncludes(
    message,
    "resize makes 240 rows × 320 columns of CV_8UC3; opencv mat [1,320,3] u8 is 1 row × 320",
  );
});

testMat("operations name the argument that they refuse, and write nothing", () => {
  using cv = OpenCVContext.open();
  using colour = cv.mat.create({ shape: [16, 8, 3], dtype: "u8" });
  using other = cv.mat.create({ shape: [16, 8, 3], dtype: "u8" });
  using grey = cv.mat.create({ shape: [16, 8], dtype: "u8" });
  using small = cv.mat.create({ shape: [3, 5], dtype: "u8" });
  using half = cv.mat.create({ shape: [16, 8, 3], dtype: "f16" });
  using hue = cv.mat.create({ shape: [16, 8, 3], dtype: "f32" });
  using volume = cv.mat.create({ shape: [4, 4, 4, 4], dtype: "u8" });
  const gone = cv.mat.create({ shape: [16, 8], dtype: "u8" });
  gone[Symbol.dispose]();
  for (const [call, argument, kind = ArgumentError] of ROWS) {
    const error = thrown<ArgumentError>(kind, () => call({ cv, colour, other, grey, small, half, hue, volume, gone }));
    assertEquals([error.constructor, error.argument, error.code], [kind, argument, undefined], String(call));
  }
});

testMat("resize: pixels of two bytes at the very edge of memory, beyond which OpenCV would read", () => {
  const page = BigInt(PAGE);
  const kind = MAP_PRIVATE | MAP_ANONYMOUS;
  const around = libc().mmap(NULL, 3n * page, PROT_NONE, kind, -1, 0n);
  const inside = libc().mmap(around + page as typeof around, page, PROT_READ | PROT_WRITE, kind | MAP_FIXED, -1, 0n);
  assertEquals(inside, around + page);
  {
    using cv = OpenCVContext.open();
    using graph = new MapperGraph([host, cv]);
    using wide = cv.mat.create({ shape: [200, 200], dtype: "u16" });
    const resize = (at: bigint, interpolation: "nearest" | "nearest-exact" = "nearest") => {
      using memory = host.wrap(inside + at, { shape: [4, 4], dtype: "u16" });
      using src = graph.map(memory, cv.mat);
      cv.resize(src, wide, [200, 200], { interpolation });
    };
    for (const [at, where] of [[0n, "in front of it"], [page - 32n, "behind it"]] as const) {
      const error = thrown(LayoutError, () => resize(at));
      assertEquals([error.argument, error.fn], ["src", "resize"]);
      assertStringIncludes(error.message, where);
      resize(at, "nearest-exact");
    }
    resize(2n);
    resize(page - 34n);
  }
  assertEquals(libc().munmap(around, 3n * page), 0);
});
