// convert(): each pair of formats, against the same arithmetic in JavaScript.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, Frame, host, type HostTensor, type ImageFormat, imageInfo, ledger } from "../../mod.ts";
import { OpenCLContext } from "../../src/opencl/mod.ts";
import { convert, type ConvertedFormat as Converted, crop, pipeline, Sink, Source } from "../../src/pipeline/mod.ts";
import { test } from "./help.ts";

/** The formats of bytes. */
type ConvertedFormat = Exclude<Converted, "P010" | "P012" | "P016">;

const FORMATS: readonly ConvertedFormat[] = [
  ...["GRAY8", "RGB", "BGR", "RGBA", "BGRA", "RGBX", "BGRX", "NV12", "I420", "YV12", "YUV444"] as const,
];
const [WIDTH, HEIGHT] = [16, 8];

type Rgb = readonly [number, number, number];

/** Colours that change slowly, so that subsampled chroma loses little. */
function colour(x: number, y: number): Rgb {
  return [60 + 6 * x, 200 - 8 * y, 90 + 2 * x + 3 * y];
}

function toYuv([r, g, b]: Rgb): Rgb {
  const y = 0.299 * r + 0.587 * g + 0.114 * b;
  return [16 + y * 219 / 255, 128 + (b - y) / 1.772 * 224 / 255, 128 + (r - y) / 1.402 * 224 / 255];
}

function toRgb([y, u, v]: Rgb): Rgb {
  const luma = (y - 16) * 255 / 219;
  const [cb, cr] = [(u - 128) * 255 / 224, (v - 128) * 255 / 224];
  return [luma + 1.402 * cr, luma - 0.344136 * cb - 0.714136 * cr, luma + 1.772 * cb];
}

/** Writes and reads components: where each of the three lies in a plane. */
const PLACES: Readonly<
  Record<ConvertedFormat, readonly (readonly [plane: number, at: number, step: number, sub: number])[]>
> = {
  GRAY8: [[0, 0, 1, 1]],
  RGB: [[0, 0, 3, 1], [0, 1, 3, 1], [0, 2, 3, 1]],
  BGR: [[0, 2, 3, 1], [0, 1, 3, 1], [0, 0, 3, 1]],
  RGBA: [[0, 0, 4, 1], [0, 1, 4, 1], [0, 2, 4, 1]],
  BGRA: [[0, 2, 4, 1], [0, 1, 4, 1], [0, 0, 4, 1]],
  RGBX: [[0, 0, 4, 1], [0, 1, 4, 1], [0, 2, 4, 1]],
  BGRX: [[0, 2, 4, 1], [0, 1, 4, 1], [0, 0, 4, 1]],
  NV12: [[0, 0, 1, 1], [1, 0, 2, 2], [1, 1, 2, 2]],
  I420: [[0, 0, 1, 1], [1, 0, 1, 2], [2, 0, 1, 2]],
  YV12: [[0, 0, 1, 1], [2, 0, 1, 2], [1, 0, 1, 2]],
  YUV444: [[0, 0, 1, 1], [1, 0, 1, 1], [2, 0, 1, 1]],
};

const isYuv = (format: ConvertedFormat) => /^(NV12|I420|YV12|YUV444)$/.test(format);

function picture(format: ConvertedFormat): Frame<HostTensor> {
  const frame = host.allocateFrame(imageInfo({ format, width: WIDTH, height: HEIGHT }));
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) {
      const rgb = colour(x, y);
      const grey: Rgb = [0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2], 0, 0];
      const values = format === "GRAY8" ? grey : isYuv(format) ? toYuv(rgb) : rgb;
      PLACES[format].forEach(([plane, at, step, sub], c) => {
        const { layout } = frame.planes[plane];
        const i = Math.floor(y / sub) * layout.strides[0] + Math.floor(x / sub) * step + at;
        (frame.planes[plane].bytes() as Uint8Array)[i] = Math.round(values[c]);
      });
    }
  }
  return frame;
}

/** What a picture shows at a pixel. */
function shown(frame: Frame<HostTensor>, x: number, y: number): Rgb {
  const format = frame.info.format as ConvertedFormat;
  const values = PLACES[format].map(([plane, at, step, sub]) => {
    const { layout } = frame.planes[plane];
    const i = Math.floor(y / sub) * layout.strides[0] + Math.floor(x / sub) * step + at;
    return (frame.planes[plane].bytes({ access: "read" }) as Uint8Array)[i];
  });
  if (format === "GRAY8") return [values[0], values[0], values[0]];
  return isYuv(format) ? toRgb(values as unknown as Rgb) : values as unknown as Rgb;
}

async function through(
  format: ConvertedFormat,
  options: { format?: ConvertedFormat; width?: number; height?: number },
  look: (frame: Frame<HostTensor>) => void,
): Promise<void> {
  using cl = OpenCLContext.open();
  const source = new Source({
    name: "picture",
    async *frames() {
      yield await Promise.resolve(picture(format));
    },
  });
  const sink = new Sink<HostTensor>({ name: "look", takes: { memory: host }, write: look });
  const figures = await pipeline(source, convert(cl, options), sink).run();
  assertEquals([figures.frames, figures.bytesMoved], [1, 0]);
}

/** Each format is read and written, and each space becomes each other. A kernel takes a while to build. */
const PAIRS: readonly (readonly [ConvertedFormat, ConvertedFormat])[] = [
  ...[["GRAY8", "RGB"], ["RGB", "BGRX"], ["BGR", "NV12"], ["RGBA", "GRAY8"], ["NV12", "BGRA"], [
    "I420",
    "GRAY8",
  ]] as const,
  ...[["YV12", "RGBA"], ["YUV444", "BGR"], ["BGRA", "YV12"], ["RGBX", "YUV444"], ["BGRX", "I420"]] as const,
  ...[["GRAY8", "I420"], ["NV12", "I420"], ["I420", "RGBX"]] as const,
];

for (const from of FORMATS) {
  test(`convert() reads ${from}`, async () => {
    for (const [, to] of PAIRS.filter(([one]) => one === from)) {
      let worst = 0;
      await through(from, { format: to }, (frame) => {
        assertEquals(frame.info.format, to);
        using given = picture(from);
        for (let y = 0; y < HEIGHT; y++) {
          for (let x = 0; x < WIDTH; x++) {
            const [r, g, b] = shown(given, x, y);
            const grey = 0.299 * r + 0.587 * g + 0.114 * b;
            const wanted: Rgb = to === "GRAY8" ? [grey, grey, grey] : [r, g, b];
            shown(frame, x, y).forEach((value, c) => worst = Math.max(worst, Math.abs(value - wanted[c])));
          }
        }
        const alpha = to === "RGBA" || to === "BGRA"
          ? (frame.planes[0].bytes({ access: "read" }) as Uint8Array)[3]
          : 255;
        assertEquals(alpha, 255);
      });
      // Chroma stands for four pixels, whose colours are up to 14 apart.
      assert(worst <= (PLACES[to].some(([, , , sub]) => sub === 2) ? 16 : 4), `${from} to ${to}: off by ${worst}`);
    }
  });
}

for (const [width, height] of [[8, 4], [32, 16], [12, 6], [16, 8]]) {
  test(`convert() scales to ${width} × ${height}`, async () => {
    for (const format of ["GRAY8", "RGBA", "NV12"] as const) {
      await through(format, { width, height }, (frame) => {
        assertEquals([(frame.info as { width: number }).width, frame.info.format], [width, format]);
        for (let y = 0; y < height; y++) {
          for (let x = 0; x < width; x++) {
            const at = [(x + 0.5) * WIDTH / width - 0.5, (y + 0.5) * HEIGHT / height - 0.5];
            const [r, g, b] = colour(
              ...at.map((one, i) => Math.min(Math.max(one, 0), [WIDTH, HEIGHT][i] - 1)) as [number, number],
            );
            const grey = 0.299 * r + 0.587 * g + 0.114 * b;
            const wanted = format === "GRAY8" ? [grey, grey, grey] : [r, g, b];
            shown(frame, x, y).forEach((value, c) => {
              assert(
                Math.abs(value - wanted[c]) <= (format === "NV12" ? 16 : 5),
                `${format} ${x} ${y}: ${value}, ${wanted[c]}`,
              );
            });
          }
        }
      });
    }
  });
}

test("convert() keeps the kernels of the four sizes that came last, and reads colours of the full range", async () => {
  using cl = OpenCLContext.open();
  const white = new Source({
    name: "white",
    async *frames() {
      for (const width of [4, 6, 4, 8, 10, 12]) {
        const info = imageInfo({ format: "YUV444", width, height: 2, colour: { matrix: "bt709", range: "full" } });
        const frame = host.allocateFrame(info);
        frame.planes.forEach((plane, i) => plane.bytes().fill(i === 0 ? 235 : 128));
        yield await Promise.resolve(frame);
      }
    },
  });
  const [kernels, greys]: [(number | undefined)[], unknown[]] = [[], []];
  const look = new Sink<HostTensor>({
    name: "look",
    takes: { memory: host },
    write: ({ planes: [plane] }) => {
      kernels.push(ledger.alive["opencl.cl_kernel"]);
      greys.push(plane.bytes({ access: "read" })[0]);
    },
  });
  await pipeline(white, convert(cl, { format: "GRAY8", width: 4, height: 2 }), look, { frames: 1 }).run();
  assertEquals([kernels, greys], [[1, 2, 2, 3, 4, 4], Array(6).fill(235)]);
});

Deno.test("convert() refuses a format that it does not write", () => {
  using cl = OpenCLContext.open();
  assertThrows(() => convert(cl, { format: "YUY2" as ImageFormat as ConvertedFormat }), ArgumentError, "format");
});

test("convert() reads a part of a picture in OpenCL's own memory, where no sub-buffer begins", async () => {
  using cl = OpenCLContext.open();
  const part = { x: 2, y: 4, width: 8, height: 4 };
  for (const format of ["RGB", "NV12", "I420"] as const) {
    const source = new Source({
      name: "OpenCL's",
      async *frames() {
        using from = picture(format);
        const planes = await Promise.all(from.planes.map((plane) => cl.allocate(plane.layout)));
        planes.forEach((plane, i) => cl.queue.write(plane, from.planes[i].bytes({ access: "read" })));
        yield Frame.of(planes, from.info);
      },
    });
    using given = picture(format);
    const write = (frame: Frame<HostTensor>) => {
      for (let y = 0; y < part.height; y++) {
        for (let x = 0; x < part.width; x++) {
          const wanted = shown(given, part.x + x, part.y + y);
          shown(frame, x, y).forEach((value, c) => assert(Math.abs(value - wanted[c]) <= 2, `${format} ${x} ${y}`));
        }
      }
    };
    const sink = new Sink<HostTensor>({ name: "look", takes: { memory: host }, write });
    await pipeline(source, crop(part), convert(cl, { format: "RGBA" }), sink).run();
  }
});

/** Converts pictures one after the other, and returns what each of the planes holds. */
async function converted(frame: Frame, ...formats: Converted[]): Promise<readonly number[][]> {
  using cl = OpenCLContext.open();
  const source = new Source({
    name: "picture",
    async *frames() {
      yield await Promise.resolve(frame);
    },
  });
  let seen: number[][] = [];
  const write = ({ planes }: Frame<HostTensor>) => {
    seen = planes.map((plane) => Array.from(plane.elements() as Uint16Array, Number));
  };
  const sink = new Sink<HostTensor>({ name: "look", takes: { memory: host }, write });
  const stages = formats.map((format) => convert(cl, { format }));
  await pipeline(source, ...stages as [typeof stages[0]], sink).run();
  return seen;
}

for (const [format, bits] of [["P010", 10], ["P012", 12], ["P016", 16]] as const) {
  test(`convert() reads and writes ${format}, whose elements are the highest ${bits} bits of 16`, async () => {
    const unit = 2 ** (16 - bits);
    const info = imageInfo({ format, width: WIDTH, height: HEIGHT });
    const values = (plane: number) => (_: number, i: number) => (64 + (i * 7 + plane * 50) % 160) * 256 + i % 4 * unit;
    const given = () => {
      const frame = host.allocateFrame(info);
      frame.planes.forEach((plane, p) =>
        (plane.view() as Uint16Array).set(Array.from(plane.view() as Uint16Array, values(p)))
      );
      return frame;
    };
    using first = given();
    const wanted = first.planes.map((plane) => Array.from(plane.view() as Uint16Array, Number));
    assertEquals(await converted(given(), "P016"), wanted);
    assertEquals(await converted(given(), "P016", format), wanted);
    const bytes = await converted(given(), "NV12");
    bytes.forEach((plane, p) =>
      plane.forEach((byte, i) => assert(Math.abs(byte - wanted[p][i] / 256) <= 0.5, `${p} ${i}: ${byte}`))
    );
    const back = await converted(picture("RGBA"), format, "RGBA");
    using rgba = picture("RGBA");
    for (let i = 0; i < WIDTH * HEIGHT; i++) {
      const [x, y] = [i % WIDTH, Math.floor(i / WIDTH)];
      shown(rgba, x, y).forEach((value, c) => assert(Math.abs(back[0][4 * i + c] - value) <= 16, `${x} ${y} ${c}`));
    }
    const [luma, chroma] = await converted(picture("RGBA"), format);
    assertEquals([...luma, ...chroma].filter((value) => value % unit !== 0), []);
  });
}
