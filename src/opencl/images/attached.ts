import * as cl from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { readClImageFormat } from "../../../ffi/opencl/structs.ts";
import { describeLayout, type Layout, layout } from "../../core/layout/layout.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { Access } from "../../core/memory/access.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { adoptHandle, own } from "../../core/memory/own.ts";
import { registerByHandle } from "../../core/memory/peers.ts";
import type { BaseContext } from "../base_context.ts";
import { unfit } from "../buffers/attached.ts";
import { retainBuffer } from "../buffers/native.ts";
import type { RootBuffer } from "../buffers/tensor.ts";
import { checks } from "../check.ts";
import { infoBytes, infoU32, infoU64, type Query } from "../info.ts";
import { opencl } from "../library.ts";
import { formatOfCodes } from "./format.ts";
import { type ImageShape, isProblem } from "./shape.ts";
import type { BaseImageTarget, ImageTensorInit } from "./tensor.ts";
import { IMAGE_TYPES, type ImageType } from "./type.ts";

/** What makes the tensor of an image in the driver's memory, but for its target. */
type ImageParts = Omit<ImageTensorInit, "target">;

/** The flags of memory that is not the driver's own, or that one side may not use. */
const NOT_PLAIN = Object.entries({
  CL_MEM_USE_HOST_PTR: cl.CL_MEM_USE_HOST_PTR,
  CL_MEM_READ_ONLY: cl.CL_MEM_READ_ONLY,
  CL_MEM_WRITE_ONLY: cl.CL_MEM_WRITE_ONLY,
  CL_MEM_HOST_READ_ONLY: cl.CL_MEM_HOST_READ_ONLY,
  CL_MEM_HOST_WRITE_ONLY: cl.CL_MEM_HOST_WRITE_ONLY,
  CL_MEM_HOST_NO_ACCESS: cl.CL_MEM_HOST_NO_ACCESS,
});

/** The key of an allocation's image. */
const ROOT = {};

/** A new image of ours, in an allocation that is known by its handle. */
export function madeImage(
  target: BaseImageTarget,
  at: Layout,
  image: ImageShape,
  root: RootBuffer,
  undo: Undo,
): ImageParts {
  const allocation = new Allocation({ kind: "opencl.image", byteLength: at.byteLength, free: () => undo[0]() });
  allocation.attachment(ROOT, () => root);
  registerByHandle("cl_mem", root.mem, allocation);
  return partsOf(target, at, image, allocation, "read-write");
}

/** An image of other code's, retained: a peer of those that are known by its handle. */
export function attachedImage(target: BaseImageTarget, given: bigint, access: Access = "read-write"): ImageParts {
  const mem = checks.handleIn<ClMem>(given, "handle");
  const context = target.context as BaseContext;
  context.resource.assertLive();
  const { at, type } = askImage(mem, context, target);
  const image = target.fit(at, type);
  if (isProblem(image)) throw unfit(image.problem, image.remedy ?? "Copy it to one that this device takes.");
  const { allocation } = adoptHandle("cl_mem", mem, () => {
    const undo: Undo = [];
    retainBuffer(mem, undo);
    const free = () => allocation.findAttachment<RootBuffer>(ROOT)?.kept || undo[0]();
    return { kind: "opencl.image", byteLength: at.byteLength, free };
  });
  allocation.attachment<RootBuffer>(ROOT, () => ({ mem, hostAddress: undefined, hostWriters: 0 }));
  return partsOf(target, at, image, allocation, access);
}

function partsOf(
  { context }: BaseImageTarget,
  at: Layout,
  image: ImageShape,
  allocation: Allocation,
  access: Access,
): ImageParts {
  const root = allocation.findAttachment<RootBuffer>(ROOT)!;
  const resource = own({ name: `opencl image ${describeLayout(at)}`, allocation, access, owners: [context.resource] });
  return { handle: root.mem, layout: at, resource, image, root };
}

/** Queries the driver. @throws {ArgumentError} for anything but an image of this target in the driver's own memory. */
function askImage(
  mem: ClMem,
  { rawHandle }: BaseContext,
  { format, type: wanted }: BaseImageTarget,
): { readonly at: Layout; readonly type: ImageType } {
  const fns = opencl();
  const ofMemory: Query = (name, size, value, written) => fns.clGetMemObjectInfo(mem, name, size, value, written);
  const ofImage: Query = (name, size, value, written) => fns.clGetImageInfo(mem, name, size, value, written);
  const infoOf = (name: number) => infoU64("clGetMemObjectInfo", ofMemory, name);
  const code = infoU32("clGetMemObjectInfo", ofMemory, cl.CL_MEM_TYPE);
  const type = (Object.keys(IMAGE_TYPES) as ImageType[]).find((type) => IMAGE_TYPES[type].code === code);
  if (type === undefined) throw unfit("expected an image, got another memory object.", "A buffer: cl.attach().");
  if (infoOf(cl.CL_MEM_CONTEXT) !== rawHandle) {
    throw unfit("the image is of another context.", "Attach its own: OpenCLContext.attach(handle).");
  }
  if (wanted !== undefined && wanted !== type) {
    throw unfit(`it is a ${type} image, and these are ${wanted}.`, `Use cl.image(format, { type: "${type}" }).`);
  }
  const codes = readClImageFormat(infoBytes("clGetImageInfo", ofImage, cl.CL_IMAGE_FORMAT), 0);
  const { image_channel_order: order, image_channel_data_type: channel } = codes;
  if (order !== format.orderCode || channel !== format.typeCode) {
    const { name } = formatOfCodes(order, channel) ?? { name: `order ${order} and type ${channel}` };
    throw unfit(
      `its pixels are ${name}, and those of this target are ${format.name}.`,
      "Use cl.image() of its format.",
    );
  }
  if (infoOf(cl.CL_MEM_ASSOCIATED_MEMOBJECT) !== 0n) {
    throw unfit("it lies in the memory of another object.", "Attach that, and map it to an image.");
  }
  const flags = infoOf(cl.CL_MEM_FLAGS);
  const [flag] = NOT_PLAIN.find(([, bit]) => (flags & bit) !== 0n) ?? [];
  if (flag === "CL_MEM_USE_HOST_PTR") {
    throw unfit("it lies in memory of the host.", "Wrap that, and map it to an image.");
  }
  if (flag !== undefined) throw unfit(`it was made with ${flag}.`, "Make it with CL_MEM_READ_WRITE alone.");
  const count = (name: number) => Number(infoU64("clGetImageInfo", ofImage, name));
  if (count(cl.CL_IMAGE_NUM_MIP_LEVELS) > 1 || count(cl.CL_IMAGE_NUM_SAMPLES) > 1) {
    throw unfit("it has several mipmap levels or samples.", "Attach an image of one level and one sample.");
  }
  const sides = [cl.CL_IMAGE_ARRAY_SIZE, cl.CL_IMAGE_DEPTH, cl.CL_IMAGE_HEIGHT, cl.CL_IMAGE_WIDTH].map(count);
  const pixels = sides.filter((side) => side > 0);
  const shape = format.elements === 1 ? pixels : [...pixels, format.elements];
  return { at: layout({ shape, dtype: format.dtype }), type };
}
