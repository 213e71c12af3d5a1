import { type Layout, layout, type LayoutInit } from "../../src/core/layout/layout.ts";
import { core } from "../../src/opencv/library.ts";
import type { MatShape, MatTarget, OpenCVContext, OpenCVMat, UMatTarget } from "../../src/opencv/mod.ts";
import { filledSlot, giveSlot, type Slot } from "../../src/opencv/slots.ts";
import { asRow, bytesIn, matWith } from "./opencv_bytes.ts";
import { rawCopy } from "./opencv_calls.ts";
import { separateFrame } from "./bytes.ts";
import { SIZE } from "./case.ts";
import type { End, Foreign } from "./subject.ts";

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

  foreign(): Foreign {
    return foreignMat(this.target, { shape: [SIZE], dtype: "u8" });
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
  using theirs = foreignMat(mat, init);
  return theirs.attach() as OpenCVMat;
}

/** A Mat that OpenCV's own calls made. */
function foreignMat(target: MatTarget, init: LayoutInit): Foreign {
  const { sizes, type } = target.fit(layout(init)) as MatShape;
  const slot = filledSlot((slot) => core().Mat_construct(slot.header));
  const end = () => {
    core().Mat_destruct(slot.header);
    giveSlot(slot);
  };
  return foreignHeader(
    target,
    slot,
    end,
    () => core().Mat_create(slot.header, sizes.length, Int32Array.from(sizes), type),
  );
}

/** A Mat or a UMat of other code's, once it is filled. */
export function foreignHeader(
  target: MatTarget | UMatTarget,
  { header }: Slot,
  end: () => void,
  fill: () => void,
): Foreign {
  try {
    fill();
  } catch (error) {
    end();
    throw error;
  }
  return {
    attach: (options) => target.attach(header, options),
    misfit: (options) => target.attach(8n, options),
    [Symbol.dispose]: end,
  };
}

function plain({ shape, dtype }: Layout): LayoutInit {
  return { shape, dtype };
}
