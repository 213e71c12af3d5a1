import { FOLDER, unpackBackport } from "./backports.ts";

/** The folder of the guest's Mesa, as its package has it. Installed on the machine, it would take rusticl away. */
const MESA = `${FOLDER}/mesa`;
const MANIFEST = "usr/share/vulkan/icd.d/lvp_icd.json";
/** From the manifest's folder. */
const DRIVER = "../../../lib/x86_64-linux-gnu/libvulkan_lvp.so";

/** What `VK_DRIVER_FILES` names, so that Vulkan's loader takes the guest's lavapipe, and no other driver. */
export const LAVAPIPE = `${MESA}/${MANIFEST}`;

/** Is it there? */
export async function hasLavapipe(): Promise<boolean> {
  return await Deno.stat(LAVAPIPE).then(() => true, () => false);
}

/** Unpacks the lavapipe of Debian's backports, if it is not there, and returns why it could not. */
export async function unpackLavapipe(title: string): Promise<string | undefined> {
  if (await hasLavapipe()) return undefined;
  return await unpackBackport(title, {
    name: "mesa-vulkan-drivers",
    why: "a lavapipe of backports with dma-bufs and sync files; 11 MB",
    folder: MESA,
    async finish(folder) {
      const manifest = JSON.parse(await Deno.readTextFile(`${folder}/${MANIFEST}`));
      manifest.ICD.library_path = DRIVER; // the loader would look for it among the machine's own libraries
      await Deno.stat(new URL(DRIVER, `file://${folder}/${MANIFEST}`));
      await Deno.writeTextFile(`${folder}/${MANIFEST}`, JSON.stringify(manifest));
    },
  });
}

/** What the guest's EGL is made of: each package has a folder of its own. */
const EGL = [
  { name: "libegl-mesa0", folder: `${FOLDER}/egl`, file: "libEGL_mesa.so.0", why: "EGL of backports with dma-bufs" },
  { name: "mesa-libgallium", folder: `${FOLDER}/gallium`, file: "", why: "its driver; 10 MB" },
];
const LIBRARIES = "usr/lib/x86_64-linux-gnu";

/** What `LD_LIBRARY_PATH` names, so that EGL's loader finds the guest's driver before the machine's. */
export const EGL_LIBRARIES = EGL.map(({ folder }) => `${folder}/${LIBRARIES}`).join(":");

/** Is it there? */
export async function hasEgl(): Promise<boolean> {
  const found = EGL.map(({ folder, file }) => Deno.stat(`${folder}/${LIBRARIES}/${file}`));
  return await Promise.all(found).then(() => true, () => false);
}

/** Unpacks the EGL of Debian's backports, if it is not there, and returns why it could not. */
export async function unpackEgl(title: string): Promise<string | undefined> {
  if (await hasEgl()) return undefined;
  for (const { name, why, folder, file } of EGL) {
    const finish = async (folder: string) => void await Deno.stat(`${folder}/${LIBRARIES}/${file}`);
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    const reason = await unpackBackport(title, { name, why, folder, finish });
    if (reason !== undefined) return reason;
  }
  return undefined;
}
