import { escaped } from "../../core/xml.ts";
import type { EdgeReport, Report } from "../report.ts";
import { BOX, curveBetween, type Layout, layOut, type Point } from "./svg_layout.ts";

interface Node {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  /** False for a kind of memory that edges name, but this machine lacks. */
  readonly here: boolean;
}

const COLOURS: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  alias: ["#1a7f37", "#3fb950"],
  migrate: ["#9a6700", "#d29922"],
  copy: ["#cf222e", "#f85149"],
  closed: ["#6e7781", "#8b949e"],
};

const LEGEND_HEIGHT = 34;
const NAME_LENGTH = 32;

/**
 * The graph as a picture: a box for each kind of memory, and an arrow for each edge, dashed if it is closed. A tooltip
 * gives the reason. It follows the reader's light or dark mode, and needs no other font or file.
 */
export function svgOf(report: Report): string {
  const nodes = nodesOf(report);
  const layout = layOut(nodes.length);
  const height = layout.height + LEGEND_HEIGHT;
  const arrows = report.edges.flatMap((edge) => arrowsOf(edge, nodes, layout));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${layout.width} ${height}" width="${layout.width}" ` +
    `height="${height}" role="img">`,
    "<title>What this machine can share with what</title>",
    `<style>${styles()}</style>`,
    `<defs>${Object.keys(COLOURS).map(marker).join("")}</defs>`,
    ...arrows,
    ...nodes.map((node, i) => boxOf(node, layout.places[i])),
    ...legendOf(report, layout),
    "</svg>",
    "",
  ].join("\n");
}

function nodesOf({ targets, apis, edges }: Report): Node[] {
  const devices = new Map(apis.flatMap((api) => api.devices).map(({ id, name }) => [id, name]));
  const here = targets.map(({ id, kind, device }) => ({ id, kind, name: devices.get(device) ?? "", here: true }));
  const kinds = new Set(edges.flatMap(({ edge }) => edge.split("→")));
  const absent = [...kinds].filter((kind) => here.every((node) => node.kind !== kind));
  return [...here, ...absent.map((kind) => ({ id: kind, kind, name: "not on this machine", here: false }))];
}

/** The arrow of an edge; several, to each node of the other kind, if its source or target is missing. */
function arrowsOf(edge: EdgeReport, nodes: readonly Node[], { places }: Layout): string[] {
  const [from, to] = edge.edge.split("→");
  const ends = (id: string | undefined, kind: string) =>
    nodes.flatMap((node, i) => (id === undefined ? node.kind === kind : node.id === id) ? [i] : []);
  return ends(edge.from, from).flatMap((a) => ends(edge.to, to).map((b) => arrowOf(edge, places[a], places[b])));
}

function arrowOf(edge: EdgeReport, a: Point, b: Point): string {
  const { from, control, to, middle } = curveBetween(a, b);
  const word = wordOf(edge);
  // A closed one is dashed, without a label.
  const label = edge.open ? `<text x="${round(middle.x)}" y="${round(middle.y + 4)}">${word}</text>` : "";
  const why = [`${edge.edge}: ${word}`, edge.evidence, edge.reason, edge.remedy].filter((part) => part !== undefined);
  return `<g class="${word}"><title>${escaped(why.join(". "))}</title>` +
    `<path d="M${at(from)} Q${at(control)} ${at(to)}" marker-end="url(#${word})"/>${label}</g>`;
}

function boxOf({ id, name, here }: Node, { x, y }: Point): string {
  const short = [...name].length > NAME_LENGTH ? `${[...name].slice(0, NAME_LENGTH - 1).join("")}…` : name;
  return `<g class="${here ? "node" : "node absent"}"><title>${escaped(`${id}: ${name}`)}</title>` +
    `<rect x="${round(x - BOX.width / 2)}" y="${round(y - BOX.height / 2)}" width="${BOX.width}" ` +
    `height="${BOX.height}" rx="8"/>` +
    `<text class="id" x="${round(x)}" y="${round(y - 4)}">${escaped(id)}</text>` +
    `<text x="${round(x)}" y="${round(y + 14)}">${escaped(short)}</text></g>`;
}

function legendOf({ edges }: Report, { height }: Layout): string[] {
  const words = Object.keys(COLOURS).filter((word) => edges.some((edge) => wordOf(edge) === word));
  return words.map((word, i) => {
    const [x, y] = [24 + 130 * i, height + LEGEND_HEIGHT / 2];
    return `<g class="${word} legend"><path d="M${x} ${y} H${x + 34}" marker-end="url(#${word})"/>` +
      `<text x="${x + 46}" y="${y + 4}">${word}</text></g>`;
  });
}

function wordOf({ open, transfer }: EdgeReport): string {
  return open ? transfer! : "closed";
}

function styles(): string {
  const colours = (mode: 0 | 1) =>
    Object.entries(COLOURS).map(([word, both]) =>
      `.${word} path{stroke:${both[mode]}}.${word} text,#${word} path{fill:${both[mode]}}`
    ).join("");
  return "text{font:12px ui-sans-serif,system-ui,sans-serif;text-anchor:middle}path{fill:none;stroke-width:2}" +
    "marker path{stroke:none}.closed path{stroke-dasharray:6 5}.legend text{text-anchor:start}" +
    "svg{color-scheme:light dark}rect{fill:#f6f8fa;stroke:#57606a}.node text{fill:#24292f}" +
    "g>text{paint-order:stroke;stroke:#ffffff;stroke-width:4px}.node text{stroke:none}.id{font-weight:600}" +
    `.absent rect{stroke-dasharray:6 5;fill:none}${colours(0)}` +
    "@media(prefers-color-scheme:dark){rect{fill:#161b22;stroke:#8b949e}.node text{fill:#e6edf3}" +
    `g>text{stroke:#0d1117}.node text{stroke:none}.absent rect{fill:none}${colours(1)}}`;
}

function marker(word: string): string {
  return `<marker id="${word}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" ` +
    `orient="auto"><path d="M0 0L8 4L0 8z"/></marker>`;
}

function at({ x, y }: Point): string {
  return `${round(x)} ${round(y)}`;
}

function round(value: number): number {
  return Math.round(10 * value) / 10;
}
