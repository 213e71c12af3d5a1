import { basename, join } from "@std/path";

/** Packs what a guest boots into a file: busybox, its first process, kernel modules, and the name of the folder to share. */
export async function packInitrd(
  file: string,
  what: { init: string; folder: string; modules: readonly string[]; library: string },
): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "samepage-initrd-" });
  try {
    for (const name of ["bin", "modules", "dev", "lower", "upper", "root"]) {
      await Deno.mkdir(join(root, name));
    }
    await Deno.copyFile("/bin/busybox", join(root, "bin/busybox"));
    await Deno.writeTextFile(join(root, "init"), what.init, { mode: 0o755 });
    await Deno.writeTextFile(join(root, "folder"), what.folder);
    const needed = inOrder(await Deno.readTextFile(join(what.library, "modules.dep")), what.modules);
    await Deno.writeTextFile(join(root, "modules/order"), needed.map((path) => basename(path, ".xz")).join("\n"));
    for (const path of needed) await sh(root, 'xz -dc "$1" >modules/$(basename "$1" .xz)', join(what.library, path));
    await sh(root, 'find . | cpio -o -H newc --quiet >"$1"', file);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/**
 * The files of some modules and of those that they need, in the order in which they load. Each line of `modules.dep` is a
 * module and all that it needs, the first to load at its end: `kernel/fs/9p/9p.ko.xz: kernel/net/9p/9pnet.ko.xz …`.
 */
export function inOrder(dependencies: string, modules: readonly string[]): string[] {
  const files = modules.flatMap((module) => {
    const name = module.replaceAll(/[-_]/g, "[-_]");
    const line = new RegExp(`^\\S*/${name}\\.ko\\S*:.*$`, "m").exec(dependencies)?.[0];
    if (line === undefined) throw new Error(`expected a module of the guest's kernel, got "${module}"`);
    return line.replace(":", "").split(" ").reverse();
  });
  return [...new Set(files)];
}

async function sh(cwd: string, script: string, argument: string): Promise<void> {
  const { success, stderr } = await new Deno.Command("sh", { args: ["-ec", script, "sh", argument], cwd }).output();
  if (!success) throw new Error(`the guest's initrd was not packed:\n${new TextDecoder().decode(stderr)}`);
}
