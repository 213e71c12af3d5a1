import { mostOf, type Route } from "../core/graph/route.ts";
import { escaped } from "../core/xml.ts";
import { type HandOver, Plan } from "./plan.ts";
import { checks } from "./stage.ts";

const [WIDTH, HEIGHT, GAP, MARGIN] = [300, 62, 46, 12];
const COLOURS = { alias: "#1a7f37", migrate: "#9a6700", copy: "#cf222e" } as const;

/**
 * A plan as a picture: a box for each stage, and an arrow for each hand-over, green if the bytes stay where they are. A
 * tooltip shows the route. Branches stand side by side. It needs no font or file besides itself.
 *
 * @throws {ArgumentError} for anything but a plan.
 */
export function svgOf(plan: Plan): string {
  checks.assertInstance(plan, Plan, "plan");
  const parts: string[] = [];
  const { width, height } = drawn(plan, 0, 0, parts);
  const [across, down] = [width * (WIDTH + MARGIN) + MARGIN, height + 2 * MARGIN];
  const styles = "text{font:13px system-ui,sans-serif;fill:#1f2328}.small{font-size:11px;fill:#656d76}" +
    "rect{fill:#f6f8fa;stroke:#d0d7de}path{fill:none;stroke-width:2}" +
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#8d96a0}rect{fill:#161b22;stroke:#30363d}}";
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${across} ${down}" width="${across}" height="${down}" role="img">`,
    "<title>How frames get from stage to stage</title>",
    `<style>${styles}</style>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

/** Draws a plan from a column and a height on. Returns its width in columns, and the height at which it ends. */
function drawn(plan: Plan, column: number, top: number, parts: string[]): { width: number; height: number } {
  let [width, height] = [1, top];
  const names = [...plan.handOvers, ...plan.unknown];
  for (const [i, one] of names.entries()) {
    if (i > 0) parts.push(arrow(column, height - GAP, typeof one === "string" ? undefined : one.route));
    parts.push(
      typeof one === "string"
        ? box(column, height, one, ["known once it has its first frame"])
        : boxOf(one, column, height),
    );
    height += HEIGHT + GAP;
    let next = column;
    const begin = height;
    for (const branch of typeof one === "string" ? [] : one.branches ?? []) {
      parts.push(arrow(next, begin - GAP, branch.handOvers[0]?.route, column));
      const end = drawn(branch, next, begin, parts);
      next += end.width;
      height = Math.max(height, end.height + GAP);
    }
    width = Math.max(width, next - column);
  }
  return { width, height: height - GAP };
}

function boxOf({ stage, takes, memory, gives }: HandOver, column: number, y: number): string {
  const made = gives === undefined
    ? ""
    : `gives ${gives.frame}${gives.count === undefined ? "" : `, ${gives.count} frames`}`;
  return box(column, y, stage, [`${takes} in ${memory}`, made]);
}

function box(column: number, y: number, name: string, lines: readonly string[]): string {
  const [left, top] = [MARGIN + column * (WIDTH + MARGIN), MARGIN + y];
  const small = lines.map((line, i) =>
    `<text class="small" x="${left + 10}" y="${top + 38 + 15 * i}">${escaped(cut(line))}</text>`
  );
  return `<g><title>${[name, ...lines].map(escaped).join("\n")}</title>` +
    `<rect x="${left}" y="${top}" width="${WIDTH}" height="${HEIGHT}" rx="6"/>` +
    `<text x="${left + 10}" y="${top + 20}">${escaped(cut(name))}</text>${small.join("")}</g>`;
}

/** An arrow down to a box. From another column, it runs along the gap. */
function arrow(column: number, y: number, route: Route | undefined, from: number = column): string {
  const at = (column: number) => MARGIN + column * (WIDTH + MARGIN) + 24;
  const [x, top] = [at(column), MARGIN + y];
  const transfer = mostOf((route?.steps ?? []).map((step) => step.transfer));
  const words = route === undefined || route.steps.length === 0 ? "the same memory" : `${route}`.split("\n")[0];
  const path = `M${at(from)} ${top + 4}${from === column ? "" : `v6H${x}`}V${top + GAP - 5}m-4 -7l4 7l4 -7`;
  return `<g><title>${escaped(words)}</title><path d="${path}" stroke="${COLOURS[transfer]}"/>` +
    `<text class="small" x="${x + 12}" y="${top + GAP / 2 + 4}">${escaped(cut(words))}</text></g>`;
}

function cut(text: string): string {
  return text.length <= 44 ? text : `${text.slice(0, 43)}…`;
}
