import type { ClDeviceId } from "../../ffi/opencl/handles.ts";
import { ArgumentError } from "../core/errors.ts";
import { OpenCLContext } from "../opencl/context.ts";
import { deviceOf } from "../opencl/device.ts";
import type { Node } from "./api.ts";
import { LITTLE } from "./little.ts";

/** Opens exactly this device. */
export function openDevice(handle: ClDeviceId): OpenCLContext {
  const { platform, name, id } = deviceOf(handle);
  const cl = OpenCLContext.open({ platform, device: name, ...(id.uuid === undefined ? {} : { uuid: id.uuid }) });
  if (cl.device.handle === handle) return cl;
  cl[Symbol.dispose]();
  throw new ArgumentError(`Nothing tells ${name} from another device of that name.`, { api: "opencl" });
}

/** The kinds of memory of a device, and how to make a little of each. */
export function nodesOf(cl: OpenCLContext, device: string): Node[] {
  const made: Node[] = [{ device, target: cl, make: () => cl.allocate(LITTLE) }];
  const others = cl.targets.filter((target) => made.every((node) => node.target !== target));
  return [...made, ...others.map((target) => ({ device, target, make: undefined }))];
}
