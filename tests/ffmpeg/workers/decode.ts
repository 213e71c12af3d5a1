// An isolate of its own, which decodes a clip again and again until it is terminated.

import { FFmpegContext } from "@samepage/interop/ffmpeg";

declare const self: { postMessage(message: unknown): void; onmessage: ((event: MessageEvent<string>) => void) | null };

self.onmessage = async ({ data: path }) => {
  const ffmpeg = FFmpegContext.open();
  self.postMessage("begin");
  for (;;) for await (using _ of ffmpeg.decode(path, { threads: 4 })) { /* on to the next */ }
};
