// What all programs have in common has one name.

import type { CudaProgram } from "@samepage/interop/cuda";
import type { OpenCLProgram } from "@samepage/interop/opencl";
import type { VulkanProgram } from "@samepage/interop/vulkan";

/** What a program's user relies on, whichever API built it. */
interface Program extends Disposable {
  readonly kernelNames: readonly string[];
}

Deno.test("kernelNames is the name of every program's list of kernels, by its type", () => {
  ((...programs: [OpenCLProgram, CudaProgram, VulkanProgram]): readonly Program[] => programs);
});
