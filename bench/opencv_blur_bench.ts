// Does it pay to share bytes with OpenCV's OpenCL? An image as a UMat over the same bytes, and by Mat::copyTo(UMat): the
// way there and back alone, and around a blur by OpenCV's own OpenCL kernels.

import { host, type HostTensor } from "@samepage/interop";
import type { OpenCVUMat } from "@samepage/interop/opencv";
import { c } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { randomize } from "./harness/frame.ts";
import { atMost, withinNoise } from "./harness/goal.ts";
import { hasOpenCV, opencv } from "./harness/opencv.ts";
import type { Operation } from "./harness/operation.ts";
import { here, moving } from "./harness/way.ts";

/** The seed's image, and two that are usual. */
const SIZES = {
  seed: { shape: [400, 512], what: "512 × 400", bytes: 400 * 512 },
  "1080p": { shape: [1080, 1920, 3], what: "1920 × 1080 × 3", bytes: 1080 * 1920 * 3 },
  "4k": { shape: [2160, 3840, 4], what: "3840 × 2160 × 4", bytes: 2160 * 3840 * 4 },
} as const;

type Size = typeof SIZES[keyof typeof SIZES];

/** An image of random bytes. */
function makeImage({ shape }: Size): HostTensor<"u8"> {
  const image = host.allocate({ shape, dtype: "u8" });
  randomize(image.view());
  return image;
}

/** A UMat over memory of the device's own: what a program that copies makes once. */
function makeUMat({ shape }: Size): OpenCVUMat {
  const { cv, cl, graph } = opencv();
  return graph.map(cl.allocate({ shape, dtype: "u8" }), cv.umat);
}

/** There and back, as if work had been done. */
function sharing(size: Size): Operation {
  const { cv, cl, graph } = opencv();
  const src = makeImage(size);
  const done = cl.queue.fence();
  return {
    run(count) {
      for (let i = 0; i < count; i++) {
        const onDevice = graph.map(src, cv.umat);
        onDevice.usedBy(done); // else there would be nothing to bring back
        onDevice[Symbol.dispose]();
      }
    },
  };
}

/** There and back by Mat::copyTo and UMat::copyTo, and what is done there. */
function copying(size: Size, work: (there: OpenCVUMat) => OpenCVUMat = (there) => there): Operation {
  const { cv, graph } = opencv();
  const [src, dst, there] = [makeImage(size), makeImage(size), makeUMat(size)];
  const run = (count: number) => {
    for (let i = 0; i < count; i++) {
      using from = graph.map(src, cv.mat, { access: "read" });
      using to = graph.map(dst, cv.mat, { access: "write" });
      cv.copyTo(from, there);
      cv.copyTo(work(there), to);
    }
  };
  return { run };
}

/** Blurs a copy. */
function copyingBlur(size: Size): Operation {
  const { cv } = opencv();
  const blurred = makeUMat(size);
  return copying(size, (there) => {
    cv.GaussianBlur(there, blurred, [5, 5]);
    return blurred;
  });
}

/** Blurs over the same bytes. */
function sharingBlur(size: Size): Operation {
  const { cv, graph } = opencv();
  const [src, dst] = [makeImage(size), makeImage(size)];
  const run = (count: number) => {
    for (let i = 0; i < count; i++) {
      using from = graph.map(src, cv.umat, { access: "read" });
      using to = graph.map(dst, cv.umat, { access: "write" });
      cv.GaussianBlur(from, to, [5, 5]);
    }
  };
  run(1);
  assertBlurred(src, dst);
  return { run };
}

/** Beside OpenCV's code for the CPU, which rounds otherwise: by one at most. @throws where it is more. */
function assertBlurred(src: HostTensor<"u8">, dst: HostTensor<"u8">): void {
  const { cv, graph } = opencv();
  using expected = host.allocate(src.layout);
  {
    using from = graph.map(src, cv.mat, { access: "read" });
    using to = graph.map(expected, cv.mat);
    cv.GaussianBlur(from, to, [5, 5]);
  }
  const wanted = expected.view();
  if (!dst.view().every((byte, i) => Math.abs(byte - wanted[i]) <= 1)) throw new Error("the image is not blurred");
}

for (const [name, size] of Object.entries(SIZES)) {
  figure({
    id: `opencv-transfer-${name}`,
    title: `${size.what} to a UMat and back, no kernel`,
    goal: atMost(1),
    ignore: !hasOpenCV,
    ways: [
      moving(2 * size.bytes, c("opencv_blur", `copy_${name}`, "C++, copyTo")),
      moving(0, here("samepage", () => sharing(size))),
      moving(0, c("opencv_blur", `share_${name}`, "C++, sharing")),
      moving(2 * size.bytes, here("samepage, copyTo", () => copying(size))),
    ],
  });
  figure({
    id: `opencv-blur-${name}`,
    title: `${size.what} to a UMat, blurred, and back`,
    goal: withinNoise(),
    ignore: !hasOpenCV,
    ways: [
      moving(2 * size.bytes, c("opencv_blur", `copy_blur_${name}`, "C++, copyTo")),
      moving(0, here("samepage", () => sharingBlur(size))),
      moving(0, c("opencv_blur", `share_blur_${name}`, "C++, sharing")),
      moving(2 * size.bytes, here("samepage, copyTo", () => copyingBlur(size))),
    ],
  });
}
