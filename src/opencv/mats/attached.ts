import { NULL } from "../../../ffi/address.ts";
import type { Access } from "../../core/memory/access.ts";
import { probePages } from "../../core/native/probe.ts";
import { wrong } from "../errors.ts";
import { fillEmpty, headerAt, probeOwners } from "../header.ts";
import { core } from "../library.ts";
import type { OpenCVMat } from "../mat.ts";
import { addressIn } from "../memory.ts";
import { layoutOf } from "../shape.ts";
import { filledSlot } from "../slots.ts";
import { endHeader, ownMat } from "./own.ts";
import type { MatTarget } from "./target.ts";

/** A tensor over a `cv::Mat` that somebody else made. */
export function attachedMat(target: MatTarget, given: bigint | Deno.PointerValue, access: Access): OpenCVMat {
  const handle = addressIn(given);
  const header = headerAt(handle, "mat");
  if (header.data === 0n) throw wrong("handle", "the Mat is empty.");
  probePages(header.data, layoutOf(header.shape).byteLength, "opencv", "handle");
  if (header.u !== NULL) probeOwners(header.u, "refcount");
  const slot = filledSlot((slot) => {
    fillEmpty(slot, "mat");
    core().Mat_copy(slot.header, handle);
  });
  try {
    return ownMat(target, slot, access);
  } catch (error) {
    endHeader(slot);
    throw error;
  }
}
