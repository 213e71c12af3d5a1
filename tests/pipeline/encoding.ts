// The second half of a pipeline, in a process of its own: it encodes what comes through a ring.
import { FrameRing } from "@samepage/interop/channel";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { encode, fromRing, pipeline } from "@samepage/interop/pipeline";

const [ring, file] = Deno.args;
using ffmpeg = FFmpegContext.open();
const reading = fromRing(FrameRing, ring, { wait: true });
console.log((await pipeline(reading, encode(ffmpeg, file, { codec: "ffv1" })).run()).frames);
