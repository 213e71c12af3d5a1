import { assertInOnePiece } from "../check.ts";
import { NULL } from "../../../ffi/address.ts";
import { CL_MEM_ALLOC_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import type { Access } from "../../core/memory/access.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { Grant } from "../../core/memory/grant.ts";
import { describeLayout, type Layout, layout, type LayoutInit } from "../../core/layout/layout.ts";
import { Resource } from "../../core/life/resource.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { BufferLimits } from "./limits.ts";
import type { OpenCLContext } from "../context.ts";
import { addDriverBuffer } from "./driver_buffers.ts";
import { createBuffer, OpenCLTensor, type RootBuffer } from "../tensor.ts";

/** What a tensor that owns its bytes, alone or with peers, is made of. */
export interface OwnTensorInit {
  /** The block of all who own them. */
  readonly allocation: Allocation;
  /** Where the handle's first byte lies in that block. */
  readonly start: number;
  /** The `cl_mem`: the root, or a sub-buffer of it. */
  readonly handle: ClMem;
  /** The root buffer of its bytes. */
  readonly root: RootBuffer;
  /** Where the handle's first byte lies in the root. */
  readonly origin: number;
  /** Where the elements lie, counted from the handle. */
  readonly layout: Layout;
  /** Its access. */
  readonly access: Access;
  /** What the handle's flags forbid. */
  readonly limits?: BufferLimits | undefined;
  /** What it gives back at its end. */
  readonly undo: Undo;
}

/** A tensor that owns its bytes, alone or with peers. */
export function ownTensor(target: OpenCLContext, init: OwnTensorInit): OpenCLTensor {
  const { allocation, start, access, undo, ...rest } = init;
  const name = `opencl tensor ${describeLayout(init.layout)}`;
  const begin = start + init.layout.byteOffset;
  const grant = Grant.root(allocation, begin, begin + init.layout.byteLength, access, name);
  const resource = new Resource({ name, grants: [grant], owners: [target.resource], undo });
  return new OpenCLTensor({ target, resource, ...rest });
}

/** A tensor of the driver's own memory (CL_MEM_ALLOC_HOST_PTR), not initialised. */
export function allocatedTensor(context: OpenCLContext, init: LayoutInit): OpenCLTensor {
  const at = layout(init);
  context.resource.assertLive();
  const undo: Undo = [];
  const byteLength = at.byteOffset + at.byteLength;
  assertInOnePiece(context, "clCreateBuffer", byteLength);
  const mem = createBuffer(context, CL_MEM_ALLOC_HOST_PTR, byteLength, NULL, undo);
  const root = addDriverBuffer({ mem, byteLength }, undo);
  const { allocation } = root;
  allocation.join();
  return ownTensor(context, {
    allocation,
    start: 0,
    handle: mem,
    root,
    origin: 0,
    layout: at,
    access: "read-write",
    undo: [() => allocation.leave()],
  });
}
