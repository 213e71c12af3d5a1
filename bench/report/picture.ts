import type { FigureResult } from "../harness/result.ts";
import { ratio, time } from "./format.ts";
import { type Bar, chart, svg } from "./svg.ts";

/** The README's picture: the peers, and below them each figure that C has too. */
export function pictureOf(figures: readonly FigureResult[], caption: string): string {
  const peers = figures.find(({ id }) => id === "peers");
  const versusC = figures.filter(({ ways }) => ways.length === 2 && ways[0].name === "C");
  const charts = [
    chart("a frame of 3840 × 2160 × 4 bytes, inverted by a device and seen by the host", peersBars(peers), linear),
    chart("samepage beside C: how many times as long, on a logarithmic scale", versusC.map(ratioBar), fromOne),
  ];
  return svg(charts, caption);
}

function peersBars(peers: FigureResult | undefined): Bar[] {
  return (peers?.ways ?? []).map(({ name, time: { median } }) => ({
    name,
    value: median,
    label: time(median),
    ours: name === "samepage",
  }));
}

function ratioBar({ title, ways: [reference, own] }: FigureResult): Bar {
  const label = `${ratio(own.against!).replace(/ \(.*/, "")}  (${time(reference.time.median)} → ${
    time(own.time.median)
  })`;
  return { name: title, value: own.against!.ratio.median, label, ours: true };
}

/** A bar's length as a part of the longest. */
function linear(value: number, most: number): number {
  return value / most;
}

/** The same on a logarithmic scale that begins at 1. */
function fromOne(value: number, most: number): number {
  return Math.max(0, Math.log(value)) / Math.log(Math.max(most, 2));
}
