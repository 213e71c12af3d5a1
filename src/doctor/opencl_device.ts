import type { ClDeviceId } from "../../ffi/opencl/handles.ts";
import type { Target } from "../core/context.ts";
import { ArgumentError } from "../core/errors.ts";
import type { Mapped } from "../core/mapped.ts";
import { OpenCLContext } from "../opencl/context.ts";
import { deviceOf } from "../opencl/device.ts";

/** Bytes of a try: as many as the host's, so that what a map of either would see is alike. */
const LITTLE = 4096;

/** Opens exactly this device. */
export function openDevice(handle: ClDeviceId): OpenCLContext {
  const { platform, name, id } = deviceOf(handle);
  const cl = OpenCLContext.open({ platform, device: name, ...(id.uuid === undefined ? {} : { uuid: id.uuid }) });
  if (cl.device.handle === handle) return cl;
  cl[Symbol.dispose]();
  throw new ArgumentError(`Nothing tells ${name} from another device of that name.`, { api: "opencl" });
}

/** How to make a little memory of a target; undefined where the doctor does not know. */
export function makerOf(cl: OpenCLContext, target: Target): (() => Mapped) | undefined {
  return target === cl ? () => cl.allocate({ shape: [LITTLE], dtype: "u8" }) : undefined;
}
