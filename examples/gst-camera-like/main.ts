/**
 * A live GStreamer's source, and a viewer in another process, which is slower than the source. What is late is dropped,
 * and the oldest first: by the sink where this program is late, and by the ring where the viewer is. Each picture is written
 * once into memory that both processes see, and no byte goes through a socket.
 *
 * Run it as `deno run -A examples/gst-camera-like/main.ts [SECONDS [SOURCE]]`. SOURCE is what GStreamer is to play instead of
 * its test picture: `v4l2src` is a camera.
 *
 * @module
 */
import { type Frame, host, type HostTensor, imageInfo, ledger, MapperGraph } from "@samepage/interop";
import { FrameRing } from "@samepage/interop/channel";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { print } from "../edges/report.ts";

const [seconds = "3", source = "videotestsrc is-live=true pattern=ball"] = Deno.args;
const INFO = imageInfo({ format: "GRAY8", width: 320, height: 240 });
const CAPS = "video/x-raw,format=GRAY8,width=320,height=240";

const alive = JSON.stringify(ledger.alive);
const folder = await Deno.makeTempDir();
try {
  await run(`${folder}/camera`);
} finally {
  await Deno.remove(folder, { recursive: true });
}
const left = JSON.stringify(ledger.alive);
print("left", left === alive ? "nothing: every native object was given back" : left);
if (left !== alive) Deno.exitCode = 1;

async function run(path: string): Promise<void> {
  using gst = await GStreamerContext.open();
  using graph = new MapperGraph([host, gst]);
  const frames = Array.from({ length: 4 }, () => host.allocateFrame(INFO, { sharable: true }));
  await using ring = FrameRing.create(path, { frames, whenFull: "drop-oldest" });
  const viewer = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", new URL("viewer.ts", import.meta.url).pathname, path],
    stdin: "null",
  }).spawn();
  await ring.joined();

  await using pipeline = gst.launch(`${source} ! videoconvert ! videoscale ! ${CAPS} ! appsink name=out`);
  const signal = AbortSignal.timeout(1000 * Number(seconds));
  let taken = 0;
  try {
    for await (using picture of pipeline.sink("out", { queue: 2, drop: true, signal })) {
      using seen = graph.map(picture, host, { access: "read" }) as Frame<HostTensor>;
      const frame = await ring.next();
      copyRows(seen.planes[0], frame.planes[0]);
      await ring.publish(frame, { timestamp: picture.info.media?.pts ?? 0n });
      taken++;
    }
  } catch (error) {
    if (error !== signal.reason) throw error;
  }
  await pipeline.stop();
  await ring.flush();
  await ring[Symbol.asyncDispose]();
  await viewer.status;
  print("taken", `${taken} frames out of GStreamer`);
}

/** GStreamer's rows may be longer than the picture is wide. */
function copyRows(from: HostTensor, to: HostTensor): void {
  const [height, width] = to.layout.shape;
  const [source, target] = [from.bytes({ access: "read" }), to.bytes()];
  const [stride, toStride] = [from, to].map(({ layout }) => layout.strides[0]);
  for (let y = 0; y < height; y++) target.set(source.subarray(y * stride, y * stride + width), y * toStride);
}
