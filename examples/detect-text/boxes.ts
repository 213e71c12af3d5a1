import type { Box } from "./sign.ts";

/** From which probability on a pixel is text, and how probable a box has to be: as the package of the model has it. */
const [PIXEL, BOX] = [0.3, 0.5];

/** How far a box reaches beyond what the model marks: it marks the middle of letters. */
const UNCLIP = 1.6;

/** The shortest side of a box, before it is widened. */
const LEAST = 3;

/** The boxes of upright lines of text, from a map of how probable it is that a pixel is text. From top to bottom. */
export function boxesIn(map: Float32Array, width: number): Box[] {
  const height = map.length / width;
  const isText = dilated(map, width);
  const seen = new Uint8Array(map.length);
  const boxes: Box[] = [];
  for (let start = 0; start < map.length; start++) {
    if (seen[start] === 1 || isText[start] === 0) continue;
    const box = regionAt(start, isText, seen, width);
    const [across, down] = [box.right - box.left, box.bottom - box.top];
    if (Math.min(across, down) < LEAST || meanIn(map, width, box) < BOX) continue;
    const by = Math.trunc(across * down * UNCLIP / (2 * (across + down))); // area · ratio / circumference
    boxes.push({
      left: Math.max(box.left - by, 0),
      top: Math.max(box.top - by, 0),
      right: Math.min(box.right + by, width - 1),
      bottom: Math.min(box.bottom + by, height - 1),
    });
  }
  return boxes;
}

/** What is text, widened by a pixel to the right and down. */
function dilated(map: Float32Array, width: number): Uint8Array {
  const bits = new Uint8Array(map.length);
  for (let i = 0; i < map.length; i++) {
    if (map[i] <= PIXEL) continue;
    const isLast = i % width === width - 1;
    bits[i] = 1;
    if (!isLast) bits[i + 1] = 1;
    if (i + width < map.length) {
      bits[i + width] = 1;
      if (!isLast) bits[i + width + 1] = 1;
    }
  }
  return bits;
}

/** The box around what is connected with a pixel, its last row and column included. */
function regionAt(start: number, isText: Uint8Array, seen: Uint8Array, width: number): Box {
  let [left, top, right, bottom] = [width, Infinity, 0, 0];
  const found = [start];
  seen[start] = 1;
  for (let at = found.pop(); at !== undefined; at = found.pop()) {
    const [x, y] = [at % width, Math.floor(at / width)];
    [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
    for (let dy = -1; dy <= 1; dy++) {
      for (let dx = -1; dx <= 1; dx++) {
        const next = at + dy * width + dx;
        if (x + dx < 0 || x + dx >= width || seen[next] === 1 || isText[next] !== 1) continue;
        seen[next] = 1;
        found.push(next);
      }
    }
  }
  return { left, top, right, bottom };
}

/** The mean probability in a box. */
function meanIn(map: Float32Array, width: number, { left, top, right, bottom }: Box): number {
  let sum = 0;
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) sum += map[y * width + x];
  }
  return sum / ((right - left + 1) * (bottom - top + 1));
}
