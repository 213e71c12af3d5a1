// Image files that somebody else made: cut anywhere, broken, or too large. Either the pixels are the same, or there is a
// typed error; no open file and no temporary file is left.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import sharp from "sharp";
import { host, InteropError, MapperGraph, NativeCallError } from "@samepage/interop";
import { OpenCVContext, OpenCVError, type OpenCVMat } from "@samepage/interop/opencv";
import { thrown } from "../opencl/help.ts";
import { runModule } from "../process.ts";
import { pattern, testMat } from "./help.ts";
import { tiff, type TiffKind } from "./tiff.ts";

const TIFFS: Readonly<Record<string, TiffKind>> = {
  "grey TIFF": { samples: 1 },
  "TIFF of one strip": { samples: 3, rows: 99 },
  "palette TIFF": { samples: 1, palette: "before" },
  "palette TIFF, its colours behind the pixels": { samples: 1, palette: "behind" },
  "planar TIFF": { samples: 3, planar: true },
  "planar TIFF of Motorola's": { samples: 3, planar: true, motorola: true },
  "planar BigTIFF": { samples: 3, planar: true, big: true },
  "tiled TIFF": { samples: 3, tiled: true },
  "tiled planar TIFF": { samples: 3, tiled: true, planar: true },
  "tiled palette TIFF": { samples: 1, tiled: true, palette: "behind" },
};

const ENDINGS = [
  ...[".png", ".bmp", ".tiff", ".webp", ".jp2", ".ppm", ".pam", ".pfm", ".hdr", ".pic", ".ras", ".exr"],
];

/** Cuts of a file: not more than so many. */
const CUTS = 150;

function bytesOf(cv: OpenCVContext, mat: OpenCVMat): Uint8Array {
  using graph = new MapperGraph([host, cv]);
  using view = graph.map(mat, host, { access: "read" });
  return view.bytes().slice();
}

/** An image of `dtype` with edges and plains. */
function imageOf(cv: OpenCVContext, dtype: "u8" | "f32"): OpenCVMat {
  const mat = cv.mat.create({ shape: [40, 48, 3], dtype });
  using graph = new MapperGraph([host, cv]);
  using view = graph.map(mat, host);
  const values = pattern(view.view().length, 5);
  (view.view() as Float32Array).forEach((_, i, all) => all[i] = i % 400 < 200 ? values[i] : 90);
  return mat;
}

/** A file of every format and kind. */
async function files(cv: OpenCVContext): Promise<[name: string, file: Uint8Array<ArrayBuffer>][]> {
  using bytes = imageOf(cv, "u8");
  using floats = imageOf(cv, "f32");
  const photo = sharp(new URL("../../examples/edges/photo.jpg", import.meta.url).pathname).resize(48, 40);
  const made = async (image: typeof photo) => new Uint8Array(await image.toBuffer());
  return [
    ...ENDINGS.map((ending): [string, Uint8Array<ArrayBuffer>] => [
      ending,
      cv.imencode(ending, ending === ".exr" ? floats : bytes),
    ]),
    ["TIFF of floats", cv.imencode(".tiff", floats)],
    ...Object.entries(TIFFS).map(([name, kind]): [string, Uint8Array<ArrayBuffer>] => [name, tiff(kind, 50, 40)]),
    ["TIFF of LZW", await made(photo.clone().tiff({ compression: "lzw" }))],
    ["interlaced palette PNG", await made(photo.clone().png({ palette: true, progressive: true }))],
    ["lossy WebP", await made(photo.clone().webp({ quality: 50 }))],
  ];
}

/** Some lengths below `length`, and the last ones. */
function cutsOf(length: number): number[] {
  const step = Math.max(1, Math.floor(length / CUTS));
  return [...new Set([...Array.from({ length: CUTS }, (_, i) => i * step), length - 2, length - 1])]
    .filter((cut) => cut > 0 && cut < length);
}

/** What this process has open of images: files in a folder, and those in memory. */
function openImages(folder: string): string[] {
  const targets = Deno.readDirSync("/proc/self/fd").toArray().map(({ name }) => {
    try {
      return Deno.readLinkSync(`/proc/self/fd/${name}`);
    } catch {
      return ""; // the folder's own fd
    }
  });
  return targets.filter((target) => target.startsWith(folder) || target.startsWith("/memfd:samepage-image"));
}

/** Runs something with a folder for OpenCV's temporary files, and asserts that none is left there, and none is open. */
async function leavingNothing(run: (temporary: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  Deno.env.set("OPENCV_TEMP_PATH", folder);
  try {
    await run(folder);
    assertEquals(openImages(folder), [], "open files");
    assertEquals(Deno.readDirSync(folder).toArray(), [], "temporary files");
  } finally {
    Deno.env.delete("OPENCV_TEMP_PATH");
    await Deno.remove(folder, { recursive: true });
  }
}

testMat("files: of any format, cut anywhere, come the same pixels or a typed error", () =>
  leavingNothing(async () => {
    using cv = OpenCVContext.open();
    for (const [name, file] of await files(cv)) {
      using whole = cv.imdecode(file, "unchanged");
      const pixels = bytesOf(cv, whole);
      for (const cut of cutsOf(file.length)) {
        let image: OpenCVMat;
        try {
          image = cv.imdecode(file.slice(0, cut), "unchanged");
        } catch (error) {
          assert(error instanceof NativeCallError, `${name} cut at ${cut}: ${error}`);
          continue;
        }
        using _ = image;
        assertEquals(
          [image.type, bytesOf(cv, image)],
          [whole.type, pixels],
          `${name} of ${file.length}, cut at ${cut}`,
        );
      }
    }
  }));

testMat("files: a JPEG that is cut keeps the rows that are there, or is a typed error", () => {
  using cv = OpenCVContext.open();
  using image = imageOf(cv, "u8");
  const file = cv.imencode(".jpg", image);
  using whole = cv.imdecode(file);
  for (const cut of cutsOf(file.length)) {
    try {
      using cutOff = cv.imdecode(file.slice(0, cut));
      assertEquals([cutOff.type, cutOff.layout.shape], [whole.type, whole.layout.shape]);
    } catch (error) {
      assert(error instanceof NativeCallError, String(error));
    }
  }
});

testMat("files: the error of a cut TIFF says what is missing", () => {
  using cv = OpenCVContext.open();
  const file = tiff({ samples: 3, planar: true }, 50, 40);
  const error = thrown(NativeCallError, () => cv.imdecode(file.slice(0, file.length / 2)));
  assertEquals([error.api, error.fn], ["opencv", "imdecode"]);
  assertStringIncludes(error.message, "is not a whole image: its strip 7 of 15 ends beyond the file");
  const table = tiff({ samples: 1, palette: "behind" }, 50, 40);
  assertStringIncludes(
    thrown(NativeCallError, () => cv.imdecode(table.slice(0, -1))).message,
    "its tag 320 ends beyond the file",
  );
  for (const [tag, what] of [[279, "does not say how long its strip 0 is"], [273, "its strip 0 of 15 ends"]] as const) {
    const broken = file.slice();
    const view = new DataView(broken.buffer);
    const entry = Array.from({ length: view.getUint16(8, true) }, (_, i) => 10 + 12 * i)
      .find((at) => view.getUint16(at, true) === tag)!;
    view.setUint32(view.getUint32(entry + 8, true), tag === 279 ? 0 : 2 ** 32 - 1, true);
    assertStringIncludes(thrown(NativeCallError, () => cv.imdecode(broken)).message, what);
  }
});

/** A Radiance picture. */
function radiance(
  size: string,
  pixels: readonly number[],
  header = "FORMAT=32-bit_rle_rgbe\n",
): Uint8Array<ArrayBuffer> {
  return new Uint8Array([...new TextEncoder().encode(`#?RADIANCE\n${header}\n${size}\n`), ...pixels]);
}

const FLAT = Array.from({ length: 16 }, (_, i) => 100 + i);
const ROW = [2, 2, 0, 8, 136, 1, 136, 2, 136, 3, 136, 128];

testMat("files: whole Radiance pictures are read, however they are packed and described", () =>
  leavingNothing(() => {
    using cv = OpenCVContext.open();
    for (
      const [file, shape] of [
        [radiance("-Y 2 +X 2", FLAT), [2, 2, 3]],
        [radiance("-Y 2 +X 8", [...ROW, ...ROW]), [2, 8, 3]],
        [radiance("-Y 1 +X 8", [2, 2, 0, 8, 8, 1, 2, 3, 4, 5, 6, 7, 8, 136, 2, 136, 3, 4, 1, 1, 1, 1, 132, 5]), [
          1,
          8,
          3,
        ]],
        [radiance("-Y 2 +X 8", [...ROW, ...Array(32).fill(9)]), [2, 8, 3]], // the second row is not packed
        [radiance("-Y 2 +X 2", FLAT, `# ${"long ".repeat(100)}\nEXPOSURE=1.5\nFORMAT=32-bit_rle_rgbe\n`), [2, 2, 3]],
        [radiance("-Y 2 +X 2", [...FLAT, 1, 2, 3]), [2, 2, 3]],
      ] as const
    ) {
      using image = cv.imdecode(file, "unchanged");
      assertEquals([image.type, image.layout.shape], ["CV_32FC3", shape]);
    }
  }));

testMat(
  "files: a broken Radiance picture is an error that says where, and leaves no file open",
  () =>
    leavingNothing(() => {
      using cv = OpenCVContext.open();
      for (
        const [file, what] of [
          [radiance("-Y 2 +X 2", FLAT.slice(1)), "it ends in row 0 of 2"],
          [radiance("-Y 2 +X 8", ROW), "it ends in row 1 of 2"],
          [radiance("-Y 2 +X 8", [...ROW, ...ROW.slice(0, 9)]), "it ends in row 1 of 2"],
          [radiance("-Y 2 +X 9", [...ROW, ...ROW]), "there is another width in row 0 of 2"],
          [radiance("-Y 1 +X 8", [2, 2, 0, 8, 137, 1]), "there is a run of a wrong length in row 0 of 1"],
          [radiance("-Y 1 +X 8", [2, 2, 0, 8, 0, 1]), "there is a run of a wrong length in row 0 of 1"],
          [radiance("-Y 0 +X 8", ROW), "its size is 8 × 0"],
          [radiance("-Y 4294967296 +X 8", ROW), "its size is 8 × 4294967296"],
          [radiance("+Y 2 +X 2", FLAT), "does not say its size"],
          [radiance("-Y 2 +X 2", FLAT, "FORMAT=32-bit_rle_xyze\n"), "does not say FORMAT=32-bit_rle_rgbe"],
          [new TextEncoder().encode("#?RGBE\nFORMAT=32-bit_rle_rgbe\n"), "its header ends early"],
        ] as const
      ) {
        const error = thrown(NativeCallError, () => cv.imdecode(file));
        assertStringIncludes(
          error.message,
          `is not a whole image: ${what.startsWith("does") ? `its header ${what}` : what}`,
        );
      }
    }),
);

testMat("files: Radiance pictures with bytes that were changed leave no file open", () =>
  leavingNothing(() => {
    using cv = OpenCVContext.open();
    using image = imageOf(cv, "f32");
    const file = cv.imencode(".hdr", image);
    let seed = 1;
    const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
    for (let i = 0; i < 2000; i++) {
      const changed = file.slice();
      for (let j = 0; j <= i % 3; j++) changed[random(i % 2 === 0 ? 80 : file.length)] = random(256);
      try {
        cv.imdecode(changed, "unchanged")[Symbol.dispose]();
      } catch (error) {
        assert(error instanceof InteropError, String(error));
      }
    }
  }));

/** A PFM, whose header alone says how large it is. */
function pfm(width: number, height: number): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`PF\n${width} ${height}\n-1.0\n`);
}

testMat("files: a refused size has a remedy, and leaves no file behind", () =>
  leavingNothing(() => {
    using cv = OpenCVContext.open();
    const wide = 2 ** 20 + 1;
    const files = [
      pfm(wide, 1),
      pfm(1, wide),
      pfm(2 ** 16, 2 ** 16),
      radiance(`-Y 1 +X ${wide}`, Array(4 * wide).fill(7)),
    ];
    for (const file of files) {
      const error = thrown(OpenCVError, () => cv.imdecode(file));
      assertEquals([error.codeName, error.thrownBy], ["StsAssert", "validateInputImageSize"]);
      assertStringIncludes(error.hint!, "OPENCV_IO_MAX_IMAGE_PIXELS");
    }
  }));

testMat("files: limits that are set before the program starts hold, and leave no file open", async () => {
  const text = `
    import { OpenCVContext } from "@samepage/interop/opencv";
    using cv = OpenCVContext.open();
    const bytes = (text, ...more) => new Uint8Array([...new TextEncoder().encode(text), ...more]);
    const flat = Array(4 * 12).fill(9);
    for (const file of [bytes("#?RGBE\\nFORMAT=32-bit_rle_rgbe\\n\\n-Y 3 +X 4\\n", ...flat), bytes("P5\\n4 3\\n255\\n", ...flat)]) {
      try {
        cv.imdecode(file)[Symbol.dispose]();
        console.log("decoded");
      } catch (error) {
        console.log(error.thrownBy);
      }
    }
    const open = Deno.readDirSync("/proc/self/fd").map(({ name }) => name).toArray();
    const targets = open.map((fd) => { try { return Deno.readLinkSync("/proc/self/fd/" + fd); } catch { return ""; } });
    console.log(targets.filter((target) => /samepage-image|opencv_temp/.test(target)).length);
  `;
  for (const [pixels, said] of [["11", "validateInputImageSize"], ["12", "decoded"]]) {
    const { stdout, stderr } = await runModule(text, { env: { OPENCV_IO_MAX_IMAGE_PIXELS: pixels } });
    assertEquals(stdout.trim().split("\n"), [said, said, "0"], stderr);
  }
});

testMat("files: OpenCV makes no temporary file, whatever the format", () => {
  Deno.env.set("OPENCV_TEMP_PATH", "/nonexistent");
  try {
    using cv = OpenCVContext.open();
    using image = imageOf(cv, "f32");
    for (const ending of [...ENDINGS, ".HDR", ".jpg"]) {
      using decoded = cv.imdecode(cv.imencode(ending, image), "unchanged");
      assertEquals([decoded.rows, decoded.cols], [40, 48], ending);
    }
  } finally {
    Deno.env.delete("OPENCV_TEMP_PATH");
  }
});

testMat("files: what a format cannot hold is a typed error, and leaves no temporary file", () =>
  leavingNothing(() => {
    using cv = OpenCVContext.open();
    using small = cv.mat.create({ shape: [8, 8, 3], dtype: "u8" }); // OpenCV wants six levels of JPEG 2000
    const error = thrown(NativeCallError, () => cv.imencode(".jp2", small));
    assertEquals(error.api, "opencv");
    assertStringIncludes(error.message, "as .jp2");
  }));

/** Formats that OpenCV can read, and not write: the bytes that identify each, and where. */
const FOREIGN = [["DICM", 128], ["NITF", 0], ["DTED", 140]] as const;

testMat(
  "files: OpenCV makes no temporary file of a format that it reads from files alone",
  () =>
    leavingNothing(async (temporary) => {
      using cv = OpenCVContext.open();
      using watcher = Deno.watchFs(temporary);
      for (const [text, at] of FOREIGN) {
        const file = new Uint8Array(4096).fill(32);
        file.set(new TextEncoder().encode(text), at);
        thrown(NativeCallError, () => cv.imdecode(file));
      }
      Deno.writeTextFileSync(`${temporary}/last`, "");
      for await (const { paths } of watcher) {
        assertEquals(paths, [`${temporary}/last`]);
        break;
      }
      Deno.removeSync(`${temporary}/last`);
    }),
);
