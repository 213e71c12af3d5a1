/**
 * A test picture of GStreamer's through an OpenCL Gaussian into a file that plays, and no byte is copied between them:
 * the kernel reads the memory that GStreamer's source wrote, and GStreamer's encoder reads the memory that the kernel wrote.
 * A contact sheet shows the pictures before and after.
 *
 * Run it as `deno run -A examples/gst-opencl/main.ts [COUNT [FOLDER]]`. What comes of it is in `out/gst-opencl`, or in the
 * folder that is named.
 *
 * @module
 */
import { type Frame, host, type HostTensor, imageInfo, ledger, MapperGraph } from "@samepage/interop";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { OpenCLContext, type OpenCLTensor } from "@samepage/interop/opencl";
import { Blur } from "../decode-filter-encode/blur.ts";
import { Sheet, shownOf } from "../decode-filter-encode/sheet.ts";
import { print } from "../edges/report.ts";

const [given = "100", folder = "out/gst-opencl"] = Deno.args;
const [COUNT, RATE] = [Number(given), [25, 1] as const];
const SIZE = { width: 640, height: 360 };
/** Pictures that the encoder may have at a time. */
const SLOTS = 8;

const alive = JSON.stringify(ledger.alive);
await Deno.mkdir(folder, { recursive: true });
await run();
const left = JSON.stringify(ledger.alive);
print("left", left === alive ? "nothing: every native object was given back" : left);
if (left !== alive) Deno.exitCode = 1;

async function run(): Promise<void> {
  using gst = await GStreamerContext.open();
  using cl = OpenCLContext.open();
  using graph = new MapperGraph([host, gst, cl]);
  using blur = new Blur(cl);
  using sheet = new Sheet(SIZE.width, SIZE.height);
  print("devices", `${gst.name}; ${cl.device.name}`);
  await using input = gst.launch(
    `videotestsrc num-buffers=${COUNT} ! video/x-raw,format=I420,width=${SIZE.width},height=${SIZE.height},framerate=${
      RATE.join("/")
    } ! appsink name=out sync=false`,
  );
  await using output = gst.launch(
    `appsrc name=in ! x264enc speed-preset=ultrafast tune=zerolatency ! mp4mux ! filesink location=${folder}/blurred.mp4`,
  );
  const info = { ...imageInfo({ format: "I420", ...SIZE }), media: { frameRate: RATE } };
  const writer = output.source("in", info).getWriter();
  const slots = Array.from({ length: SLOTS }, () => ({
    picture: host.allocateFrame(info, { rowAlign: 64 }),
    free: Promise.resolve(),
  }));
  const shown = shownOf(COUNT);
  let [count, bytes] = [0, 0];
  const before = performance.now();
  for await (using frame of input.sink("out")) {
    const slot = slots[count % SLOTS];
    await slot.free; // the encoder has let go of what it had there
    {
      await using from = graph.map(frame, cl, { access: "read" }) as Frame<OpenCLTensor>;
      await using to = graph.map(slot.picture, cl, { access: "write" }) as Frame<OpenCLTensor>;
      blur.run(from.planes, to.planes);
      bytes += from.route!.bytesMoved + to.route!.bytesMoved;
    }
    const column = shown.indexOf(count++);
    if (column >= 0) {
      using seen = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
      sheet.draw(seen, column, 0);
      sheet.draw(slot.picture, column, 1);
    }
    const picture = graph.map(slot.picture, gst, { access: "read" }) as Frame;
    bytes += picture.route!.bytesMoved;
    await writer.write(picture);
    slot.free = picture[Symbol.asyncDispose]();
  }
  await writer.close();
  await output.ended();
  const seconds = (performance.now() - before) / 1000;
  await output.stop();
  for (const { free, picture } of slots) {
    await free;
    picture[Symbol.dispose]();
  }
  await writePicture(gst, graph, sheet.picture, `${folder}/sheet.png`);
  print("frames", `${count}, ${(count / seconds).toFixed(0)} a second`);
  print("copied", `${bytes} bytes between GStreamer and OpenCL`);
  print("files", `${folder}/blurred.mp4, ${folder}/sheet.png`);
  if (bytes > 0 || count === 0) Deno.exitCode = 1;
}

/** Writes a picture as a PNG, by GStreamer. */
async function writePicture(
  gst: GStreamerContext,
  graph: MapperGraph,
  picture: Frame<HostTensor>,
  path: string,
): Promise<void> {
  await using pipeline = gst.launch(`appsrc name=in ! pngenc ! filesink location=${path}`);
  const writer = pipeline.source("in", picture.info).getWriter();
  await using mapped = graph.map(picture, gst, { access: "read" }) as Frame;
  await writer.write(mapped);
  await writer.close();
  await pipeline.ended();
  await pipeline.stop();
}
