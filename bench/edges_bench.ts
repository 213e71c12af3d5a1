// The whole of the demo, grey, blur and Canny, over a frame of 3840 × 2160: in place, and by copying.

import { fromFileUrl } from "@std/path";
import { host, type HostTensor } from "@samepage/interop";
import { ByCopying } from "../examples/edges/by_copying.ts";
import { ByMapping } from "../examples/edges/by_mapping.ts";
import { EdgeKernels } from "../examples/edges/opencl.ts";
import { readPhoto } from "../examples/edges/photo.ts";
import { device, hasDevice } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { FRAME } from "./harness/frame.ts";
import { here } from "./harness/way.ts";

/** The demo's photograph, side by side until it fills the frame. */
async function tiledPhoto(): Promise<HostTensor<"u8">> {
  const photo = await readPhoto(fromFileUrl(new URL("../examples/edges/photo.jpg", import.meta.url)));
  const [height, width] = FRAME.shape;
  const frame = host.allocate(FRAME);
  const bytes = frame.view();
  for (let y = 0; y < height; y++) {
    const from = 4 * photo.width * (y % photo.height);
    const row = photo.rgba.subarray(from, from + 4 * photo.width);
    for (let x = 0; x < width; x += photo.width) {
      bytes.set(row.subarray(0, 4 * Math.min(photo.width, width - x)), 4 * (y * width + x));
    }
  }
  return frame;
}

const frame = hasDevice() ? await tiledPhoto() : undefined;

figure({
  id: "edges",
  title: "grey, blur and Canny of a frame",
  ways: [ByCopying, ByMapping].map((Edges) =>
    here(Edges === ByMapping ? "samepage" : "samepage, copying", () => {
      const { cl } = device();
      const edges = new Edges(cl, new EdgeKernels(cl), frame!);
      return {
        run(count) {
          for (let i = 0; i < count; i++) edges.run(() => {});
        },
      };
    })
  ),
});
