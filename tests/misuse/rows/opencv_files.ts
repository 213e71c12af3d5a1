import { ArgumentError, DisposedError, host, LayoutError, NativeCallError, PermissionError } from "@samepage/interop";
import { type OpenCVContext, OpenCVError, type OpenCVMat } from "@samepage/interop/opencv";
import { any, fails, safe, say } from "../kit.ts";
import { eye, photo, vision } from "../opencv.ts";
import { type Row, table } from "../row.ts";

const FORMATS = [".png", ".jpg", ".bmp", ".tiff", ".webp", ".jp2", ".ppm", ".pfm", ".hdr", ".ras", ".exr"];

/** Anything but a path, or an ending. */
const RUBBISH: readonly unknown[] = [undefined, null, "", "\0", "x.png\0.jpg", 5, NaN, {}, [], ["a.png"], () => {}, 2n];

/** A picture in a format. */
function encoded({ cv }: { cv: OpenCVContext }, format: string): Uint8Array<ArrayBuffer> | undefined {
  using image = cv.mat.create({ shape: [16, 16, 3], dtype: "u8" });
  return safe(format, () => cv.imencode(format, image));
}

/** Decodes; what comes of it is an image, or a typed error. */
function decode({ cv }: { cv: OpenCVContext }, bytes: Uint8Array<ArrayBuffer>): void {
  const image: OpenCVMat | undefined = safe("imdecode", () => cv.imdecode(bytes, "unchanged"));
  image?.[Symbol.dispose]();
}

/** Reads a file, or writes one. */
function denied(flags: string[], run: (cv: OpenCVContext) => unknown, what: "read" | "write", path: string): Row {
  return {
    flags: ["--allow-ffi", ...flags],
    run() {
      using e = eye();
      run(e.cv);
    },
    fails: {
      ...{ error: PermissionError, api: "opencv", argument: "filename" },
      message: new RegExp(`Deno does not permit to ${what} ${path}`),
      hint: new RegExp(`Run with --allow-${what}=${path}`),
      has: { flag: new RegExp(`--allow-${what}=${path}`) },
    },
  };
}

function write(cv: OpenCVContext, path: string): void {
  using image = cv.mat.create({ shape: [8, 8], dtype: "u8" });
  cv.imwrite(path, image);
}

export default table(import.meta, {
  "invalid paths": {
    flags: ["--allow-all"],
    run() {
      using e = eye();
      using image = e.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      for (const path of RUBBISH) {
        fails("imread", () => e.cv.imread(any(path)), ArgumentError);
        fails("imwrite", () => e.cv.imwrite(any(path), image), ArgumentError);
        fails("imencode", () => e.cv.imencode(any(path), image), ArgumentError);
      }
      e.cv.imread("");
    },
    fails: { error: ArgumentError, api: "opencv", argument: "filename", message: /expected a path, got / },
  },
  "invalid files": {
    flags: ["--allow-all"],
    run() {
      using e = eye();
      for (
        const path of ["/nonexistent.png", "/tmp", "/dev/null", "/proc/self/mem", "/dev/stdin", "x".repeat(10_000)]
      ) {
        fails(path.slice(0, 20), () => e.cv.imread(path), ArgumentError, NativeCallError);
      }
      fails("a text", () => e.cv.imread(import.meta.filename!), NativeCallError);
      fails("a folder", () => write(e.cv, "/tmp"), ArgumentError);
      fails("nowhere", () => write(e.cv, "/nonexistent/x.png"), ArgumentError);
      e.cv.imread("/nonexistent.png");
    },
    fails: { error: ArgumentError, api: "opencv", argument: "filename", message: /\/nonexistent\.png cannot be read/ },
  },
  "a FIFO, a device and a folder in place of a file": {
    flags: ["--allow-all"],
    run() {
      using e = eye();
      const folder = Deno.makeTempDirSync();
      try {
        new Deno.Command("mkfifo", { args: [`${folder}/fifo.png`] }).outputSync();
        Deno.symlinkSync("/dev/zero", `${folder}/zero.png`);
        Deno.symlinkSync("/dev/full", `${folder}/full.png`);
        Deno.mkdirSync(`${folder}/folder.png`);
        for (const name of ["fifo", "zero", "full", "folder"]) {
          fails(name, () => e.cv.imread(`${folder}/${name}.png`), ArgumentError);
          fails(name, () => write(e.cv, `${folder}/${name}.png`), ArgumentError);
        }
        write(e.cv, `${folder}/fifo.png`);
      } finally {
        Deno.removeSync(folder, { recursive: true });
      }
    },
    fails: {
      ...{ error: ArgumentError, api: "opencv", argument: "filename" },
      message: /fifo\.png cannot be written: it is not a regular file/,
    },
  },
  "a file that is longer than OpenCV counts": {
    flags: ["--allow-all"],
    run() {
      using e = eye();
      const file = Deno.makeTempFileSync();
      try {
        Deno.truncateSync(file, 2 ** 31);
        e.cv.imread(file);
      } finally {
        Deno.removeSync(file);
      }
    },
    fails: {
      ...{ error: ArgumentError, api: "opencv", argument: "filename" },
      message: /cannot be read: it has more than 2147483647 bytes/,
    },
  },
  "a file that is to be written in a folder that is not there": {
    flags: ["--allow-all"],
    run() {
      using e = eye();
      write(e.cv, "/nonexistent/x.png");
    },
    fails: {
      ...{ error: ArgumentError, api: "opencv", argument: "filename" },
      message: /\/nonexistent\/x\.png cannot be written: ENOENT/,
    },
  },
  "a file that may not be read": denied([], (cv) => cv.imread("/etc/hostname"), "read", "/etc/hostname"),
  "a file that may not be written": denied([], (cv) => write(cv, "/tmp/x.png"), "write", "/tmp/x.png"),
  "a file beside the folder that may be read": denied(
    ["--allow-read=/tmp/no-such-folder"],
    (cv) => cv.imread("/tmp/no-such-folder/../x.png"),
    "read",
    "/tmp/no-such-folder/../x.png",
  ),
  "invalid modes and options": {
    run() {
      using e = eye();
      using image = e.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      const bytes = e.cv.imencode(".png", image);
      for (const mode of [null, "", "colour", 1, -1, "constructor", "__proto__", {}]) {
        fails(String(mode), () => e.cv.imdecode(bytes, any(mode)), ArgumentError);
      }
      for (const ignoreOrientation of [null, 1, "yes"]) {
        fails("ignore", () => e.cv.imdecode(bytes, "color", any({ ignoreOrientation })), ArgumentError);
      }
      for (const jpegQuality of [-1, 101, NaN, 1.5, 2 ** 32, "9", null, {}]) {
        fails("quality", () => e.cv.imencode(".jpg", image, any({ jpegQuality })), ArgumentError);
      }
      for (const options of [null, 5, "x"]) {
        fails("options", () => e.cv.imencode(".png", image, any(options)), ArgumentError);
        fails("options", () => e.cv.imdecode(bytes, "color", any(options)), ArgumentError);
      }
      e.cv.imencode(".png", image, { pngCompression: 10 });
    },
    fails: {
      error: ArgumentError,
      api: "opencv",
      argument: "pngCompression",
      message: /expected a whole number from 0 to 9, got 10/,
    },
  },
  "formats that do not exist": {
    run() {
      using e = eye();
      using image = e.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      for (const format of ["png", ".", "..png", ".png/../x", ".xyz", ".PNG ", "%s%s%s%n", "é", "x".repeat(100_000)]) {
        safe(format.slice(0, 20), () => e.cv.imencode(format, image));
      }
      e.cv.imencode(".xyz", image);
    },
    fails: {
      ...{
        error: ArgumentError,
        api: "opencv",
        argument: "ext",
        message: /OpenCV writes no files whose names end like/,
      },
      hint: /Try "\.png"/,
    },
  },
  "images that no format can hold": {
    warns: /^/, // the libraries of the formats say on standard error what they do not like
    run() {
      using e = eye();
      for (const dtype of ["u8", "i8", "u16", "i16", "i32", "f32", "f64", "f16"] as const) {
        for (const shape of [[1, 1], [3, 5, 2], [3, 5, 3], [3, 5, 4], [3, 5, 5], [2, 3, 4, 5], [1, 70_000], [70_000]]) {
          using image = e.cv.mat.create({ shape, dtype });
          for (const format of FORMATS) safe(`${format} ${dtype} ${shape}`, () => e.cv.imencode(format, image));
        }
      }
      using image = e.cv.mat.create({ shape: [3, 5, 5], dtype: "u8" });
      e.cv.imencode(".png", image);
    },
    fails: { error: LayoutError, api: "opencv", fn: "imencode .png", argument: "img", message: /has 5/ },
  },
  "invalid bytes": {
    run() {
      using e = eye();
      const moved = new Uint8Array(64);
      moved.buffer.transfer();
      const shared = new Uint8Array(new SharedArrayBuffer(64));
      const bytes: unknown[] = [...RUBBISH, moved, shared, new Uint8Array(0), new ArrayBuffer(8), { length: 8 }];
      for (const each of bytes) fails("bytes", () => e.cv.imdecode(any(each)), ArgumentError);
      for (const each of [new Float64Array(8), new DataView(new ArrayBuffer(8))]) {
        fails("no image", () => e.cv.imdecode(any(each)), NativeCallError, ArgumentError);
      }
      e.cv.imdecode(new Uint8Array(64));
    },
    fails: {
      ...{ error: NativeCallError, api: "opencv", fn: "imdecode" },
      message: /OpenCV cannot decode a buffer of 64 bytes/,
      hint: /standard error/,
    },
  },
  "files that were cut": {
    warns: /^/,
    run() {
      using e = eye();
      for (const format of FORMATS) {
        const bytes = encoded(e, format);
        for (let i = 1; bytes !== undefined && i < 32; i++) decode(e, bytes.slice(0, Math.ceil(bytes.length * i / 32)));
      }
    },
  },
  "files with bytes that were changed": {
    warns: /^/,
    run() {
      using e = eye();
      let seed = 1;
      const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
      for (const format of FORMATS) {
        const bytes = encoded(e, format);
        for (let i = 0; bytes !== undefined && i < 60; i++) {
          const changed = bytes.slice();
          for (let j = 0; j <= i % 4; j++) changed[random(changed.length)] = random(256);
          decode(e, changed);
        }
      }
    },
  },
  "a file that says it is enormous": {
    warns: /^/,
    run() {
      using e = eye();
      using image = e.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      const bmp = e.cv.imencode(".bmp", image);
      for (
        const [width, height] of [[2 ** 31 - 1, 2 ** 31 - 1], [2 ** 20, 2 ** 20], [-8, 8], [8, -(2 ** 31)], [0, 0]]
      ) {
        const changed = bmp.slice();
        const header = new DataView(changed.buffer);
        header.setInt32(18, width, true);
        header.setInt32(22, height, true);
        decode(e, changed);
      }
      const ppm = new TextEncoder().encode("P6\n1048576 1048576\n255\nxxx");
      fails("ppm", () => e.cv.imdecode(ppm));
      e.cv.imdecode(new TextEncoder().encode("P6\n8 8\n255\n"));
    },
    fails: {
      ...{ error: NativeCallError, api: "opencv", fn: "imdecode", message: /OpenCV cannot decode/ },
      hint: /./,
    },
  },
  "a Radiance picture that ends early": {
    run() {
      using e = eye();
      e.cv.imdecode(new TextEncoder().encode("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 4 +X 4\n"));
    },
    fails: {
      ...{ error: NativeCallError, api: "opencv", fn: "imdecode" },
      message: /a buffer of 45 bytes is not a whole image: it ends in row 0 of 4\.$/,
    },
  },
  "an image that is larger than OpenCV takes": {
    run() {
      using e = eye();
      e.cv.imdecode(new TextEncoder().encode("P5\n65536 65536\n255\n"));
    },
    fails: {
      ...{ error: OpenCVError, api: "opencv", fn: "imdecode", code: -215, codeName: "StsAssert" },
      message: /validateInputImageSize/,
      hint: /2\^30 in all.*OPENCV_IO_MAX_IMAGE_PIXELS.*reduced-color-8/,
    },
  },
  "what OpenCV has decoded, disposed twice and used": {
    run() {
      using e = eye();
      using image = e.cv.mat.create({ shape: [8, 8], dtype: "u8" });
      const decoded = e.cv.imdecode(e.cv.imencode(".png", image), "unchanged");
      using view = e.graph.map(decoded, host);
      say(view.layout.shape);
      decoded[Symbol.dispose]();
      decoded[Symbol.dispose]();
      e.cv.bitwise_not(decoded, decoded);
    },
    says: ["8,8"],
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "a UMat that is lent, encoded and written": {
    opencl: true,
    run() {
      using v = vision();
      using image = photo();
      using umat = v.graph.map(image, v.cv.umat);
      using part = umat.borrow("read-write");
      fails("encoded", () => v.cv.imencode(".png", umat));
      say(v.cv.imencode(".png", part).length > 0);
    },
    says: ["true"],
  },
  "a default allocator of anything but two functions": {
    run() {
      using e = eye();
      for (const memory of [undefined, null, 5, {}, { take: 5n }, { take: 0n, give: 5n }, { take: 5n, give: "free" }]) {
        fails(`${memory}`, () => e.cv.defaultAllocator(any(memory)), ArgumentError);
      }
      e.cv.defaultAllocator(any({ take: 5n, give: () => {} }));
    },
    fails: {
      error: ArgumentError,
      api: "opencv",
      argument: "give",
      message: /expected an address, got/,
      hint: /as a bigint or a Deno pointer/,
    },
  },
  "the page allocator, twice, and out of order": {
    run() {
      using e = eye();
      const a = e.cv.pageAllocator();
      const b = e.cv.pageAllocator();
      using image = e.cv.mat.create({ shape: [64, 64], dtype: "u8" });
      const bytes = e.cv.imencode(".png", image);
      const kept = e.cv.imdecode(bytes, "unchanged");
      say(kept.address % 4096n);
      a[Symbol.dispose]();
      a[Symbol.dispose]();
      say(e.cv.imdecode(bytes, "unchanged").address % 4096n);
      b[Symbol.dispose]();
      e.cv.bitwise_not(kept, kept);
      kept[Symbol.dispose]();
      e.cv.pageAllocator(); // ends with the context
    },
    says: ["0", "0"],
  },
});
