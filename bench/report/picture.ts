import type { FigureResult } from "../harness/result.ts";
import { ratio, time } from "./format.ts";
import { type Bar, chart, type Picture, svg } from "./svg.ts";

/** The README's picture: the peers, and below them each figure that C has too. */
export function pictureOf(figures: readonly FigureResult[], caption: string): string {
  const peers = figures.find(({ id }) => id === "peers");
  const versusC = figures.filter(({ ways }) => ways.length === 2 && ways[0].name === "C");
  const pictures: Picture[] = [];
  if (peers !== undefined) {
    pictures.push(chart(`${peers.title}: milliseconds, less is better`, peersBars(peers), linear));
  }
  pictures.push(
    chart("samepage beside C: times as long, 1 × is the same (logarithmic)", versusC.map(ratioBar), fromOne),
  );
  return svg(pictures, caption);
}

function peersBars({ ways, missing }: FigureResult): Bar[] {
  return [
    ...ways.map(({ name, time: { median } }) => ({ name, value: median, label: time(median), ours: isOurs(name) })),
    ...Object.keys(missing).map((name) => ({ name, value: 0, label: "not on this machine", ours: false })),
  ];
}

function ratioBar({ title, ways: [reference, own] }: FigureResult): Bar {
  const label = `${ratio(own.against!).replace(/ \(.*/, "")}  (${time(reference.time.median)} → ${
    time(own.time.median)
  })`;
  return { name: title, value: own.against!.ratio.median, label, ours: true };
}

function isOurs(name: string): boolean {
  return name === "samepage";
}

/** A bar's length as a part of the longest. */
function linear(value: number, most: number): number {
  return value / most;
}

/** The same on a logarithmic scale that begins at 1. */
function fromOne(value: number, most: number): number {
  return Math.max(0, Math.log(value)) / Math.log(Math.max(most, 2));
}
