import { type Layout, layout, type LayoutInit } from "../../src/core/layout/layout.ts";
import { core } from "../../src/opencv/library.ts";
import type { MatShape, MatTarget, OpenCVContext, OpenCVMat } from "../../src/opencv/mod.ts";
import { filledSlot, giveSlot } from "../../src/opencv/slots.ts";
import { asRow, bytesIn, matWith } from "./opencv_bytes.ts";
import { rawCopy } from "./opencv_calls.ts";
import { separateFrame } from "./bytes.ts";
import type { End } from "./subject.ts";

/** Mats' end of an edge: OpenCV copies from Mats of the suite's own, with samepage's checks and without. */
export class MatEnd implements End {
  readonly target: MatTarget;
  readonly #cv: OpenCVContext;
  readonly #make: (init: LayoutInit) => OpenCVMat;

  /** `make` makes a Mat to map from; in memory of samepage's unless given. */
  constructor(cv: OpenCVContext, make: (init: LayoutInit) => OpenCVMat = (init) => cv.mat.create(init)) {
    this.target = cv.mat;
    this.#cv = cv;
    this.#make = make;
  }

  allocate(init: LayoutInit): OpenCVMat {
    return this.#make(init);
  }

  allocateFrame(...[info]: Parameters<NonNullable<End["allocateFrame"]>>) {
    return separateFrame((init) => this.allocate(init), info);
  }

  // deno-lint-ignore require-await -- what it throws is a rejection, as at every end
  async write(mat: OpenCVMat, bytes: Uint8Array): Promise<void> {
    using to = asRow(mat);
    using from = matWith(this.#cv, bytes, to.layout.shape);
    this.#cv.copyTo(from, to);
  }

  // deno-lint-ignore require-await
  async read(mat: OpenCVMat): Promise<Uint8Array> {
    using from = asRow(mat, "read");
    using to = this.target.create(plain(from.layout));
    this.#cv.copyTo(from, to);
    return bytesIn(to);
  }

  readonly raw = {
    write: (mat: OpenCVMat, bytes: Uint8Array) => {
      using from = matWith(this.#cv, bytes, mat.layout.shape);
      rawCopy(from, mat);
      return () => Promise.resolve();
    },
    read: (mat: OpenCVMat) => {
      using to = this.target.create(plain(mat.layout));
      rawCopy(mat, to);
      return Promise.resolve(bytesIn(to));
    },
  };
}

/** A Mat in memory of OpenCV's own, as a program gets one of it. */
export function matOfOpenCV({ mat }: OpenCVContext, init: LayoutInit): OpenCVMat {
  const { sizes, type } = mat.fit(layout(init)) as MatShape;
  const slot = filledSlot((slot) => core().Mat_construct(slot.header));
  try {
    core().Mat_create(slot.header, sizes.length, Int32Array.from(sizes), type);
    return mat.attach(slot.header);
  } finally {
    core().Mat_destruct(slot.header);
    giveSlot(slot);
  }
}

function plain({ shape, dtype }: Layout): LayoutInit {
  return { shape, dtype };
}
