// What samepage makes of FFmpeg's pixel formats, beside what FFmpeg writes and reads itself.

import { assert, assertEquals } from "@std/assert";
import { ArgumentError, type Frame, host, type HostTensor, MapperGraph } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { CFrame, cText, inC, MAJOR } from "./frames.ts";
import { test } from "./open.ts";

/** How many formats have values in memory, by libavutil's major version. */
const FORMATS: Readonly<Record<number, number>> = { 57: 116, 59: 128, 60: 148 };

/** All names of FFmpeg's. */
function* names(): Generator<string> {
  for (let i = 0;; i++) {
    const pointer = inC().format_name(i);
    if (pointer === null) return;
    yield new Deno.UnsafePointerView(pointer).getCString();
  }
}

interface Component {
  readonly plane: number;
  readonly step: number;
  readonly offset: number;
  readonly shift: number;
  readonly depth: number;
}

function componentsOf(name: string): Component[] {
  const out = new Int32Array(5);
  const all: Component[] = [];
  while (inC().component(cText(name), all.length, out) === 1) {
    const [plane, step, offset, shift, depth] = out;
    all.push({ plane, step, offset, shift, depth });
  }
  return all;
}

/** A value of a component, found in the elements as samepage lays them out. */
function valueIn(
  planes: readonly HostTensor[],
  { plane, step, offset, shift, depth }: Component,
  x: number,
  y: number,
) {
  const { layout: { strides: [row, unit], shape }, layout } = planes[plane];
  const elements = planes[plane].view();
  const size = elements.BYTES_PER_ELEMENT;
  const at = x * step + offset;
  const sub = at % unit;
  assert(Math.floor(at / unit) < shape[1], `${x} of component in ${shape}`);
  assert(y < shape[0]);
  const index = (y * row + Math.floor(at / unit) * unit + Math.floor(sub / size) * size) / size;
  const bytes = new DataView(elements.buffer, elements.byteOffset + index * size, size);
  const word = {
    1: () => bytes.getUint8(0),
    2: () => bytes.getUint16(0, true),
    4: () => bytes.getUint32(0, true),
  }[size]!();
  assertEquals(layout.dtype.slice(1), String(8 * size));
  const value = Math.floor(word / 2 ** (8 * (sub % size) + shift));
  return depth === 32 ? value : value % 2 ** depth;
}

/** What are not elements in memory. */
const REFUSED = /big-endian|palette|parts of bytes|device's/;

for (const [width, height] of [[16, 8], [7, 5]] as const) {
  test(`every pixel format of FFmpeg's has its values where FFmpeg reads them, ${width} × ${height}`, () => {
    using ffmpeg = FFmpegContext.open();
    using graph = new MapperGraph([host, ffmpeg]);
    const [done, refused]: [string[], string[]] = [[], []];
    for (const name of names()) {
      const pointer = inC().picture(cText(name), width, height, 32);
      if (pointer === 0n) {
        refused.push(name);
        continue;
      }
      using made = new CFrame(pointer);
      let frame: Frame;
      try {
        frame = ffmpeg.attach(made.pointer);
      } catch (error) {
        assert(
          error instanceof ArgumentError && REFUSED.test(error.message) && error.message.includes(name),
          `${error}`,
        );
        refused.push(name);
        continue;
      }
      using _ = frame;
      using mapped = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
      assertEquals(mapped.route!.bytesMoved, 0);
      const size = new Int32Array(2);
      for (const [c, component] of componentsOf(name).entries()) {
        if (name === "uyyvyy411" && c === 0) continue; // frames.c says why
        inC().component_size(cText(name), c, width, height, size);
        for (let y = 0; y < size[1]; y++) {
          for (let x = 0; x < size[0]; x++) {
            const found = valueIn(mapped.planes, component, x, y);
            assertEquals(found, inC().pixel(made.pointer, c, x, y), `${name}: component ${c} at ${x}, ${y}`);
          }
        }
      }
      done.push(name);
    }
    assertEquals(done.length, FORMATS[MAJOR!], `refused: ${refused.join(" ")}`);
  });
}
