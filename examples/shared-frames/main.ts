/**
 * Two processes and one memory: a camera draws frames, and this process filters each with OpenCL where it lies, into its
 * place on a contact sheet.
 *
 * `deno run -A examples/shared-frames/main.ts [sheet.png]`
 *
 * @module
 */

import { dirname, fromFileUrl } from "@std/path";
import sharp from "sharp";
import { type Frame, host, type HostTensor, MapperGraph } from "@samepage/interop";
import { FrameRing } from "@samepage/interop/channel";
import { OpenCLContext } from "@samepage/interop/opencl";

const [COLUMNS, ROWS] = [6, 4];

/** A frame's pixels become one of the sheet's: so many a side. */
const SHRINK = 4;

/** Edges, in the colours of the picture: each pixel of the sheet is the strongest of a square of the frame. */
const KERNEL = `
float light(global const uchar4 *frame, int width, int height, int x, int y) {
  uchar4 p = frame[clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1)];
  return 0.299f * p.x + 0.587f * p.y + 0.114f * p.z;
}
#define AT(i, j) light(frame, width, height, x + i, y + j)
kernel void outline(global const uchar4 *frame, int width, int height,
                    global uchar4 *sheet, int sheet_width, int left, int top) {
  float strongest = 0.0f;
  float3 colour = (float3)(0.0f);
  for (int dy = 0; dy < ${SHRINK}; dy++) {
    for (int dx = 0; dx < ${SHRINK}; dx++) {
      int x = ${SHRINK} * get_global_id(0) + dx, y = ${SHRINK} * get_global_id(1) + dy;
      float across = AT(1, -1) + 2 * AT(1, 0) + AT(1, 1) - AT(-1, -1) - 2 * AT(-1, 0) - AT(-1, 1);
      float down = AT(-1, 1) + 2 * AT(0, 1) + AT(1, 1) - AT(-1, -1) - 2 * AT(0, -1) - AT(1, -1);
      strongest = fmax(strongest, hypot(across, down));
      colour += convert_float3(frame[y * width + x].xyz);
    }
  }
  colour = 0.7f * colour / ${SHRINK * SHRINK} + strongest;
  sheet[(top + get_global_id(1)) * sheet_width + left + get_global_id(0)] =
    (uchar4)(convert_uchar3_sat(colour), 255);
}`;

const [out = "out/contact-sheet.png"] = Deno.args;
const folder = await Deno.makeTempDir();
try {
  await makeSheet(`${folder}/camera`, COLUMNS * ROWS);
} finally {
  await Deno.remove(folder, { recursive: true });
}

async function makeSheet(path: string, count: number): Promise<void> {
  await using camera = await startCamera(path, count);
  using cl = OpenCLContext.open();
  using graph = new MapperGraph([host, cl]);
  using program = cl.program(KERNEL);
  using outline = program.kernel("outline");
  await using ring = await FrameRing.open<Frame<HostTensor>>(path, { contexts: [host] });

  let sheet: HostTensor<"u8"> | undefined;
  let seen = 0;
  let bytesMoved = 0;
  for await (const frame of ring) {
    const [height, width] = frame.planes[0].layout.shape;
    const [tileWidth, tileHeight] = [width / SHRINK, height / SHRINK];
    sheet ??= host.allocate({ shape: [ROWS * tileHeight, COLUMNS * tileWidth, 4], dtype: "u8" });
    const [left, top] = [seen % COLUMNS * tileWidth, Math.floor(seen / COLUMNS) * tileHeight];
    {
      await using picture = graph.map(frame, cl); // the camera's own memory
      await using target = graph.map(sheet, cl);
      const place = [target, COLUMNS * tileWidth, left, top] as const;
      outline.run({ items: [tileWidth, tileHeight] }, [picture.planes[0], width, height, ...place]);
      bytesMoved += picture.route.bytesMoved + target.route.bytesMoved;
      if (seen === 0) console.log(`map     ${picture.route}`);
    }
    const at = `${(frame.metadata.get("timestamp")?.pts ?? 0n) / 1_000_000n} ms`;
    console.log(`frame   ${ring.sequence} of process ${camera.pid}, at ${at}`);
    if (++seen === count) break;
  }
  using finished = sheet!;
  await finished.lend((pixels) => writePng(pixels, finished.layout.shape), { access: "read" });
  console.log(`copied  ${bytesMoved} bytes; missed ${ring.missed} frames`);
  console.log(`wrote   ${out}`);
}

/** The other process; it is over when this is disposed. */
async function startCamera(path: string, count: number): Promise<AsyncDisposable & { readonly pid: number }> {
  const camera = fromFileUrl(new URL("camera.ts", import.meta.url));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", camera, path, String(count)],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const words = child.stdout.getReader();
  await words.read(); // it listens
  return {
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      await words.cancel();
      await child.status;
    },
  };
}

async function writePng(rgba: Uint8Array, [height, width]: readonly number[]): Promise<void> {
  await Deno.mkdir(dirname(out), { recursive: true });
  await sharp(rgba, { raw: { width, height, channels: 4 } }).png().toFile(out);
}
