import { CL_QUEUE_REFERENCE_COUNT } from "../../../ffi/opencl/constants.ts";
import type { ClCommandQueue, ClDeviceId } from "../../../ffi/opencl/handles.ts";
import { finalizers } from "../../core/life/finalizers.ts";
import { ledger } from "../../core/life/ledger.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { sleepSync } from "../../core/native/sleep.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import { deviceOf, type OpenCLDevice } from "../device.ts";
import { check } from "../errors.ts";
import { infoU32, type Query } from "../info.ts";
import { opencl } from "../library.ts";

/** A checked way to cut a device: what clCreateSubDevices takes. */
export interface Cut {
  /** The most parts that can come of it. */
  readonly count: number;
  /** `cl_device_partition_property[]`. */
  readonly properties: BigUint64Array<ArrayBuffer>;
}

/** What each sub-device ends with. Held weakly: a description that nobody has any more needs no entry. */
const owners = new WeakMap<OpenCLDevice, Resource>();

/**
 * Parts of a device, each a device of its own. Disposing it releases them; a context that was made with some of them
 * keeps those for as long as it lives.
 */
export class SubDevices extends NativeObject {
  /** The parts. */
  readonly devices: readonly OpenCLDevice[];
  /** Its end of life. */
  readonly resource: Resource;

  /** Made by {@link partition}. */
  constructor(device: OpenCLDevice, cut: Cut) {
    super();
    const undo: Undo = [];
    try {
      this.devices = Object.freeze(create(device, cut, undo).map(deviceOf));
    } catch (error) {
      unwind(undo);
      throw error;
    }
    this.resource = new Resource({ name: `sub-devices of ${device.name}`, owners: [owners.get(device)], undo });
    for (const part of this.devices) owners.set(part, this.resource);
    finalizers.register(this, this.resource, this);
  }
}

/** What a sub-device ends with; undefined for what is none of ours. */
export function ownerOf(device: OpenCLDevice): Resource | undefined {
  return owners.get(device);
}

/** A context has it now: it lives until that ends, whatever becomes of its partition. */
export function retainDevice(device: OpenCLDevice, undo: Undo): void {
  if (device.parent === undefined) return;
  check(opencl().clRetainDevice!(device.handle), "clRetainDevice");
  own(device.handle, undo);
}

/** How long a driver may take to let go of a queue's last command, in milliseconds. */
const LET_GO_MS = 100;

/**
 * Waits until nobody but us holds a queue, just before it is released: a worker of PoCL 3.1's looks at the sub-device
 * once more when it lets go of the last event, and that is after the event is complete. A queue that is held for longer
 * keeps its sub-device for good.
 */
export function outlastWorkers(queue: ClCommandQueue, device: OpenCLDevice): void {
  if (device.parent === undefined) return;
  const query: Query = (name, size, value, written) =>
    opencl().clGetCommandQueueInfo(queue, name, size, value, written);
  let held = true;
  try {
    for (const end = performance.now() + LET_GO_MS; performance.now() < end; sleepSync(1)) {
      held = infoU32("clGetCommandQueueInfo", query, CL_QUEUE_REFERENCE_COUNT) > 1;
      if (!held) return;
    }
  } finally {
    if (held) check(opencl().clRetainDevice!(device.handle), "clRetainDevice");
  }
}

function create(device: OpenCLDevice, { count, properties }: Cut, undo: Undo): ClDeviceId[] {
  const made = new Uint32Array(1);
  const handles = new BigUint64Array(count);
  check(
    opencl().clCreateSubDevices!(device.handle, properties, count, handles, made),
    "clCreateSubDevices",
  );
  return Array.from(handles.subarray(0, made[0]), (handle) => own(handle as ClDeviceId, undo));
}

/** Its release goes on the undo list. */
function own(handle: ClDeviceId, undo: Undo): ClDeviceId {
  ledger.add("opencl.cl_device_id");
  undo.push(() => {
    ledger.remove("opencl.cl_device_id");
    check(opencl().clReleaseDevice!(handle), "clReleaseDevice");
  });
  return handle;
}
