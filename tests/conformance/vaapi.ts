import { MapperGraph } from "../../mod.ts";
import { type ImageInfo, imageInfo } from "../../src/core/layout/frame_info.ts";
import type { LayoutInit } from "../../src/core/layout/layout.ts";
import { bytesAt as viewAt } from "../../src/core/native/pin.ts";
import { type Undo, unwind } from "../../src/core/life/undo.ts";
import { Frame } from "../../src/core/tensors/frame.ts";
import type { Mapped } from "../../src/core/tensors/mapped.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { host, type HostTensor } from "../../src/host/mod.ts";
import { SurfaceImage } from "../../src/vaapi/image.ts";
import { VaapiContext, type VaapiTensor } from "../../src/vaapi/mod.ts";
import { behave, buildDriver, NODE, useDriver } from "../vaapi/driver.ts";
import { hostEnd } from "./host_end.ts";
import type { Candidate, End, Foreign, Subject, Variants } from "./subject.ts";

const missing = await buildDriver();

/** Surfaces of the driver of the tests, as one end of an edge to another API's memory. */
export interface Surfaces extends Disposable {
  readonly end: End;
  /** The same on another display. */
  readonly other: End;
  readonly variants: Variants;
}

/** Opens them; what they lack here, if anything. */
export function openSurfaces(): Surfaces | string {
  if (missing !== undefined) return `there is no ${missing}`;
  useDriver();
  behave();
  using made = new DisposableStack();
  const [va, other] = [0, 1].map(() => made.use(VaapiContext.open({ node: NODE })));
  const kept = made.move();
  return { end: endOf(va), other: endOf(other), variants, [Symbol.dispose]: () => kept.dispose() };
}

/** How the driver of the tests behaves, and what an edge to the host says of itself then. */
const DRIVERS = [
  { name: "derived images in place", words: [], expected: "as proven" },
  { name: "derived images that are copies", words: ["private"], expected: "migrate" },
  { name: "no derived images", words: ["plain"], expected: "copy" },
] as const;

/** The edges of surfaces, on the driver of the tests: with Mesa's, each copy leaves an fd open. */
export function vaapis(): Candidate[] {
  if (missing !== undefined) {
    return ["vaapi→host", "host→vaapi"].map((edge) => ({ edge, open: `there is no ${missing}` }));
  }
  return [
    ...DRIVERS.map(({ name, words, expected }, i): Candidate => ({
      edge: "vaapi→host",
      device: name,
      open: () => opened("vaapi→host", words, expected),
      covered: i > 0,
    })),
    { edge: "host→vaapi", open: () => opened("host→vaapi", [], "copy") },
  ];
}

/** A surface is a whole picture, and its driver's own: the layout of what is copied there says nothing of it. */
const variants: Variants = {
  contiguous: [
    { name: "one pixel", whole: { shape: [1, 1], dtype: "u8" } },
    { name: "odd", whole: { shape: [31, 61, 4], dtype: "u8" } },
  ],
  padded: [],
  parts: [],
};

function opened(edge: string, words: readonly string[], expected: Subject["expected"]): Subject {
  useDriver();
  behave(...words);
  using made = new DisposableStack();
  const [va, other] = [0, 1].map(() => made.use(VaapiContext.open({ node: NODE })));
  const graph = made.use(new MapperGraph([host, va, other]));
  const end = endOf(va);
  const fromHost = edge.startsWith("host");
  const kept = made.move();
  return {
    graph,
    source: fromHost ? { ...hostEnd, shapeOf } : end,
    target: fromHost ? end : { ...hostEnd, shapeOf },
    ...(fromHost ? { elsewhere: endOf(other) } : {}),
    expected,
    variants,
    silent: SILENT,
    openContext: () => VaapiContext.open({ node: NODE }),
    silentAtOpening: CAPABILITIES,
    [Symbol.dispose]() {
      kept.dispose();
      behave();
    },
  };
}

/** A surface may export itself and tell its layout, or not. */
const SILENT = ["vaapi.vaExportSurfaceHandle", "libc.fcntl"];

/** What a driver does not tell of itself, it cannot do. */
const CAPABILITIES = [
  "vaapi.vaGetConfigAttributes",
  "vaapi.vaCreateConfig",
  "vaapi.vaQuerySurfaceAttributes",
  "vaapi.vaDestroyConfig",
];

function shapeOf(byteLength: number): readonly number[] {
  return [byteLength / 64, 64];
}

function endOf(target: VaapiContext): End {
  const own = new MapperGraph([host, target]);
  return {
    target,
    allocate: ({ shape, dtype = "u8" }: LayoutInit) => target.allocate({ shape, dtype }),
    allocateFrame: (info: ImageInfo) => target.allocateFrame(info),
    shapeOf,
    wholeOnly: true,
    picturesOnly: true,
    ownPitches: true,
    foreign: () => foreignSurface(target),
    // deno-lint-ignore require-await -- what it throws is a rejection, as at every end
    async write(tensor, bytes) {
      using whole = own.map(wholeOf(tensor) as Tensor, host, {
        access: tensor.access === "write" ? "write" : "read-write",
        copy: "allow",
      });
      const mapped = planeOf(whole, tensor);
      rows(mapped.bytes(), mapped.layout.strides[0], bytes, tensor, "write");
    },
    // deno-lint-ignore require-await
    async read(tensor) {
      using whole = own.map(wholeOf(tensor) as Tensor, host, { access: "read", copy: "allow" });
      const mapped = planeOf(whole, tensor);
      const bytes = new Uint8Array(tensor.layout.byteLength);
      rows(mapped.bytes({ access: "read" }), mapped.layout.strides[0], bytes, tensor, "read");
      return bytes;
    },
    raw: {
      write(tensor, bytes) {
        look(target, tensor as VaapiTensor, (image, there, stride) => {
          rows(there, stride, bytes, tensor, "write");
          image.unmap();
          image.put();
        });
        return () => Promise.resolve();
      },
      read(tensor) {
        const bytes = new Uint8Array(tensor.layout.byteLength);
        look(target, tensor as VaapiTensor, (_, there, stride) => rows(there, stride, bytes, tensor, "read"));
        return Promise.resolve(bytes);
      },
    },
  };
}

/** A surface of samepage's, in the place of other code's. */
function foreignSurface(target: VaapiContext): Foreign {
  const made = target.allocateFrame(imageInfo({ format: "GRAY8", width: 64, height: 48 }));
  const { handle, info } = made;
  return {
    attach: (options) => target.attach(handle, info, options),
    misfit: (options) => target.attach(0xffff_fffe, info, options),
    [Symbol.dispose]: () => made[Symbol.dispose](),
  };
}

/** A surface is mapped as a whole: a plane with its frame. */
function wholeOf(tensor: Tensor): Tensor | Frame {
  return tensor.parent instanceof Frame && tensor.parent.target === tensor.target ? tensor.parent : tensor;
}

function planeOf(mapped: Mapped, tensor: Tensor): HostTensor {
  const whole = wholeOf(tensor);
  return (whole instanceof Frame ? (mapped as Frame).planes[whole.planes.indexOf(tensor)] : mapped) as HostTensor;
}

/** Copies a tensor's rows from or to where they lie with another stride. */
function rows(
  there: Uint8Array,
  stride: number,
  dense: Uint8Array,
  { layout }: Tensor,
  direction: "read" | "write",
): void {
  const [height] = layout.shape;
  const row = layout.byteLength / height;
  for (let y = 0; y < height; y++) {
    const [one, other] = [there.subarray(y * stride, y * stride + row), dense.subarray(y * row, (y + 1) * row)];
    if (direction === "read") other.set(one);
    else one.set(other);
  }
}

/** Through an image of the test's own, with the surface's pixels. */
function look(
  { imageFormats }: VaapiContext,
  { rawHandle: surface }: VaapiTensor,
  use: (image: SurfaceImage, bytes: Uint8Array, stride: number) => void,
): void {
  const fourcc = surface.info.format === "RGBA" ? 0x41424752 : 0x30303859;
  const image = SurfaceImage.create(surface, imageFormats.get(fourcc)!);
  const undo: Undo = [() => image.free()];
  image.get();
  use(image, viewAt(image.map(), image.byteLength, "vaapi", undo), image.layouts[0].strides[0]);
  unwind(undo);
}
