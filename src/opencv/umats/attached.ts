import { ACCESS_RW } from "../../../ffi/opencv_core/constants.ts";
import { readUMatData, UMatData } from "../../../ffi/opencv_core/structs.ts";
import type { Access } from "../../core/memory/access.ts";
import { wrong } from "../errors.ts";
import { fillEmpty, headerAt, probeOwners } from "../header.ts";
import { core } from "../library.ts";
import { addressIn, viewAt } from "../memory.ts";
import { filledSlot, isInSlot } from "../slots.ts";
import { currentContext } from "../thread_state.ts";
import type { OpenCVUMat } from "../umat.ts";
import { endHeader, ownUMat } from "./own.ts";
import type { UMatTarget } from "./target.ts";

/** A tensor over a `cv::UMat` that somebody else made. */
export function attachedUMat(target: UMatTarget, given: bigint | Deno.PointerValue, access: Access): OpenCVUMat {
  const handle = addressIn(given);
  const { u } = headerAt(handle, "umat");
  if (isInSlot(u)) throw wrong("handle", "the UMat is a tensor's of samepage's.", "Slice that tensor, or map it.");
  probeOwners(u, "urefcount");
  if (readUMatData(viewAt(u, UMatData.size), 0).handle === 0n) {
    throw wrong(
      "handle",
      "the UMat has no cl_mem: OpenCV made it where it could not use OpenCL.",
      "Use cv.mat instead.",
    );
  }
  const clContext = currentContext();
  if (clContext === undefined) {
    throw wrong("handle", "OpenCV uses no OpenCL in this thread.", "Set OPENCV_OPENCL_DEVICE.");
  }
  core().ocl_finish();
  const slot = filledSlot((slot) => {
    fillEmpty(slot, "umat");
    core().UMat_copy(slot.header, handle);
  });
  const execution = target.context.executionIn(clContext);
  try {
    const mem = core().UMat_handle(slot.header, ACCESS_RW);
    return ownUMat(target, slot, { mem, clContext, execution }, access);
  } catch (error) {
    endHeader(slot, execution);
    throw error;
  }
}
