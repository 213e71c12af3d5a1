import { assertEquals } from "@std/assert";
import * as host from "../../examples/edges/host.ts";

const { NONE, WEAK, STRONG } = host.Class;

/** An opaque grey picture of `width` columns, as RGBA. */
function rgbaOf(width: number, height: number, value: (x: number, y: number) => number): Uint8Array {
  const rgba = new Uint8Array(4 * width * height).fill(255);
  for (let i = 0; i < width * height; i++) rgba.fill(value(i % width, Math.floor(i / width)), 4 * i, 4 * i + 3);
  return rgba;
}

/** A plane of one byte a pixel. */
function planeOf(width: number, height: number, value: (x: number, y: number) => number): Uint8Array {
  return Uint8Array.from({ length: width * height }, (_, i) => value(i % width, Math.floor(i / width)));
}

/** The plane drawn in rows of characters: '.' no edge, 'w' weak, '#' strong. */
function parse(rows: string[]): Uint8Array {
  return Uint8Array.from(rows.join(""), (c) => ({ ".": NONE, w: WEAK, "#": STRONG })[c]!);
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

Deno.test("grey: the luma of BT.601; alpha plays no part", () => {
  const rgba = [[0, 0, 0, 255], [255, 255, 255, 0], [255, 0, 0, 255], [0, 255, 0, 9], [0, 0, 255, 255]].flat();
  assertEquals([...host.grey(new Uint8Array(rgba), 5, 1)], [0, 255, 76, 150, 29]);
});

Deno.test("grey and blur: an even picture of any brightness keeps it, at the border too", () => {
  for (let value = 0; value < 256; value++) {
    const grey = host.grey(rgbaOf(3, 2, () => value), 3, 2);
    assertEquals([...host.blurColumns(host.blurRows(grey, 3, 2), 3, 2)], Array(6).fill(value));
  }
});

Deno.test("blur: one bright pixel spreads by the weights, rounded once", () => {
  const weights = [22, 62, 88, 62, 22];
  const rows = host.blurRows(planeOf(7, 7, (x, y) => x === 3 && y === 3 ? 255 : 0), 7, 7);
  assertEquals([...rows.subarray(3 * 7, 4 * 7)], [0, ...weights.map((w) => 255 * w), 0]);
  const blurred = host.blurColumns(rows, 7, 7);
  const expected = planeOf(7, 7, (x, y) => Math.round(255 * (weights[x - 1] ?? 0) * (weights[y - 1] ?? 0) / 65536));
  assertEquals(blurred, expected);
});

Deno.test("blur: the border is replicated", () => {
  const rows = host.blurRows(new Uint8Array([100, 0, 0, 0]), 4, 1);
  assertEquals([...rows], [100 * (22 + 62 + 88), 100 * (22 + 62), 100 * 22, 0]);
  assertEquals([...host.blurColumns(new Uint16Array([25600, 0, 0, 0]), 1, 4)], [67, 33, 9, 0]);
});

Deno.test("gradient: the magnitude and the four directions, falling and rising", () => {
  const middle = (value: (x: number, y: number) => number) => host.gradient(planeOf(3, 3, value), 3, 3)[4];
  const [horizontal, vertical, diagonal, antidiagonal] = [0, 1, 2, 3];
  assertEquals(middle((x) => 10 * x), 80 << 2 | horizontal);
  assertEquals(middle((x) => 90 - 10 * x), 80 << 2 | horizontal);
  assertEquals(middle((_, y) => 10 * y), 80 << 2 | vertical);
  assertEquals(middle((_, y) => 90 - 10 * y), 80 << 2 | vertical);
  assertEquals(middle((x, y) => 10 * (x + y)), 160 << 2 | diagonal);
  assertEquals(middle((x, y) => 90 - 10 * (x + y)), 160 << 2 | diagonal);
  assertEquals(middle((x, y) => 50 + 10 * (x - y)), 160 << 2 | antidiagonal);
  assertEquals(middle((x, y) => 50 + 10 * (y - x)), 160 << 2 | antidiagonal);
});

Deno.test("gradient: a direction turns at 22.5° and 67.5°", () => {
  const direction = (dx: number, dy: number) => host.gradient(planeOf(3, 3, (x, y) => dx * x + dy * y), 3, 3)[4] & 3;
  assertEquals([direction(29, 12), direction(29, 13)], [0, 2]); // 22.48°, 24.1°
  assertEquals([direction(12, 29), direction(13, 29)], [1, 2]);
});

Deno.test("suppress: thresholds are exclusive, ties keep the first", () => {
  const row = (
    ...magnitudes: number[]
  ) => [...host.suppress(Uint16Array.from(magnitudes, (m) => m << 2), magnitudes.length, 1)];
  assertEquals(row(0, host.LOW, 0), [NONE, NONE, NONE]);
  assertEquals(row(0, host.LOW + 1, 0), [NONE, WEAK, NONE]);
  assertEquals(row(0, host.HIGH, 0), [NONE, WEAK, NONE]);
  assertEquals(row(0, host.HIGH + 1, 0), [NONE, STRONG, NONE]);
  assertEquals(row(0, 200, 200, 0), [NONE, STRONG, NONE, NONE]);
  assertEquals(row(100, 200, 300), [NONE, NONE, STRONG]);
});

Deno.test("suppress: on a diagonal a tie keeps neither", () => {
  const diagonal = 200 << 2 | 2;
  assertEquals([...host.suppress(new Uint16Array([diagonal, 0, 0, diagonal]), 2, 2)], [NONE, NONE, NONE, NONE]);
});

Deno.test("hysteresis: spreads over sides and corners, in every direction, and no further", () => {
  const edges = parse([
    "w.w.w.w",
    ".w...w.",
    "w..#..w",
    "..w.w..",
    ".w...w.",
    "w..w..w",
    "ww...ww",
  ]);
  host.hysteresis(edges, 7, 7);
  assertEquals(
    edges,
    parse([
      "w.w.w.w",
      ".w...w.",
      "w..#..w",
      "..#.#..",
      ".#...#.",
      "#..w..#",
      "##...##",
    ]),
  );
});

Deno.test("hysteresis: the end of a row does not touch the start of the next", () => {
  const edges = parse(["...#", "....", "w...", "...."]);
  host.hysteresis(edges, 4, 4);
  assertEquals(edges, parse(["...#", "....", "w...", "...."]));
});

Deno.test("hysteresis: goes to the end of a snake over the whole picture", () => {
  const size = 401;
  const snake = planeOf(size, size, (x, y) => y % 2 === 0 || x === (y % 4 === 1 ? size - 1 : 0) ? WEAK : NONE);
  const expected = snake.map((value) => value === WEAK ? STRONG : NONE);
  for (const start of [0, snake.length - 1]) {
    const edges = snake.slice();
    edges[start] = STRONG;
    host.hysteresis(edges, size, size);
    assertEquals(edges, expected);
  }
});

Deno.test("finish: drops what stayed weak", () => {
  const edges = parse([".w#"]);
  host.finish(edges);
  assertEquals([...edges], [0, 0, 255]);
});

Deno.test("detectEdges: a step is one line, one pixel wide", () => {
  const across = host.detectEdges(rgbaOf(8, 6, (x) => x < 4 ? 0 : 255), 8, 6);
  assertEquals(across, planeOf(8, 6, (x) => x === 3 ? 255 : 0));
  const down = host.detectEdges(rgbaOf(6, 8, (_, y) => y < 4 ? 0 : 255), 6, 8);
  assertEquals(down, planeOf(6, 8, (_, y) => y === 3 ? 255 : 0));
});

Deno.test("detectEdges: an even picture has none, whatever its size", () => {
  for (const [width, height] of [[1, 1], [1, 7], [9, 1], [2, 2], [5, 4]]) {
    assertEquals(host.detectEdges(rgbaOf(width, height, () => 200), width, height), new Uint8Array(width * height));
  }
});

Deno.test("detectEdges: noise gives what OpenCV gives", async () => {
  const [width, height] = [201, 149];
  let seed = 1;
  const rgba = Uint8Array.from({ length: 4 * width * height }, () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed >>> 24;
  });
  // Python, OpenCV 4.6.0: sha256(cv2.Canny(cv2.GaussianBlur(cv2.cvtColor(rgba, cv2.COLOR_RGBA2GRAY), (5, 5), 1.2,
  // sigmaY=1.2, borderType=cv2.BORDER_REPLICATE), 50, 150))
  assertEquals(
    await sha256(host.detectEdges(rgba, width, height) as Uint8Array<ArrayBuffer>),
    "690a8cd15e866df82d28a378d0688e5d134bc5d29b3c0d5d7384b849410c1cf2",
  );
});
