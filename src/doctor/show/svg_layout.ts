export interface Point {
  readonly x: number;
  readonly y: number;
}

export const BOX = { width: 236, height: 50 } as const;

const MARGIN = 12;

/** The bow of an edge's curve. The edge back bows to the other side. */
const BOW = 26;

const GAP = 5;

export interface Layout {
  readonly places: readonly Point[];
  readonly width: number;
  readonly height: number;
}

/** Puts nodes on an ellipse, clockwise from the left. */
export function layOut(count: number): Layout {
  const around = (count * (BOX.width + 60)) / (2 * Math.PI);
  const radius = { x: Math.max(250, around), y: Math.max(150, 0.7 * around) };
  const places = Array.from({ length: count }, (_, i) => {
    const angle = Math.PI + (2 * Math.PI * i) / count;
    return { x: radius.x * Math.cos(angle), y: radius.y * Math.sin(angle) };
  });
  const span = (values: readonly number[], around: number) => {
    const least = Math.min(0, ...values);
    return { from: least - around, length: Math.max(...values, least) - least + 2 * around };
  };
  const x = span(places.map((place) => place.x), MARGIN + BOX.width / 2);
  const y = span(places.map((place) => place.y), MARGIN + BOX.height / 2 + BOW);
  return {
    places: places.map((place) => ({ x: place.x - x.from, y: place.y - y.from })),
    width: Math.round(x.length),
    height: Math.round(y.length),
  };
}

/** An edge's curve: its ends on the boxes' borders, its control point, and the middle, for a word. */
export interface Curve {
  readonly from: Point;
  readonly control: Point;
  readonly to: Point;
  readonly middle: Point;
}

export function curveBetween(a: Point, b: Point): Curve {
  const length = Math.hypot(b.x - a.x, b.y - a.y);
  const control = {
    x: (a.x + b.x) / 2 + (2 * BOW * (b.y - a.y)) / length,
    y: (a.y + b.y) / 2 - (2 * BOW * (b.x - a.x)) / length,
  };
  const [from, to] = [borderOf(a, control), borderOf(b, control)];
  const middle = { x: (from.x + 2 * control.x + to.x) / 4, y: (from.y + 2 * control.y + to.y) / 4 };
  return { from, control, to, middle };
}

function borderOf(middle: Point, towards: Point): Point {
  const [dx, dy] = [towards.x - middle.x, towards.y - middle.y];
  const part = Math.min((BOX.width / 2 + GAP) / Math.abs(dx), (BOX.height / 2 + GAP) / Math.abs(dy));
  return { x: middle.x + part * dx, y: middle.y + part * dy };
}
