import type { Address } from "../../../ffi/address.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import { type FrameInfo, frameInfo, frameInWords, planeLayouts } from "../../core/layout/frame_info.ts";
import { type Layout, layout, LAYOUT_NAMES, type LayoutInit } from "../../core/layout/layout.ts";
import { Allocation, closedToHost } from "../../core/memory/allocation.ts";
import { own } from "../../core/memory/own.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import { checks } from "../check.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { cudart } from "../library.ts";
import { allocatedBy, freeDevice } from "./allocate.ts";
import type { CudaTensor } from "../tensor.ts";
import type { CudaBlock } from "./block.ts";
import { framed, ownedTensor } from "./memory.ts";

/** Options of {@link CudaContext.allocate}. */
export interface DeviceAllocation extends LayoutInit {
  /** True if the device chooses the pitch of rows (cudaMallocPitch) in place of strides and an offset. False by default. */
  readonly pitch?: boolean;
}

const NAMES: Names<DeviceAllocation & Layout> = { ...LAYOUT_NAMES, pitch: true };

interface PlacedBlock {
  readonly block: CudaBlock;
  readonly at: Layout;
}

export function deviceTensor(context: CudaPrimaryContext, init: DeviceAllocation): CudaTensor {
  const { block, at } = deviceMemory(context, init);
  return ownedTensor(context, block, at);
}

export function deviceFrame(context: CudaPrimaryContext, given: FrameInfo): Frame<CudaTensor> {
  const info = frameInfo(given);
  context.resource.assertLive();
  const layouts = planeLayouts(info);
  const { byteOffset, byteLength } = layouts[layouts.length - 1];
  const block = deviceBlock(context, byteOffset + byteLength);
  const range = { start: 0, end: block.byteLength, owners: [context.resource] };
  const resource = own({ name: `cuda frame ${frameInWords(info)}`, allocation: new Allocation(block), ...range });
  const { memory, deviceAddress: handle, hostAddress: hostHandle } = block;
  return framed(context, resource, info, layouts.map((layout) => ({ handle, hostHandle, memory, layout })), {});
}

function deviceMemory(context: CudaPrimaryContext, init: DeviceAllocation): PlacedBlock {
  const { pitch = false, shape, dtype, strides, rowAlign, byteOffset } = optionsIn(init, NAMES, "init");
  checks.assertBoolean(pitch, "pitch");
  const given = Object.entries({ strides, rowAlign, byteOffset }).filter(([, value]) => value !== undefined);
  const at = layout({ shape, dtype, ...Object.fromEntries(given) });
  if (!pitch) {
    context.resource.assertLive();
    return { block: deviceBlock(context, at.byteOffset + at.byteLength), at };
  }
  if (given.length > 0) {
    throw checks.unfit(given[0][0], "the device chooses the pitch of rows.", "Leave it out.", "cudaMallocPitch");
  }
  if (at.shape.length < 2) {
    throw checks.unfit("shape", "rows need at least two dimensions.", undefined, "cudaMallocPitch");
  }
  context.resource.assertLive();
  return pitchedMemory(context, at);
}

function deviceBlock(context: CudaPrimaryContext, byteLength: number): CudaBlock {
  const address = allocatedBy(context, "cudaMalloc", (out) => cudart().cudaMalloc(out, BigInt(byteLength)));
  return { ...onDevice(context, address, byteLength, []), free: freeDevice(context, address) };
}

function pitchedMemory(context: CudaPrimaryContext, { shape, dtype, strides }: Layout): PlacedBlock {
  const [[rows], [rowBytes]] = [shape, strides];
  const pitch = new BigUint64Array(1);
  const address = allocatedBy(
    context,
    "cudaMallocPitch",
    (out) => cudart().cudaMallocPitch(out, pitch, BigInt(rowBytes), BigInt(rows)),
  );
  const free = freeDevice(context, address);
  try {
    const stride = Number(pitch[0]);
    const at = layout({ shape, dtype, strides: [stride, ...strides.slice(1)] });
    return { block: { ...onDevice(context, address, stride * rows, ["cudaMallocPitch"]), free }, at };
  } catch (error) {
    free("unused");
    throw error;
  }
}

export function onDevice(
  { name, device: { ordinal } }: CudaPrimaryContext,
  address: Address,
  byteLength: number,
  flags: readonly string[],
): Omit<CudaBlock, "free"> {
  return {
    kind: "cuda.device",
    memory: "device",
    address,
    deviceAddress: address,
    hostAddress: undefined,
    byteLength,
    ordinal,
    flags,
    closed: closedToHost(name),
  };
}
