import { type Frame, host, type HostTensor, type ImageFormat, imageInfo, ledger } from "../../mod.ts";
import { assertEquals } from "@std/assert";
import { type Run, Sink, Source, Transform } from "../../src/pipeline/mod.ts";
import { Level, openFds } from "../gc.ts";

/** A picture of 8 × 4 whose bytes are a frame's number. */
export const INFO = imageInfo({ format: "GRAY8", width: 8, height: 4 });

/** So many frames, numbered from 1. */
export function numbered(count: number, format: ImageFormat = "GRAY8", size = { width: 8, height: 4 }): Source {
  return new Source({
    name: "numbered",
    async *frames() {
      for (let i = 1; i <= count; i++) yield await Promise.resolve(numberedFrame(i, format, size));
    },
  });
}

export function numberedFrame(i: number, format: ImageFormat = "GRAY8", size = { width: 8, height: 4 }) {
  const info = { ...imageInfo({ format, ...size }), media: { pts: BigInt(i), timeBase: [1, 25] as const } };
  const frame = host.allocateFrame(info);
  for (const plane of frame.planes) plane.bytes().fill(i);
  frame.metadata.add("source", { sequence: i });
  return frame;
}

/** What a test sees of each frame. */
export interface Seen {
  readonly value: number;
  readonly sequence: number | undefined;
  readonly pts: bigint | undefined;
}

export function valueOf({ planes: [plane] }: Frame): number {
  return (plane as HostTensor).bytes({ access: "read" })[0] as number;
}

/** A sink of the host's that notes what comes. */
export function noted(seen: Seen[] = []): { readonly sink: Sink<HostTensor>; readonly seen: Seen[] } {
  const sink = new Sink<HostTensor>({
    name: "noted",
    takes: { memory: host },
    write: (frame) => {
      const { metadata, info } = frame;
      seen.push({ value: valueOf(frame), sequence: metadata.get("source")?.sequence, pts: info.media?.pts });
    },
  });
  return { sink, seen };
}

/** Adds to each byte, in place. */
export function adding(by: number, process?: (value: number, run: Run) => void | Promise<void>): Transform<HostTensor> {
  return new Transform<HostTensor>({
    name: `add ${by}`,
    takes: { memory: host },
    process: (frame, _, run) => {
      const bytes = frame.planes[0].bytes();
      bytes.forEach((value, i) => bytes[i] = (value as number) + by);
      return process?.(bytes[0] as number, run);
    },
  });
}

/** Writes twice of each byte into another frame. */
export function doubling(): Transform<HostTensor> {
  return new Transform<HostTensor>({
    name: "double",
    takes: { memory: host },
    gives: (info) => info,
    process: (input, output) => {
      for (const [i, plane] of input.planes.entries()) {
        const from = plane.bytes({ access: "read" });
        output.planes[i].bytes({ access: "write" }).fill(2 * (from[0] as number));
      }
    },
  });
}

/** A test after which nothing is alive, and no fd is open. */
export function test(name: string, run: () => Promise<void>): void {
  Deno.test(`pipeline: ${name}`, async () => {
    const [alive, fds] = [JSON.stringify(ledger.alive), new Level(openFds)];
    await run();
    assertEquals(JSON.stringify(ledger.alive), alive);
    await fds.assertBack("open fds"); // the poller of a ring's sockets stays open for a moment
  });
}
