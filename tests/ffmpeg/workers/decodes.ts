// An isolate that decodes a file into memory of ours again and again, until it is terminated.

import { host } from "@samepage/interop";
import { RawDecoder } from "../raw.ts";

declare const self: { postMessage(message: unknown): void; onmessage: ((event: MessageEvent<string>) => void) | null };

self.onmessage = async ({ data: path }) => {
  for (let files = 0;; files++) {
    await using decoder = await RawDecoder.open(path, { threads: 4, into: host });
    for await (const pointer of decoder.frames()) {
      using frame = decoder.frameOf(pointer);
      if (frame !== undefined && files > 0) self.postMessage("decoding");
    }
  }
};
