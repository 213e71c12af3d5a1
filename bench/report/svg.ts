/** One bar of a chart. */
export interface Bar {
  /** What it is of. */
  readonly name: string;
  /** How much. */
  readonly value: number;
  /** What is written behind it. */
  readonly label: string;
  /** Ours is coloured. */
  readonly ours: boolean;
}

/** A part of a picture: what is drawn from the top on, and how high that is. */
export interface Picture {
  readonly height: number;
  /** Elements, to be moved `y` down. */
  draw(y: number): string[];
}

const WIDTH = 860;
const MARGIN = 16;
const NAMES = 340;
const LONGEST = 250;
const ROW = 26;
const BAR = 16;

/** They can be read on white as well as on black: a page's background is not ours to know. */
const INK = "#757e88";
const OURS = "#2f81f7";
const OTHERS = "#8c959f";

/** A bar chart with a heading. `scale` says which part of the longest bar a value gets. */
export function chart(heading: string, bars: readonly Bar[], scale: (value: number, most: number) => number): Picture {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const head = 2 * ROW;
  return {
    height: head + bars.length * ROW,
    draw: (y) => [
      text(MARGIN, y + 30, heading, `font-weight="bold"`),
      ...bars.flatMap(({ name, value, label, ours }, i) => {
        const top = y + head + i * ROW;
        const length = Math.max(2, scale(value, most) * LONGEST);
        const baseline = top + BAR - 3;
        return [
          text(NAMES - 8, baseline, name, `text-anchor="end"`),
          `<rect x="${NAMES}" y="${top}" width="${length.toFixed(1)}" height="${BAR}" rx="2" fill="${
            ours ? OURS : OTHERS
          }"/>`,
          text(NAMES + length + 8, baseline, label),
        ];
      }),
    ],
  };
}

/** A whole picture: its parts one below the other, and a line of small print. */
export function svg(pictures: readonly Picture[], caption: string): string {
  const elements: string[] = [];
  let y = 0;
  for (const picture of pictures) {
    elements.push(...picture.draw(y));
    y += picture.height;
  }
  elements.push(text(MARGIN, y + 24, caption, `font-size="11"`));
  const height = y + 24 + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" ` +
    `font-family="system-ui, sans-serif" font-size="13" fill="${INK}" role="img" aria-label="${escape(caption)}">`,
    ...elements.map((element) => `  ${element}`),
    "</svg>",
    "",
  ].join("\n");
}

function text(x: number, y: number, content: string, attributes = ""): string {
  const space = attributes === "" ? "" : ` ${attributes}`;
  return `<text x="${x.toFixed(1)}" y="${y}"${space}>${escape(content)}</text>`;
}

function escape(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
