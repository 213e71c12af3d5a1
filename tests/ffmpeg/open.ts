/**
 * A context, and what the tests of frames do with it.
 *
 * @module
 */
import { builtDevices } from "../../src/ffmpeg/hardware.ts";
import { assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor, ledger, MapperGraph } from "@samepage/interop";
import { FFmpegContext, type MediaAttach } from "@samepage/interop/ffmpeg";
import { until } from "../conformance/bytes.ts";
import { withEmptyLedger } from "../unit/ledger.ts";
import { missing as missingVulkan } from "../vulkan/help.ts";
import { buildFrames, type CFrame, cText, inC, MAJOR } from "./frames.ts";

const missing = await buildFrames();

/** A test that needs FFmpeg, and what else may be lacking. */
export function test(name: string, fn: () => void | Promise<void>, lacking: string | undefined = undefined): void {
  const what = missing ?? lacking;
  Deno.test({ name: what === undefined ? name : `${name} (not here: ${what})`, ignore: what !== undefined, fn });
}

/** A context, and a graph of it and the host. */
export class Open {
  readonly ffmpeg = FFmpegContext.open();
  readonly graph = new MapperGraph([host, this.ffmpeg]);

  attach(made: CFrame, options?: MediaAttach) {
    return this.ffmpeg.attach(made.pointer, options);
  }

  /** A map to the host, which is an alias. */
  map(frame: Frame, access: "read" | "read-write" = "read"): Frame<HostTensor> {
    const mapped = this.graph.map(frame, host, { access }) as Frame<HostTensor>;
    assertEquals(mapped.route!.bytesMoved, 0);
    return mapped;
  }

  [Symbol.dispose](): void {
    this.graph[Symbol.dispose]();
    this.ffmpeg[Symbol.dispose]();
  }
}

/** A test with a context, after which nothing of samepage's is left. */
export function testOpen(
  name: string,
  run: (open: Open) => void | Promise<void>,
  lacking: string | undefined = undefined,
): void {
  test(
    name,
    withEmptyLedger(async () => {
      {
        using open = new Open();
        await run(open);
      }
      // The memory of a flag that FFmpeg has set is freed soon, and not at once.
      await until(() => ledger.alive["native.flag"] === undefined);
    }),
    lacking,
  );
}

/** An element of a plane. */
export function elementOf({ planes }: Frame<HostTensor>, plane: number, ...place: number[]): number {
  const { layout: { strides } } = planes[plane];
  const elements = planes[plane].view();
  return Number(elements[place.reduce((sum, index, i) => sum + index * strides[i], 0) / elements.BYTES_PER_ELEMENT]);
}

/** What FFmpeg has written at a place of a picture. */
export function value(format: string, c: number, x: number, y: number): number {
  return inC().value_at(cText(format), c, x, y);
}

/** Why this FFmpeg has no hardware frames of an API; undefined where it has. */
export function withoutDevice(name: string): string | undefined {
  if (missing !== undefined) return missing;
  return [...builtDevices().values()].includes(name) ? undefined : `an FFmpeg with ${name}`;
}

/** Why there are no frames of FFmpeg's in Vulkan here; undefined where there are. */
export function withoutVulkan(): string | undefined {
  return missingVulkan() ?? withoutDevice("vulkan") ?? (MAJOR === 57 ? undefined : "FFmpeg 5.1");
}
