/**
 * OpenCV's operations on Mats and UMats of host memory.
 *
 * @module
 */
import { type DType, host, type HostTensor, MapperGraph, NoRouteError, type Target } from "@samepage/interop";
import { OpenCVContext, type OpenCVTensor } from "@samepage/interop/opencv";
import { sizeOf } from "../../../src/core/layout/dtype.ts";
import { MIGRATING, open, type Platform, thrown } from "../help.ts";
import { ADDRESSES, type Kind, Room, type Row } from "./rows.ts";

/** An operation from one image to another of the same layout. */
type Operation = (cv: OpenCVContext, src: OpenCVTensor, dst: OpenCVTensor) => void;

const OPERATIONS = {
  threshold: (cv, src, dst) => cv.threshold(src, dst, 100, 200, "binary"),
  bitwise_not: (cv, src, dst) => cv.bitwise_not(src, dst),
  flip: (cv, src, dst) => cv.flip(src, dst, "both-axes"),
  GaussianBlur: (cv, src, dst) => cv.GaussianBlur(src, dst, [3, 3]),
  copyTo: (cv, src, dst) => cv.copyTo(src, dst),
} satisfies { readonly [name: string]: Operation };

type Name = keyof typeof OPERATIONS;

/** Depths, channels, and what is done with them. */
const FORMATS: readonly (readonly [dtype: DType, channels: number, names: readonly Name[]])[] = [
  ["u8", 1, ["threshold", "bitwise_not", "flip", "GaussianBlur", "copyTo"]],
  ["u8", 3, ["bitwise_not", "GaussianBlur"]],
  ["u8", 4, ["bitwise_not", "flip"]],
  ["u16", 1, ["threshold", "bitwise_not"]],
  ["i16", 1, ["threshold"]],
  ["f32", 1, ["threshold", "GaussianBlur"]],
  ["f32", 4, ["flip"]],
  ["f64", 1, ["threshold"]],
];

/** Rows, columns, and from row to row in pixels: a region of an image, a narrow one, and an image without gaps. */
const SHAPES: readonly (readonly [rows: number, columns: number, step: number])[] = [[8, 64, 160], [8, 16, 160], [
  8,
  32,
  32,
]];

const ROOM = 28672;

/** Where the addresses begin to count: there is room before them. */
const PAGE = 4096;

/** The vectors that OpenCV's kernels load have as many elements at most. */
const LANES = 16;

/** Every operation at every address gives what it gives at the beginning of a page. */
function* rowsOf(
  cv: OpenCVContext,
  toOpenCV: (part: HostTensor) => OpenCVTensor,
  isOpen: (begin: number, size: number, pixel: number) => boolean,
  stack: DisposableStack,
): Iterable<Row> {
  const [from, to] = [Room.of(ROOM, stack), Room.of(ROOM, stack)];
  for (const [dtype, channels, names] of FORMATS) {
    const size = sizeOf(dtype);
    for (const [rows, columns, step] of SHAPES) {
      const shape = channels === 1 ? [rows, columns] : [rows, columns, channels];
      const pixel = size * channels;
      const strides = channels === 1 ? [step * pixel, pixel] : [step * pixel, pixel, size];
      const length = ((rows - 1) * step + columns) * pixel;
      const at = (room: Room, begin: number) => room.part({ shape, strides, dtype, byteOffset: PAGE + begin });
      for (const name of names) {
        let expected: Uint8Array | undefined;
        const values = Uint8Array.from({ length }, (_, i) => (i * 37 + (i >> 5)) & 0x3f); // no number is a NaN
        for (const begin of ADDRESSES.filter((begin) => begin % size === 0)) {
          yield {
            name: `${name} of ${dtype} × ${channels}, ${rows} × ${columns} of ${step}, at ${begin}`,
            run() {
              from.tensor.view().set(values, PAGE + begin);
              to.restore();
              {
                using source = at(from, begin);
                using sink = at(to, begin);
                if (!isOpen(begin, size, pixel)) return void thrown(NoRouteError, () => toOpenCV(source));
                using src = toOpenCV(source);
                using dst = toOpenCV(sink);
                OPERATIONS[name](cv, src, dst);
              }
              // The pixels are what they are at the beginning of a page, and what lies between the rows is as it was.
              const after = to.tensor.view().slice(PAGE + begin, PAGE + begin + length);
              const before = to.before(PAGE + begin, length);
              expected ??= after;
              for (let y = 0; y < rows; y++) {
                const row = y * step * pixel;
                before.set(expected.subarray(row, row + columns * pixel), row);
              }
              to.assertHolds(PAGE + begin, before);
            },
          };
        }
      }
    }
  }
}

/** Host memory as Mats: no device is asked. */
export const mats: Kind = function* (_platform, stack) {
  const cv = stack.use(OpenCVContext.open());
  const graph = new MapperGraph([host, cv]);
  const toMat = (part: HostTensor) => graph.map(part, cv.mat);
  yield* rowsOf(cv, toMat, () => true, stack);
};

/**
 * Host memory as UMats. Pixels that kernels load as one vector lie at multiples of its size; on a device that moves bytes,
 * the first of them where the longest vector may.
 */
export const umats: Kind = function* (platform, stack) {
  const cl = stack.use(open(platform as Platform));
  const cv = stack.use(OpenCVContext.open());
  const graph = new MapperGraph([host, cl, cv]);
  const migrates = MIGRATING.includes(platform as Platform);
  const toUMat = (part: HostTensor) => graph.map(part, cv.umat as Target<OpenCVTensor>);
  const isOpen = (begin: number, size: number, pixel: number) =>
    begin % (migrates ? LANES * size : pixel & -pixel) === 0;
  yield* rowsOf(cv, toUMat, isOpen, stack);
};
