/** Every native call of OpenCV's operations fails once: the output is as it was, or as it is to be. */
import { assert, assertEquals } from "@std/assert";
import { MapperGraph } from "../../mod.ts";
import type { LayoutInit } from "../../src/core/layout/layout.ts";
import { OpenCLContext, openclDevices, type OpenCLQueue } from "../../src/opencl/mod.ts";
import { OpenCVContext, type OpenCVMat, type OpenCVTensor } from "../../src/opencv/mod.ts";
import { assertSame, bytesAt, random } from "../conformance/bytes.ts";
import { missing, some, testMat, unchanged } from "./opencv.ts";
import { close, sweep } from "./sweep.ts";

const COLOUR = { shape: [24, 32, 3], dtype: "u8" } as const;
const GREY = { shape: [24, 32], dtype: "u8" } as const;

/** What an operation makes of an image in colour, or in grey. */
interface Operation {
  /** OpenCV's function, as the table of native functions has it; of UMats another one. */
  readonly fn: string;
  readonly onUMat?: string;
  readonly from: LayoutInit;
  readonly to: LayoutInit;
  readonly run: (cv: OpenCVContext, src: OpenCVTensor, dst: OpenCVTensor) => void;
}

const CORE = "opencv_core";
const IMGPROC = "opencv_imgproc";

const OPERATIONS: readonly Operation[] = [
  {
    fn: `${CORE}.Mat_copyTo`,
    onUMat: `${CORE}.UMat_copyTo`,
    from: GREY,
    to: GREY,
    run: (cv, src, dst) => cv.copyTo(src, dst),
  },
  {
    fn: `${CORE}.Mat_convertTo`,
    onUMat: `${CORE}.UMat_convertTo`,
    from: GREY,
    to: { ...GREY, dtype: "f32" },
    run: (cv, src, dst) => cv.convertTo(src, dst, "f32", { alpha: 1 / 255 }),
  },
  { fn: `${CORE}.bitwise_not`, from: COLOUR, to: COLOUR, run: (cv, src, dst) => cv.bitwise_not(src, dst) },
  { fn: `${CORE}.flip`, from: COLOUR, to: COLOUR, run: (cv, src, dst) => cv.flip(src, dst, "x-axis") },
  { fn: `${IMGPROC}.cvtColor`, from: COLOUR, to: GREY, run: (cv, src, dst) => cv.cvtColor(src, dst, "BGR2GRAY") },
  { fn: `${IMGPROC}.GaussianBlur`, from: GREY, to: GREY, run: (cv, src, dst) => cv.GaussianBlur(src, dst, [5, 5]) },
  { fn: `${IMGPROC}.Canny`, from: GREY, to: GREY, run: (cv, src, dst) => cv.Canny(src, dst, 50, 150) },
  {
    fn: `${IMGPROC}.resize`,
    from: GREY,
    to: { shape: [12, 16], dtype: "u8" },
    run: (cv, src, dst) => cv.resize(src, dst, [16, 12]),
  },
  {
    fn: `${IMGPROC}.warpAffine`,
    from: GREY,
    to: GREY,
    run: (cv, src, dst) => cv.warpAffine(src, dst, [[1, 0, 2], [0, 1, 3]], [32, 24]),
  },
  {
    fn: `${IMGPROC}.threshold`,
    from: GREY,
    to: GREY,
    run: (cv, src, dst) => void cv.threshold(src, dst, 127, 255, "binary"),
  },
];

function bytesOf({ address, layout }: OpenCVMat): Uint8Array {
  return bytesAt(address, layout.byteLength);
}

for (const { fn, from, to, run } of OPERATIONS) {
  testMat(`${fn} of Mats`, async () => {
    using cv = OpenCVContext.open();
    using src = cv.mat.create(from);
    using dst = cv.mat.create(to);
    const bytes = random(src.layout.byteLength);
    bytesOf(src).set(bytes);
    run(cv, src, dst);
    const result = bytesOf(dst).slice();
    let written = result;
    const faults = await sweep(() => {
      written = bytesOf(dst).fill(0).slice();
      run(cv, src, dst);
      written = result;
    }, () => {
      assertSame(bytesOf(src), bytes, "the input's bytes");
      assertSame(bytesOf(dst), written, "the output's bytes");
      src.assertUsable("read-write");
      dst.assertUsable("read-write");
    });
    assertEquals(faults.map(({ call }) => call), [fn]);
    const [{ error }] = faults;
    assert(error?.startsWith("OpenCVError") && error.includes("StsNoMem"), error);
  });
}

for (const { platform, name: device } of devices()) {
  for (const { fn, onUMat = fn, from, to, run } of OPERATIONS) {
    testMat(`${onUMat} of UMats on ${platform}`, () =>
      unchanged(async () => {
        const [cl, cv] = [OpenCLContext.open({ platform, device }), OpenCVContext.open()];
        using graph = new MapperGraph([cl, cv]);
        using a = cl.allocate(from);
        using b = cl.allocate(to);
        const bytes = random(a.layout.byteLength);
        cl.queue.write(a, bytes);
        const operation = () => {
          using src = graph.map(a, cv.umat, { access: "read" });
          using dst = graph.map(b, cv.umat);
          run(cv, src, dst);
        };
        operation();
        const now = new Uint8Array(bytes.length);
        const faults = await sweep(operation, () => {
          cl.queue.read(a, now);
          assertSame(now, bytes, "the input's bytes");
          b.assertUsable("read-write");
          cl.queue.finish();
          (cv.executionIn(cl.rawHandle)!.queue as OpenCLQueue).finish();
        });
        for (const call of [onUMat, "opencl.clEnqueueMarkerWithWaitList"]) some(faults, call);
        close(cv, cl);
      }));
  }
}

/** What a format's files are made and read by: `.pfm` goes by way of a file in memory. */
const FORMATS = [
  { ending: ".png", calls: ["haveImageWriter", "imencode", "imdecode"] },
  { ending: ".pfm", calls: ["haveImageWriter", "imwrite", "imread"] },
];

for (const { ending, calls } of FORMATS) {
  testMat(`an image file (${ending}), in memory and on the disk, there and back`, async () => {
    using cv = OpenCVContext.open();
    using image = cv.mat.create({ ...COLOUR, dtype: "f32" });
    const pixels = new Float32Array(random(image.layout.byteLength / 4)); // whole numbers: .png holds bytes
    bytesOf(image).set(new Uint8Array(pixels.buffer));
    const file = cv.imencode(ending, image);
    using whole = cv.imdecode(file, "unchanged");
    const folder = await Deno.makeTempDir();
    const path = `${folder}/image${ending}`;
    const use = () => {
      assertEquals(cv.imencode(ending, image), file);
      cv.imwrite(path, image);
      for (const decode of [() => cv.imdecode(file, "unchanged"), () => cv.imread(path, "unchanged")]) {
        using decoded = decode();
        assertSame(bytesOf(decoded), bytesOf(whole), "the pixels");
      }
    };
    const faults = await sweep(use, undefined, ["libc.symlink"]); // the next folder is tried
    for (const fn of calls) some(faults, `opencv_imgcodecs.${fn}`);
    if (calls.includes("imread")) {
      for (const fn of ["memfd_create", "write", "read", "symlink", "unlink", "close"]) some(faults, `libc.${fn}`);
    }
    assertEquals(
      Deno.readDirSync("/tmp").filter(({ name }) => name.startsWith("samepage-") && name.endsWith(ending)).toArray(),
      [],
    );
    await Deno.remove(folder, { recursive: true });
  }, () => {
    // OpenCV decides then whether this thread is to use OpenCL, unless it has before.
    using cv = OpenCVContext.open();
    using image = cv.mat.create({ ...COLOUR, dtype: "f32" });
    cv.imdecode(cv.imencode(ending, image), "unchanged")[Symbol.dispose]();
  });
}

function devices(): { readonly platform: string; readonly name: string }[] {
  try {
    return missing === undefined ? openclDevices() : [];
  } catch {
    return [];
  }
}
