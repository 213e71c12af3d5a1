// Blur and Canny of a grey picture (examples/cuda-edges) in three sizes: in mapped memory, and by copies.

import { figure } from "./harness/figure.ts";
import { here, moving } from "./harness/way.ts";
import { edgesByPageableCopies, edgesByPinnedCopies, edgesInMapped } from "./operations/cuda_edges.ts";

/** The seed's picture, and two that are usual. */
const SIZES = {
  "640x480": { width: 640, height: 480 },
  "1080p": { width: 1920, height: 1080 },
  "4k": { width: 3840, height: 2160 },
} as const;

for (const [id, size] of Object.entries(SIZES)) {
  const { width, height } = size;
  const bytes = width * height;
  figure({
    id: `cuda-edges-${id}`,
    title: `blur and Canny of ${width} × ${height}, grey`,
    on: "cuda",
    ways: [
      moving(2 * bytes, here("samepage, copying", () => edgesByPinnedCopies(size))),
      moving(0, here("samepage", () => edgesInMapped(size))),
      moving(2 * bytes, here("samepage, pageable copies", () => edgesByPageableCopies(size))),
    ],
  });
}
