import { cudaEglFrame } from "../../../ffi/cuda_egl/structs.ts";
import { cudaChannelFormatDesc } from "../../../ffi/cuda_runtime/structs.ts";
import { sizeOf } from "../../core/layout/dtype.ts";
import { type Layout, layout } from "../../core/layout/layout.ts";
import type { Resource } from "../../core/life/resource.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { own } from "../../core/memory/own.ts";
import { formatIn } from "../arrays/format.ts";
import type { CudaPrimaryContext } from "../base.ts";
import type { CudaBlock } from "../memory/block.ts";
import { CudaTensor } from "../tensor.ts";
import type { FrameStruct } from "./frame.ts";

type Field = keyof typeof cudaEglFrame.fields;

/** The planes of an `EGLImage` that have addresses, as tensors. They end with the owner of the memory. */
export function planeTensors(context: CudaPrimaryContext, struct: FrameStruct, owner: Resource): CudaTensor[] {
  return Array.from({ length: struct.planeCount }, (_, i) => {
    const handle = struct.addressOf(i);
    const at = layoutOf(struct, i);
    const block: CudaBlock = {
      ...{ kind: "cuda.eglImagePlane", memory: "external", flags: [], hostAddress: undefined },
      deviceAddress: handle,
      byteLength: at.byteLength,
      ordinal: context.device.ordinal,
      free() {}, // the owner unregisters the image
    };
    const resource = own({
      name: `plane ${i} of ${owner.name}`,
      allocation: new Allocation(block),
      owners: [owner],
    });
    return new CudaTensor({ target: context, memory: "external", handle, layout: at, resource });
  });
}

/** The layout in a plane's own description, which says more than the format of the whole image. */
function layoutOf(struct: FrameStruct, plane: number): Layout {
  const view = new DataView(struct.bytes.buffer);
  const offsetOf = (name: string) => cudaEglFrame.fields[name as Field].offset;
  const number = (name: string) => view.getUint32(offsetOf(`plane_${plane}_${name}`), true);
  const first = offsetOf(`plane_${plane}_desc_x`);
  const { dtype, channels } = formatIn(struct.bytes.slice(first, first + cudaChannelFormatDesc.size));
  const pitch = Number(view.getBigUint64(offsetOf(`pitch_${plane}_pitch`), true));
  const [height, width, size] = [number("height"), number("width"), sizeOf(dtype)];
  return channels === 1
    ? layout({ shape: [height, width], dtype, strides: [pitch, size] })
    : layout({ shape: [height, width, channels], dtype, strides: [pitch, channels * size, size] });
}
