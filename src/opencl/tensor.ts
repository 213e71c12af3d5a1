import { Resource } from "../core/life/resource.ts";
import type { Undo } from "../core/life/undo.ts";
import type { Layout, LayoutInit } from "../core/layout/layout.ts";
import type { Part, SliceOptions } from "../core/tensors/tensor.ts";
import { partOf } from "./buffers/native.ts";
import { BufferTensor } from "./buffers/tensor.ts";
import type { OpenCLContext } from "./context.ts";

/** Memory that an OpenCL device sees. Its handle is the `cl_mem`. */
export class OpenCLTensor extends BufferTensor {
  /** Its context. */
  override get context(): OpenCLContext {
    return this.target.context as OpenCLContext;
  }

  /** Lends a part as a child: a sub-buffer if its alignment allows one. @see {@link Tensor.slice} */
  override slice(init: Layout | LayoutInit, options: SliceOptions = {}): OpenCLTensor {
    return super.slice(init, options) as OpenCLTensor;
  }

  /** Makes the tensor of a part that was lent. */
  protected override derive(part: Part): OpenCLTensor {
    const undo: Undo = [];
    const { handle, origin, layout } = partOf(
      this.context,
      this.root.mem,
      this.origin + part.layout.byteOffset,
      part.layout,
      undo,
    );
    const resource = new Resource({ name: part.name, grants: [part.grant], owners: [this.resource], undo });
    const { target, root, limits } = this;
    return new OpenCLTensor({ target, handle, layout, resource, parent: this, root, origin, limits });
  }
}
