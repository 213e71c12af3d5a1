// An isolate of its own, which attaches an AVFrame, reads it and lets it go, again and again.

import { type Frame, host, type HostTensor, MapperGraph } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";

declare const self: { postMessage(message: unknown): void; onmessage: ((event: MessageEvent<bigint>) => void) | null };

self.onmessage = ({ data: pointer }) => {
  using ffmpeg = FFmpegContext.open();
  using graph = new MapperGraph([host, ffmpeg]);
  for (let i = 0; i < 1000; i++) {
    using frame = ffmpeg.attach(pointer, { access: "read" });
    using mapped = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
    if (mapped.planes[0].bytes()[0] !== 1) return self.postMessage("other bytes");
  }
  self.postMessage("done");
};
