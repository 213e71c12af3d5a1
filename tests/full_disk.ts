/**
 * A disk that is full, for tests of what is written: a small tmpfs, which only root may mount.
 *
 * @module
 */

/** What a test that needs it lacks, in words for its name; undefined where it can be had. */
export const noSmallDisk: string | undefined = await lacking();

async function lacking(): Promise<string | undefined> {
  try {
    await onSmallDisk(4096, () => {});
    return undefined;
  } catch {
    return "root, to mount a tmpfs";
  }
}

/** Runs something with the path of a disk that has room for so many bytes, to a page of 4096. */
export async function onSmallDisk(byteLength: number, run: (folder: string) => unknown): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "samepage-disk-" });
  try {
    await call("mount", ["-t", "tmpfs", "-o", `size=${byteLength}`, "tmpfs", folder]);
    try {
      await run(folder);
    } finally {
      await call("umount", [folder]);
    }
  } finally {
    await Deno.remove(folder);
  }
}

async function call(command: string, args: string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command(command, { args, stderr: "piped" }).output();
  if (code !== 0) throw new Error(`${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}
