import { type ImageBlock, type ImagePlane, ImagePort, Port } from "../core/device/port.ts";
import type { Exported, Images, ImportedImage } from "../core/contract.ts";
import type { Reason } from "../core/errors.ts";
import { sizeOf } from "../core/layout/dtype.ts";
import type { Layout } from "../core/layout/layout.ts";
import { allOrNothing } from "../core/life/undo.ts";
import { type Access, covers } from "../core/memory/access.ts";
import { duplicateFd } from "../core/native/fd.ts";
import type { DescribedPlane } from "../core/tensors/described.ts";
import { planesOf } from "../core/tensors/frame.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { DmaBuf } from "./buffer.ts";
import { modifierName } from "./modifiers.ts";
import { bufferOf, type DmaBufTensor, handOver } from "./tensor.ts";

/** Images in dma-bufs: the planes of a frame in one buffer or in several, or the rows of a tensor. */
export const images: Images<DmaBuf> = {
  exports: [{ kind: "dma-buf" }],
  imports: [{ kind: "dma-buf", refuse: ({ planes }) => planes.find(({ fd }) => fd?.stub)?.fd?.stub }],
  refuse: ({ planes }, access) =>
    planes.map(({ layout, fd }) => refuseRows(layout) ?? refuseAccess(fd?.access, access))
      .find((refusal) => refusal !== undefined) ?? refuseMixed(planes),
  export: exported,
  import: imported,
};

/** Some drivers export fds through which the CPU cannot write. */
function refuseAccess(allowed: Access = "read-write", access: Access): Reason | undefined {
  if (covers(allowed, access)) return undefined;
  return { reason: `the driver gives fds for "${allowed}" only.`, remedy: `Pass { access: "${allowed}" }.` };
}

/** A picture has one layout: its driver takes one modifier. */
function refuseMixed(planes: readonly DescribedPlane[]): Reason | undefined {
  const modifiers = new Set(planes.flatMap(({ allocation }) => bufferOf(allocation)?.modifier ?? []));
  if (modifiers.size < 2) return undefined;
  return {
    reason: `its planes lie in buffers of different layouts (${[...modifiers].map(modifierName).join(", ")}).`,
    remedy: "Map the pictures that they are of.",
  };
}

/** Refuses layouts that drivers do not know: anything but rows with a stride, whose elements lie one after the other. */
function refuseRows({ shape, strides, dtype }: Layout): Reason | undefined {
  const inner = shape.slice(1).reduceRight(
    (step, count, i) => strides[i + 1] === step ? step * count : NaN,
    sizeOf(dtype),
  );
  if (shape.length > 1 && shape.length < 4 && inner > 0) return undefined;
  return {
    reason:
      `an image is rows of pixels without gaps in them, [height, width] or [height, width, channels], and not [${shape}]` +
      ` with strides [${strides}].`,
    remedy: shape.length > 3 ? "Map each picture by itself." : "Map it as bytes, or describe it as an image.",
  };
}

function rowLength({ shape: [, ...row], dtype }: Layout): number {
  return row.reduce((bytes, count) => bytes * count, sizeOf(dtype));
}

/** The buffers of a frame, or a tensor's only one, and the places of its planes in them. */
export function placesOf(tensors: readonly DmaBufTensor[]) {
  const buffers = [...new Map(tensors.map(({ rawHandle }) => [rawHandle.identity, rawHandle])).values()];
  const planes: ImagePlane[] = tensors.map(({ rawHandle: { identity }, layout }) => ({
    object: buffers.findIndex((buffer) => buffer.identity === identity),
    offset: layout.byteOffset,
    stride: Math.max(layout.strides[0], rowLength(layout)), // the stride of a single row may be 0
  }));
  return { buffers, planes, modifier: tensors[0].modifier };
}

function exported(source: Mapped, kind: string, access: Access): Exported<ImagePort> {
  const tensors = planesOf(source) as readonly DmaBufTensor[];
  const { buffers, planes, modifier } = placesOf(tensors);
  const [height, width] = tensors[0].layout.shape;
  using made = new DisposableStack();
  const objects = buffers.map(({ fd, byteLength }) => made.use(new Port(kind, { fd: duplicateFd(fd), byteLength })));
  made.move();
  const port = new ImagePort(kind, { objects, planes, width, height, modifier });
  return { port, end: () => handOver(buffers, access) };
}

function imported({ objects, planes, modifier = 0n }: ImagePort, access: Access): ImportedImage<DmaBuf> {
  return allOrNothing("importing dma-bufs", (undo) => {
    const buffers = objects.map((object) => {
      const buffer = new DmaBuf(object.takeFd(), true);
      undo.push(() => buffer.free());
      buffer.assertAllows(access);
      buffer.modifier = modifier;
      return buffer;
    });
    return { handles: planes.map(({ object }) => buffers[object]), blocks: buffers.map(blockOf) };
  });
}

function blockOf(buffer: DmaBuf): ImageBlock {
  const { identity, byteLength } = buffer;
  return {
    object: { kind: "dma-buf", handle: identity, byteLength, start: 0 },
    release: () => buffer.free(),
  };
}
