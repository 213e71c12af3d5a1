import type { Frame } from "../../core/tensors/frame.ts";
import { secondsOf } from "../time.ts";
import { Sink, writerOf } from "../stage.ts";

/**
 * A sink that writes a line of JSON for each frame: its number, time and size, its regions with what models found in
 * them, and its other metadata. It reads no pixels. Put it into a branch of {@link tee}.
 *
 * @param out where the lines go: `Deno.stdout.writable`, or `(await Deno.create("out.jsonl")).writable`, which is closed
 * @throws {ArgumentError} for anything but a stream, and for a locked stream.
 */
export function jsonLines(out: WritableStream<Uint8Array>): Sink {
  const writer = writerOf(out, "out");
  const encoder = new TextEncoder();
  let count = 0;
  return new Sink({
    name: "JSON lines",
    write: async (frame) => {
      await writer.write(encoder.encode(`${JSON.stringify(known(frame, ++count), asJson)}\n`));
    },
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason),
  });
}

function known(frame: Frame, number: number): object {
  const { info, regions, metadata } = frame;
  const shown = ["detection", "classification", "inferenceResult", "objectId"];
  const others = [...metadata.entries()].filter(([name]) => !shown.includes(name) || regions.length === 0);
  const { media: _, ...format } = info;
  return {
    frame: number,
    seconds: secondsOf(frame),
    ...format,
    regions,
    metadata: others.map(([name, fields]) => ({ name, ...fields })),
  };
}

function asJson(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  return value instanceof Uint8Array ? [...value] : value;
}
