/**
 * A Worker that reads the frames of a pipeline of its own, and says how many they are. A message has it end that.
 *
 * @module
 */
import { DisposedError } from "@samepage/interop";
import { GStreamerContext } from "@samepage/interop/gstreamer";

const gst = await GStreamerContext.open();
const pipeline = gst.launch(
  "videotestsrc is-live=true ! video/x-raw,framerate=100/1,width=64,height=48 ! appsink name=out",
);
const worker = self as unknown as Worker;
worker.onmessage = async () => {
  await pipeline[Symbol.asyncDispose]();
  worker.postMessage("ended");
};
let frames = 0;
try {
  for await (using _ of pipeline.sink("out")) worker.postMessage(++frames);
} catch (error) {
  if (!(error instanceof DisposedError)) throw error; // the message came between two frames
}
