// Image files: read and written by OpenCV, or from and into memory; anything but an image; what Deno does not permit.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { AccessError, ArgumentError, host, LayoutError, ledger, MapperGraph, NativeCallError } from "@samepage/interop";
import { OpenCVContext, OpenCVError, type OpenCVMat, type ReadMode } from "@samepage/interop/opencv";
import { thrown } from "../opencl/help.ts";
import { noSmallDisk, onSmallDisk } from "../full_disk.ts";
import { named } from "../package/readme.ts";
import { pattern, present, testMat } from "./help.ts";

/** What is missing for a full disk, in words. */
const noDisk = present ? noSmallDisk : "OpenCV";

const PHOTO = new URL("../../examples/edges/photo.jpg", import.meta.url).pathname;
const ROOT = new URL("../../", import.meta.url).pathname;

/** Runs something with a folder of its own. */
async function inFolder(run: (path: (name: string) => string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "samepage-images-" });
  try {
    await run((name) => `${folder}/${name}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** An image of bytes that say where they are. */
function imageOf(cv: OpenCVContext, shape: readonly number[], dtype: "u8" | "u16" | "f32" = "u8"): OpenCVMat {
  const mat = cv.mat.create({ shape, dtype });
  using graph = new MapperGraph([host, cv]);
  using view = graph.map(mat, host);
  const values = pattern(view.view().length, 3);
  (view.view() as Float64Array).forEach((_, i, all) => all[i] = dtype === "u16" ? values[i] * 257 : values[i]);
  return mat;
}

function bytesOf(cv: OpenCVContext, mat: OpenCVMat): Uint8Array {
  using graph = new MapperGraph([host, cv]);
  using view = graph.map(mat, host, { access: "read" });
  return view.bytes().slice();
}

testMat("files: what is written without loss is read again, of every depth and number of channels", async () => {
  using cv = OpenCVContext.open();
  await inFolder((path) => {
    for (
      const [name, shape, dtype] of [
        ["grey.png", [9, 7], "u8"],
        ["colour.png", [9, 7, 3], "u8"],
        ["alpha.png", [9, 7, 4], "u8"],
        ["deep.png", [9, 7, 3], "u16"],
        ["colour.bmp", [9, 7, 3], "u8"],
        ["colour.webp", [9, 7, 3], "u8"],
        ["grey.pgm", [9, 7], "u16"],
        ["float.tiff", [9, 7], "f32"],
        ["ünïcode 画像.png", [9, 7, 3], "u8"],
      ] as const
    ) {
      using image = imageOf(cv, shape, dtype);
      cv.imwrite(path(name), image);
      using read = cv.imread(path(name), "unchanged");
      assertEquals([read.type, bytesOf(cv, read)], [image.type, bytesOf(cv, image)], name);
      const ending = name.slice(name.lastIndexOf("."));
      const encoded = cv.imencode(ending, image);
      assertEquals(encoded, Deno.readFileSync(path(name)), name);
      using decoded = cv.imdecode(encoded, "unchanged");
      assertEquals(bytesOf(cv, decoded), bytesOf(cv, image), name);
    }
  });
});

testMat("files: the modes say depth, channels and size; options say how well it is packed", () => {
  using cv = OpenCVContext.open();
  using colour = imageOf(cv, [64, 96, 3], "u16");
  const file = cv.imencode(".png", colour);
  const modes: Partial<Record<ReadMode, [string, number[]]>> = {
    "color": ["CV_8UC3", [64, 96, 3]],
    "grayscale": ["CV_8UC1", [64, 96]],
    "unchanged": ["CV_16UC3", [64, 96, 3]],
    "anydepth": ["CV_16UC1", [64, 96]],
    "anycolor": ["CV_8UC3", [64, 96, 3]],
    "anycolor-anydepth": ["CV_16UC3", [64, 96, 3]],
    "reduced-color-2": ["CV_8UC3", [32, 48, 3]],
    "reduced-grayscale-8": ["CV_8UC1", [8, 12]],
  };
  for (const [mode, [type, shape]] of Object.entries(modes)) {
    using image = cv.imdecode(file, mode as ReadMode, { ignoreOrientation: true });
    assertEquals([image.type, image.layout.shape], [type, shape], mode);
  }
  using photo = cv.imread(PHOTO);
  const length = (ending: string, options: Parameters<OpenCVContext["imencode"]>[2]) =>
    cv.imencode(ending, photo, options).length;
  assert(length(".jpg", { jpegQuality: 20 }) < length(".jpg", { jpegQuality: 95 }) / 2);
  assert(length(".jpg", { jpegOptimize: true }) < length(".jpg", { jpegOptimize: false }));
  assert(length(".webp", { webpQuality: 10 }) < length(".webp", {}));
  assert(length(".png", { pngCompression: 9 }) < length(".png", { pngCompression: 0 }));
  const plain = cv.imencode(".jpg", photo);
  assert(plain.join() !== cv.imencode(".jpg", photo, { jpegProgressive: true }).join());
});

testMat("files: a JPEG that ends early is filled up, as in C++", async () => {
  using cv = OpenCVContext.open();
  using whole = cv.imread(PHOTO);
  const file = Deno.readFileSync(PHOTO);
  const half = file.slice(0, file.length / 2);
  await inFolder((path) => {
    Deno.writeFileSync(path("half.jpg"), half);
    for (const image of [cv.imdecode(half), cv.imread(path("half.jpg"))]) {
      using _ = image;
      assertEquals([image.rows, image.cols, image.channels], [whole.rows, whole.cols, 3]);
    }
  });
});

testMat("files: an image that OpenCV has made is mapped as any other, and lives as long as it is needed", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  const before = ledger.alive;
  const photo = cv.imread(PHOTO);
  {
    using view = graph.map(photo, host);
    assertEquals(view.address, photo.address);
    thrown(AccessError, () => cv.GaussianBlur(photo, photo, [3, 3]));
  }
  cv.GaussianBlur(photo, photo, [3, 3]);
  photo[Symbol.dispose]();
  assertEquals(ledger.alive, before);
});

testMat("files: anything but an image, or only a part of one, is an error that says so", async () => {
  using cv = OpenCVContext.open();
  const photo = Deno.readFileSync(PHOTO);
  using image = imageOf(cv, [20, 30, 3]);
  const png = cv.imencode(".png", image);
  for (
    const bytes of [
      ...[pattern(1), pattern(5000), new TextEncoder().encode("a text")],
      ...[png.slice(0, 20), png.slice(0, 60), new Uint8Array(100), photo.slice(0, 100)],
    ]
  ) {
    const error = thrown(NativeCallError, () => cv.imdecode(bytes));
    assertEquals([error.api, error.fn], ["opencv", "imdecode"]);
  }
  thrown(NativeCallError, () => cv.imdecode(png.slice(0, -100)));
  await inFolder((path) => {
    Deno.writeTextFileSync(path("text.png"), "a text");
    Deno.writeFileSync(path("empty.png"), new Uint8Array());
    for (const name of ["text.png", "empty.png"]) {
      const error = thrown(NativeCallError, () => cv.imread(path(name)));
      assertEquals([error.api, error.fn], ["opencv", "imread"]);
      assertStringIncludes(error.message, path(name));
    }
    for (const name of ["none.png", "none/none.png", ""]) {
      const error = thrown(ArgumentError, () => cv.imread(name === "" ? path("") : path(name)));
      assertEquals(error.argument, "filename");
    }
    for (const name of ["", "a\0b", 7, null] as string[]) {
      assertEquals(thrown(ArgumentError, () => cv.imread(name)).argument, "filename");
    }
  });
});

testMat("files: an image that says it is larger than any is refused before memory is made for it", () => {
  using cv = OpenCVContext.open();
  for (const [width, height] of [[2 ** 20 + 1, 1], [1, 2 ** 20 + 1], [2 ** 16, 2 ** 16]]) {
    // A BMP of 24 bits a pixel: its header says how large it is.
    const bmp = new DataView(new ArrayBuffer(54));
    bmp.setUint16(0, 0x4d42, true);
    bmp.setUint32(10, 54, true);
    bmp.setUint32(14, 40, true);
    bmp.setInt32(18, width, true);
    bmp.setInt32(22, height, true);
    bmp.setUint16(26, 1, true);
    bmp.setUint16(28, 24, true);
    const error = thrown(OpenCVError, () => cv.imdecode(new Uint8Array(bmp.buffer)));
    assertEquals([error.codeName, error.thrownBy], ["StsAssert", "validateInputImageSize"]);
  }
});

testMat("files: bytes that cannot be decoded where they are", () => {
  using cv = OpenCVContext.open();
  const gone = new Uint8Array(10);
  gone.buffer.transfer();
  const shared = new Uint8Array(new SharedArrayBuffer(10)) as unknown as Uint8Array<ArrayBuffer>;
  for (const buf of [new Uint8Array(), gone, shared, null, "text", [1, 2]] as Uint8Array<ArrayBuffer>[]) {
    assertEquals(thrown(ArgumentError, () => cv.imdecode(buf)).argument, "buf");
  }
  // What an array says of its own length does not count.
  const lying = Object.defineProperty(pattern(64), "byteLength", { value: 2 ** 30 });
  thrown(NativeCallError, () => cv.imdecode(lying));
});

testMat("files: what cannot be written, is refused before a file is made", async () => {
  using cv = OpenCVContext.open();
  using image = imageOf(cv, [9, 7, 3]);
  await inFolder((path) => {
    for (const name of ["a.xyz", "png", "a.", "a.png/"]) {
      assertEquals(thrown(ArgumentError, () => cv.imwrite(path(name), image)).argument, "filename", name);
    }
    for (const ext of ["png", ".xyz", "", "\0.png"]) {
      assertEquals(thrown(ArgumentError, () => cv.imencode(ext, image)).argument, "ext", ext);
    }
    using two = imageOf(cv, [9, 7, 2]);
    using grey = imageOf(cv, [9, 7]);
    using half = cv.mat.create({ shape: [9, 7], dtype: "f16" });
    for (const [name, wrong] of [["a.png", two], ["a.png", half], ["a.ppm", grey], ["a.pgm", image]] as const) {
      assertEquals(thrown(LayoutError, () => cv.imwrite(path(name), wrong)).argument, "img", name);
    }
    for (const options of [{ jpegQuality: 101 }, { pngCompression: 1.5 }, { jpegProgressive: 1 as unknown as true }]) {
      assertEquals(
        thrown(ArgumentError, () => cv.imwrite(path("a.png"), image, options)).argument,
        Object.keys(options)[0],
      );
    }
    assertEquals(thrown(ArgumentError, () => cv.imwrite(path("none/a.png"), image)).argument, "filename");
    assertEquals([...Deno.readDirSync(path(""))].length, 0);
  });
});

testMat("files: Deno's permissions hold for OpenCV too", async () => {
  await inFolder(async (path) => {
    Deno.writeFileSync(path("inside.jpg"), Deno.readFileSync(PHOTO));
    const program = `
import { OpenCVContext } from "@samepage/interop/opencv";
using cv = OpenCVContext.open();
const tried = (what, attempt) => {
  try {
    attempt()?.[Symbol.dispose]();
    console.log(what, "done");
  } catch (error) {
    console.log(what, error.name, error.flag);
  }
};
using image = cv.mat.create({ shape: [4, 4], dtype: "u8" });
tried("read", () => cv.imread(Deno.args[0]));
tried("read elsewhere", () => cv.imread(Deno.args[1]));
tried("write", () => cv.imwrite(Deno.args[2], image));
tried("write elsewhere", () => cv.imwrite(Deno.args[3], image));
`;
    Deno.writeTextFileSync(path("main.ts"), program);
    const files = [path("inside.jpg"), PHOTO, path("new.png"), "/tmp/samepage-elsewhere.png"];
    const permissions = [`--allow-read=${path("inside.jpg")}`, `--allow-write=${path("new.png")}`];
    for (const given of [[], permissions]) {
      const args = [
        "run",
        "--no-prompt",
        "--no-check",
        "--no-lock",
        "--config",
        `${ROOT}deno.json`,
        "--allow-ffi",
        ...given,
      ];
      const { stdout } = await new Deno.Command(Deno.execPath(), { args: [...args, path("main.ts"), ...files] })
        .output();
      const denied = (what: "read" | "write", file: string) => `PermissionError --allow-${what}=${file}`;
      const done = given.length > 0;
      assertEquals(new TextDecoder().decode(stdout).trim().split("\n"), [
        `read ${done ? "done" : denied("read", files[0])}`,
        `read elsewhere ${denied("read", files[1])}`,
        `write ${done ? "done" : denied("write", files[2])}`,
        `write elsewhere ${denied("write", files[3])}`,
      ]);
    }
  });
});

/** Formats, and what OpenCV keeps of the pixels in them. */
const ENDINGS = [
  ...[".png", ".jpg", ".bmp", ".tiff", ".webp", ".jp2", ".ppm", ".pam", ".pfm", ".hdr", ".pic", ".ras", ".sr"],
];

Deno.test({
  name: named("files: on a full disk no format is written in part, and an old file stays as it was", noDisk),
  ignore: noDisk !== undefined,
  fn: () =>
    onSmallDisk(4 * 4096, (folder) => {
      using cv = OpenCVContext.open();
      using image = imageOf(cv, [200, 300, 3]);
      const path = (name: string) => `${folder}/${name}`;
      for (const ending of ENDINGS) {
        const failed = thrown(ArgumentError, () => cv.imwrite(path(`new${ending}`), image));
        assertEquals([failed.api, failed.argument], ["opencv", "filename"]);
        assertStringIncludes(failed.message, "No space left on device");
        assertStringIncludes(failed.message, "no file is left");
        Deno.writeTextFileSync(path(`old${ending}`), "old");
        const again = thrown(ArgumentError, () => cv.imwrite(path(`old${ending}`), image));
        assertStringIncludes(again.message, "the file is as it was");
        assertEquals(Deno.readTextFileSync(path(`old${ending}`)), "old");
        assertEquals(Deno.readDirSync(folder).map(({ name }) => name).toArray(), [`old${ending}`]);
        Deno.removeSync(path(`old${ending}`));
      }
    }),
});

testMat(
  "files: a file is replaced whole, be the new one longer or shorter, and by way of a symbolic link",
  async () => {
    using cv = OpenCVContext.open();
    await inFolder((path) => {
      Deno.symlinkSync(path("file.bmp"), path("link.bmp"));
      for (const [name, rows] of [["file", 9], ["file", 30], ["link", 4], ["link", 20], ["file", 1]] as const) {
        using image = imageOf(cv, [rows, 7, 3]);
        cv.imwrite(path(`${name}.bmp`), image);
        assertEquals(Deno.readFileSync(path("file.bmp")), cv.imencode(".bmp", image));
        using read = cv.imread(path(`${name}.bmp`));
        assertEquals(bytesOf(cv, read), bytesOf(cv, image));
      }
      assertEquals(Deno.lstatSync(path("link.bmp")).isSymlink, true);
    });
  },
);
