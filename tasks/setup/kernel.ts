import { FOLDER, run, unpackBackport } from "./backports.ts";

/** The folder of the guest's kernel, as its package has it: `boot`, `lib`. */
export const KERNEL = `${FOLDER}/kernel`;

/** The release of the kernel that is there: `6.12.95+deb12-amd64`. It is undefined where there is none. */
export async function kernelRelease(): Promise<string | undefined> {
  return await releaseIn(KERNEL);
}

async function releaseIn(folder: string): Promise<string | undefined> {
  const modules = await Array.fromAsync(Deno.readDir(`${folder}/lib/modules`)).catch(() => []);
  return modules[0]?.name;
}

/** Unpacks the kernel of Debian's backports, if it is not there, and returns why it could not. */
export async function unpackKernel(title: string): Promise<string | undefined> {
  if (await kernelRelease() !== undefined) return undefined;
  return await unpackBackport(title, {
    name: "linux-image-amd64",
    dependency: "linux-image-",
    why: "a kernel of backports with udmabuf, DMA heaps and vgem; 106 MB",
    folder: KERNEL,
    finish: async (folder) => void await run(["/sbin/depmod", "-b", folder, (await releaseIn(folder))!]),
  });
}
