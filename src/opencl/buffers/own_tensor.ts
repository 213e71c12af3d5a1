import { assertInOnePiece } from "../check.ts";
import { NULL } from "../../../ffi/address.ts";
import { CL_MEM_ALLOC_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import type { Access } from "../../core/memory/access.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { registerByHandle } from "../../core/memory/peers.ts";
import { Grant } from "../../core/memory/grant.ts";
import { describeLayout, type Layout, layout, type LayoutInit } from "../../core/layout/layout.ts";
import { Resource } from "../../core/life/resource.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { BufferLimits } from "./limits.ts";
import type { BaseContext } from "../base_context.ts";
import { adoptDriverBuffer, driverBlock } from "./driver_buffers.ts";
import { createBuffer } from "./native.ts";
import type { OpenCLTensorInit, RootBuffer } from "./tensor.ts";

export interface OwnTensorInit {
  readonly allocation: Allocation;
  readonly start: number;
  readonly handle: ClMem;
  readonly root: RootBuffer;
  readonly origin: number;
  readonly layout: Layout;
  readonly access: Access;
  readonly limits?: BufferLimits | undefined;
  readonly undo: Undo;
}

export function ownTensor(
  target: BaseContext,
  init: OwnTensorInit,
): OpenCLTensorInit & { readonly resource: Resource } {
  const { allocation, start, access, undo, ...rest } = init;
  const name = `opencl tensor ${describeLayout(init.layout)}`;
  const begin = start + init.layout.byteOffset;
  const grant = Grant.root(allocation, begin, begin + init.layout.byteLength, access, name);
  const resource = new Resource({ name, grants: [grant], owners: [target.resource], undo });
  return { target, resource, ...rest };
}

/** What a tensor is made of that has memory of its own (CL_MEM_ALLOC_HOST_PTR), not initialised. */
export function allocatedTensor(context: BaseContext, init: LayoutInit): OpenCLTensorInit {
  const at = layout(init);
  context.resource.assertLive();
  const undo: Undo = [];
  const byteLength = at.byteOffset + at.byteLength;
  assertInOnePiece(context, "clCreateBuffer", byteLength);
  const mem = createBuffer(context, CL_MEM_ALLOC_HOST_PTR, byteLength, NULL, undo);
  const allocation = new Allocation(driverBlock(byteLength, undo));
  registerByHandle("cl_mem", mem, allocation);
  allocation.join();
  return ownTensor(context, {
    allocation,
    start: 0,
    handle: mem,
    root: adoptDriverBuffer(context.memory.space, { mem, start: 0 }, allocation),
    origin: 0,
    layout: at,
    access: "read-write",
    undo: [() => allocation.leave()],
  });
}
