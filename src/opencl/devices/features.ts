import {
  CL_DEVICE_IMAGE2D_MAX_HEIGHT,
  CL_DEVICE_IMAGE2D_MAX_WIDTH,
  CL_DEVICE_IMAGE3D_MAX_DEPTH,
  CL_DEVICE_IMAGE3D_MAX_HEIGHT,
  CL_DEVICE_IMAGE3D_MAX_WIDTH,
  CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT,
  CL_DEVICE_IMAGE_MAX_ARRAY_SIZE,
  CL_DEVICE_IMAGE_MAX_BUFFER_SIZE,
  CL_DEVICE_IMAGE_PITCH_ALIGNMENT,
  CL_DEVICE_IMAGE_SUPPORT,
  CL_DEVICE_MAX_READ_IMAGE_ARGS,
  CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS,
  CL_DEVICE_MAX_SAMPLERS,
  CL_DEVICE_MAX_WRITE_IMAGE_ARGS,
  CL_DEVICE_PROFILING_TIMER_RESOLUTION,
  CL_DEVICE_QUEUE_ON_HOST_PROPERTIES,
  CL_DEVICE_SVM_ATOMICS,
  CL_DEVICE_SVM_CAPABILITIES,
  CL_DEVICE_SVM_COARSE_GRAIN_BUFFER,
  CL_DEVICE_SVM_FINE_GRAIN_BUFFER,
  CL_DEVICE_SVM_FINE_GRAIN_SYSTEM,
  CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
  CL_QUEUE_PROFILING_ENABLE,
} from "../../../ffi/opencl/constants.ts";
import { type Ask, count, flag, from, optional, type Queries, queryAll, size, word } from "./queries.ts";

/** CL_DEVICE_SVM_CAPABILITIES: a device's kinds of shared virtual memory. */
export interface DeviceSvm {
  /** Buffers that are mapped for the host, and unmapped. */
  readonly coarseGrainBuffer: boolean;
  /** Buffers that host and device use in place. */
  readonly fineGrainBuffer: boolean;
  /** Any memory of the host. */
  readonly fineGrainSystem: boolean;
  /** Atomics across host and device, in fine-grain memory. */
  readonly atomics: boolean;
}

/** A device's image limits. */
export interface DeviceImages {
  /** The largest 2D image: width and height, in pixels. A 1D image has that width. */
  readonly max2d: readonly number[];
  /** The largest 3D image: width, height and depth, in pixels. */
  readonly max3d: readonly number[];
  /** CL_DEVICE_IMAGE_MAX_ARRAY_SIZE: images of an array. */
  readonly maxArray: number;
  /** CL_DEVICE_IMAGE_MAX_BUFFER_SIZE: pixels of a 1D image made from a buffer. */
  readonly maxBuffer: number;
  /** CL_DEVICE_MAX_SAMPLERS of one kernel. */
  readonly maxSamplers: number;
  /** CL_DEVICE_MAX_READ_IMAGE_ARGS of one kernel. */
  readonly maxReadArguments: number;
  /** CL_DEVICE_MAX_WRITE_IMAGE_ARGS of one kernel. */
  readonly maxWriteArguments: number;
  /** CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS of one kernel. */
  readonly maxReadWriteArguments: number;
  /** CL_DEVICE_IMAGE_PITCH_ALIGNMENT, in pixels, of a 2D image made from a buffer; 0 if it makes no such image. */
  readonly pitchAlign: number;
  /** CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, in pixels, of such an image; 0 if it makes none. */
  readonly baseAddressAlign: number;
}

/** CL_DEVICE_QUEUE_ON_HOST_PROPERTIES: a device's queues. */
export interface DeviceQueues {
  /** Queues whose commands may overtake each other. */
  readonly outOfOrder: boolean;
  /** Queues that measure their commands. */
  readonly profiling: boolean;
  /** CL_DEVICE_PROFILING_TIMER_RESOLUTION, in nanoseconds. */
  readonly timerResolution: number;
}

const IMAGES: Queries<DeviceImages> = {
  max2d: each([CL_DEVICE_IMAGE2D_MAX_WIDTH, CL_DEVICE_IMAGE2D_MAX_HEIGHT]),
  max3d: each([CL_DEVICE_IMAGE3D_MAX_WIDTH, CL_DEVICE_IMAGE3D_MAX_HEIGHT, CL_DEVICE_IMAGE3D_MAX_DEPTH]),
  maxArray: optional(size(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE), 0),
  maxBuffer: optional(size(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE), 0),
  maxSamplers: optional(count(CL_DEVICE_MAX_SAMPLERS), 0),
  maxReadArguments: optional(count(CL_DEVICE_MAX_READ_IMAGE_ARGS), 0),
  maxWriteArguments: optional(count(CL_DEVICE_MAX_WRITE_IMAGE_ARGS), 0),
  maxReadWriteArguments: optional(count(CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS), 0),
  pitchAlign: optional(count(CL_DEVICE_IMAGE_PITCH_ALIGNMENT), 0),
  baseAddressAlign: optional(count(CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT), 0),
};

const hasImages = optional(flag(CL_DEVICE_IMAGE_SUPPORT), false);

export const askImages: Ask<DeviceImages | undefined> = (device) =>
  hasImages(device) ? queryAll(IMAGES, device) : undefined;

export const askSvm: Ask<DeviceSvm> = from(optional(word(CL_DEVICE_SVM_CAPABILITIES), 0n), (bits) => ({
  coarseGrainBuffer: (bits & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) !== 0n,
  fineGrainBuffer: (bits & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) !== 0n,
  fineGrainSystem: (bits & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) !== 0n,
  atomics: (bits & CL_DEVICE_SVM_ATOMICS) !== 0n,
}));

const queueBits = optional(word(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES), 0n);

const QUEUES: Queries<DeviceQueues> = {
  outOfOrder: from(queueBits, (bits) => (bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) !== 0n),
  profiling: from(queueBits, (bits) => (bits & CL_QUEUE_PROFILING_ENABLE) !== 0n),
  timerResolution: optional(size(CL_DEVICE_PROFILING_TIMER_RESOLUTION), 0),
};

export const askQueues: Ask<DeviceQueues> = (device) => queryAll(QUEUES, device);

function each(names: readonly number[]): Ask<readonly number[]> {
  const asks = names.map((name) => optional(size(name), 0));
  return (device) => asks.map((ask) => ask(device));
}
