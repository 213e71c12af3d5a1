import type { FigureResult } from "../harness/result.ts";

/** Pixels of the pipeline's figures, by their ids. */
const PIXELS: Readonly<Record<string, number>> = {
  "cuda-edges-640x480": 640 * 480,
  "cuda-edges-1080p": 1920 * 1080,
  "cuda-edges-4k": 3840 * 2160,
};

/** From which size on the other way is the faster one, in a sentence; nothing where too little was measured. */
export function crossoverOf(figures: readonly FigureResult[]): string | undefined {
  const points = figures.flatMap(({ id, ways }) => {
    const mapped = ways.find(({ name }) => name === "samepage")?.against;
    return mapped === undefined || PIXELS[id] === undefined ? [] : [{ pixels: PIXELS[id], ratio: mapped.ratio.median }];
  });
  if (points.length < 2) return undefined;
  const shown = (pixels: number) => `${(pixels / 1e6).toFixed(2)} megapixels`;
  const [least, most] = [points[0], points.at(-1)!].map(({ pixels }) => shown(pixels));
  const faster = (ratio: number) => ratio < 1 ? "mapped memory" : "copying to and from pinned memory";
  const crossings = points.slice(1).flatMap((to, i) => {
    const from = points[i];
    if ((from.ratio < 1) === (to.ratio < 1)) return [];
    // On a straight line between the two, sizes and ratios both on a logarithmic scale.
    const part = Math.log(from.ratio) / Math.log(from.ratio / to.ratio);
    const pixels = from.pixels * (to.pixels / from.pixels) ** part;
    return [
      `At about ${shown(pixels)} the two are even: below, ${faster(from.ratio)} is faster; above, ${faster(to.ratio)}.`,
    ];
  });
  if (crossings.length > 0) return crossings.join(" ");
  return `From ${least} to ${most} ${faster(points[0].ratio)} is faster: there is no crossover between them.`;
}
