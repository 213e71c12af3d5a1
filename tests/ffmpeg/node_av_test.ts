// The guide's recipe for files: frames that npm's node-av has decoded, in OpenCL, with the real package.

import { assert, assertEquals } from "@std/assert";
import { Frame, host, type HostTensor, imageInfo, MapperGraph } from "@samepage/interop";
import type { OpenCLTensor } from "@samepage/interop/opencl";
import { hasNpm, NODE_AV, npmUrl } from "../../tasks/setup/npm.ts";
import { HERE, open as openOpenCL } from "../opencl/help.ts";
import type * as NodeAv from "./node_av.ts";
import type { DecodedFrame } from "./node_av.ts";

const CLIP = new URL("../../out/ffmpeg/node_av.mp4", import.meta.url).pathname; // git ignores it

/** Makes a clip of ten pictures. Returns what is missing for that. */
async function lacking(): Promise<string | undefined> {
  if (!await hasNpm(NODE_AV)) return "node-av";
  if (!HERE.includes("pocl")) return "PoCL";
  await Deno.mkdir(new URL("../../out/ffmpeg/", import.meta.url), { recursive: true });
  const args = ["-y", "-f", "lavfi", "-i", "testsrc2=s=320x240:r=10:d=1", "-c:v", "mpeg4", "-bitexact", CLIP];
  const made = await new Deno.Command("ffmpeg", { args, stdout: "null", stderr: "null" }).output().catch(() =>
    undefined
  );
  return made?.success ? undefined : "the ffmpeg program";
}

const missing = await lacking();

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: missing ? `${name} (not here: ${missing})` : name, ignore: missing !== undefined, fn });
}

/** The clip's frames, as node-av decodes them. */
async function* decoded(): AsyncGenerator<DecodedFrame> {
  const { Demuxer }: typeof NodeAv = await import(npmUrl(NODE_AV, "node-av/dist/api/demuxer.js").href);
  const { Decoder }: typeof NodeAv = await import(npmUrl(NODE_AV, "node-av/dist/api/decoder.js").href);
  await using input = await Demuxer.open(CLIP);
  const stream = input.video()!;
  using decoder = await Decoder.create(stream);
  for await (const frame of decoder.frames(input.packets(stream.index))) if (frame !== null) yield frame;
}

/** A frame of node-av's over its own memory, which it keeps. */
function pictureOf(frame: DecodedFrame): Frame<HostTensor> {
  const { width, height, linesize, data } = frame;
  const planes = [1, 2, 2].map((step, i) =>
    host.wrap(
      Deno.UnsafePointer.of(data![i]),
      { shape: [height / step, width / step], strides: [linesize[i], 1], dtype: "u8" },
      { access: "read", keepAlive: frame },
    )
  );
  return Frame.of(planes, imageInfo({ format: "I420", width, height }));
}

test("node-av's frames are OpenCL's, and no byte is copied", async () => {
  using cl = openOpenCL("pocl");
  using graph = new MapperGraph([host, cl]);
  using program = cl.program(
    `kernel void sum(global const uchar *y, uint row, uint width, uint height, global ulong *to) {
    ulong all = 0;
    for (uint r = 0; r < height; r++) for (uint x = 0; x < width; x++) all += y[r * row + x];
    *to = all;
  }`,
  );
  using sum = program.kernel("sum");
  using result = cl.allocate({ shape: [1], dtype: "u64" });
  let frames = 0;
  for await (using frame of decoded()) {
    frames++;
    const { width, height, linesize: [row], data } = frame;
    const [luma] = data!;
    using picture = pictureOf(frame);
    await using mapped = graph.map(picture, cl, { access: "read" }) as Frame<OpenCLTensor>;
    assertEquals(mapped.route!.bytesMoved, 0);
    sum.run({ items: [1] }, [mapped.planes[0], row, width, height, result]);
    const said = new BigUint64Array(1);
    cl.queue.read(result, said);
    let expected = 0;
    for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) expected += luma[y * row + x];
    assertEquals(said[0], BigInt(expected));
  }
  assertEquals([frames, cl.bytesCopied], [10, 8 * frames]); // the sum alone
});

test("a frame of node-av's lives as long as what was made of it", async () => {
  const [picture, seen] = await (async () => {
    for await (const frame of decoded()) {
      const seen = new WeakRef(frame);
      const picture = pictureOf(frame);
      return [picture, seen] as const;
    }
    throw new Error("there is no frame");
  })();
  const collect = (globalThis as { gc?: () => void }).gc;
  assert(collect !== undefined, "needs --v8-flags=--expose-gc");
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    collect();
  }
  assert(seen.deref() !== undefined);
  picture[Symbol.dispose]();
  seen.deref()![Symbol.dispose]();
});
