import type { Frame } from "../core/tensors/frame.ts";

/** When a frame is shown, in seconds, from its `info.media` or its metadata; undefined if neither has a time. */
export function secondsOf({ info: { media }, metadata }: Frame): number | undefined {
  if (media?.pts !== undefined && media.timeBase !== undefined) {
    const [numerator, denominator] = media.timeBase;
    return Number(media.pts) * numerator / denominator;
  }
  const pts = metadata.get("timestamp")?.pts;
  return pts === undefined ? undefined : Number(pts) / 1e9;
}

/** Waits that long, or until the signal is aborted. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end, { once: true });
  });
}
