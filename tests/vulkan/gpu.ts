/**
 * The GPUs that Vulkan, OpenCL and CUDA share memory on.
 *
 * @module
 */
import { InteropError, ledger } from "@samepage/interop";
import { CudaContext, cudaDevices } from "@samepage/interop/cuda";
import { OpenCLContext, type OpenCLDevice, openclDevices } from "@samepage/interop/opencl";
import { VulkanContext, vulkanDevices } from "@samepage/interop/vulkan";
import { messageOf } from "../../src/core/errors.ts";
import { assertAlive } from "../alive.ts";

/** One GPU, in three APIs. */
export interface Gpu {
  /** Its UUID, by which they know it. */
  readonly uuid: string;
  /** Opens it in one of them. */
  vulkan(): VulkanContext;
  opencl(): OpenCLContext;
  cuda(): CudaContext;
}

const found = gpusHere();

/** Those of this machine. */
export const gpus: readonly Gpu[] = found.gpus;

function gpusHere(): { readonly gpus: readonly Gpu[]; readonly missing?: string } {
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

/** What OpenCL's driver has not that all of it needs. */
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

/**
 * A test that needs so many GPUs: without, it is ignored and says so. What is alive afterwards is what was before, and so
 * many fds are open.
 */
export function sharingTest(name: string, run: () => unknown, count = 1): void {
  const reason = found.missing ?? (gpus.length < count ? `needs ${count} GPUs` : undefined);
  Deno.test({
    name: `vulkan: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`,
    ignore: reason !== undefined,
    fn: async () => {
      const before = ledger.alive;
      await run();
      await assertAlive(before, "what is alive");
    },
  });
}

/** How many fds this process has open. */
export function openFds(): number {
  return [...Deno.readDirSync("/proc/self/fd")].length;
}
