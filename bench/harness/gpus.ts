/**
 * The GPUs that Vulkan, OpenCL and CUDA share memory on.
 *
 * @module
 */
import { InteropError } from "@samepage/interop";
import { CudaContext, cudaDevices } from "@samepage/interop/cuda";
import { OpenCLContext, type OpenCLDevice, openclDevices } from "@samepage/interop/opencl";
import { VulkanContext, vulkanDevices } from "@samepage/interop/vulkan";
import { messageOf } from "../../src/core/errors.ts";

/** One GPU, in three APIs. */
export interface Gpu {
  /** Its UUID, by which they know it. */
  readonly uuid: string;
  /** Opens it in one of them. */
  vulkan(): VulkanContext;
  opencl(): OpenCLContext;
  cuda(): CudaContext;
}

/** Some, or why there is none. */
interface Found {
  readonly gpus: readonly Gpu[];
  readonly missing?: string;
}

let found: Found | undefined;

/** Those of this machine; or why there is none. */
export function sharedGpus(): Found {
  return found ??= gpusHere();
}

function gpusHere(): Found {
  const cuda = listed("CUDA", cudaDevices);
  const opencl = listed("OpenCL", openclDevices);
  const vulkan = listed("Vulkan", vulkanDevices);
  const problem = [cuda, opencl, vulkan].find(({ problem }) => problem !== undefined)?.problem;
  if (problem !== undefined) return { gpus: [], missing: problem };
  const gpus: Gpu[] = [];
  let missing = "CUDA, OpenCL and Vulkan have no device in common";
  for (const { id: { uuid } } of cuda.devices) {
    const device = opencl.devices.find(({ id }) => id.uuid === uuid);
    if (uuid === undefined || device === undefined || !vulkan.devices.some(({ id }) => id.uuid === uuid)) continue;
    const lacks = lackingOf(device);
    if (lacks !== undefined) missing = lacks;
    else gpus.push(gpu(uuid, device));
  }
  return gpus.length > 0 ? { gpus } : { gpus, missing };
}

function gpu(uuid: string, device: OpenCLDevice): Gpu {
  return {
    uuid,
    vulkan: () => VulkanContext.open({ uuid }),
    opencl: () => OpenCLContext.create([device]),
    cuda: () => CudaContext.open({ uuid }),
  };
}

/** Why OpenCL's driver cannot take part; undefined where it can. */
function lackingOf({ name, extensions }: OpenCLDevice): string | undefined {
  const lacks = ["cl_khr_external_memory_opaque_fd", "cl_khr_external_semaphore_opaque_fd"]
    .find((extension) => !extensions.includes(extension));
  return lacks === undefined ? undefined : `OpenCL has no ${lacks} on ${name}`;
}

function listed<D>(
  api: string,
  list: () => readonly D[],
): { readonly devices: readonly D[]; readonly problem?: string } {
  try {
    const devices = list();
    return devices.length > 0 ? { devices } : { devices, problem: `${api} has no device` };
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    return { devices: [], problem: `${api}: ${messageOf(error).split(/(?<=\.) /)[0]}` };
  }
}
