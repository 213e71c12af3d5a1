import { FOLDER, unpackBackport } from "./backports.ts";
import { EGL_LIBRARIES, hasEgl } from "./mesa.ts";

/** The folder of the guest's VA-API driver, and of what that needs beside the Mesa of the guest's EGL. */
const VA = `${FOLDER}/va`;
const LIBRARIES = "usr/lib/x86_64-linux-gnu";
const DRIVER = "dri/virtio_gpu_drv_video.so";

/** Variables by which libva finds the guest's driver, and the loader that driver's libraries. */
export const VA_ENV: Readonly<Record<string, string>> = {
  LIBVA_DRIVER_NAME: "virtio_gpu",
  LIBVA_DRIVERS_PATH: `${VA}/dri`,
  LD_LIBRARY_PATH: `${EGL_LIBRARIES}:${VA}/${LIBRARIES}`,
  VIRGL_DEBUG: "noemubgra", // with that emulation red and blue of a BGRA surface change places
};

/** Is it there? */
export async function hasVaDriver(): Promise<boolean> {
  return await Deno.stat(`${VA}/${DRIVER}`).then(() => true, () => false);
}

/** Makes a VA-API driver of the guest's Mesa, if it is not there, and returns why it could not. */
export async function unpackVaDriver(title: string): Promise<string | undefined> {
  if (await hasVaDriver()) return undefined;
  if (!await hasEgl()) return "the guest's VA-API is a part of its Mesa, which is not there";
  await Deno.remove(VA, { recursive: true }).catch(() => {});
  return await unpackBackport(title, {
    name: "libdrm-amdgpu1",
    why: "what VA-API's driver of the guest's GPU needs, which is in its Mesa",
    folder: VA,
    async finish(folder) {
      const mesa = `gallium/${LIBRARIES}`;
      const names = await Array.fromAsync(Deno.readDir(`${FOLDER}/${mesa}`));
      const library = names.find(({ name }) => name.startsWith("libgallium"))!.name;
      await Deno.mkdir(`${folder}/dri`);
      await Deno.symlink(`../../${mesa}/${library}`, `${folder}/${DRIVER}`); // every driver of Mesa's is this one file
    },
  });
}
