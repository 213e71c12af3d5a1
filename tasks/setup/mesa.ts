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
