import { announce, capture } from "./capture.ts";

/**
 * What guests boot, in a folder of this checkout that git does not see. Mesa for a guest's GL will be in `mesa` beside the
 * kernel: installed on the machine, Mesa from backports would take rusticl away.
 */
const FOLDER = new URL("../../.guest", import.meta.url).pathname;

/** The folder of the kernel, as its package has it: `boot`, `lib`. */
export const KERNEL = `${FOLDER}/kernel`;

/** Where apt works for the kernel alone: the machine's own apt need not know backports. */
const APT = `${FOLDER}/apt`;
const CONFIGURATION = `
Dir::Etc::sourcelist "${APT}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "${APT}/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Sandbox::User "root";
`;
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

/** The release of the kernel that is there: `6.12.95+deb12-amd64`. It is undefined where there is none. */
export async function kernelRelease(): Promise<string | undefined> {
  const modules = await Array.fromAsync(Deno.readDir(`${KERNEL}/lib/modules`)).catch(() => []);
  return modules[0]?.name;
}

/** Downloads the kernel of Debian's backports and unpacks it, and returns why it could not. Nothing is installed. */
export async function unpackKernel(title: string): Promise<string | undefined> {
  if (await kernelRelease() !== undefined) return undefined;
  if (Deno.build.arch !== "x86_64") return `the guest's kernel is one for x86-64, not for ${Deno.build.arch}`;
  announce(`${title}, through apt, into ${KERNEL} (it is not installed)`, [
    { name: "linux-image-amd64", why: "a kernel of backports with udmabuf, DMA heaps and vgem; 106 MB" },
  ]);
  try {
    await download(await mirror());
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Where this machine's apt gets Debian from, and the release's name. */
async function mirror(): Promise<{ url: string; codename: string }> {
  const release = await Deno.readTextFile("/etc/os-release").catch(() => "");
  const codename = /^VERSION_CODENAME=(\S+)$/m.exec(release)?.[1];
  const uris = await run(["apt-get", "update", "--print-uris"]); // it only prints them
  const suites = [...uris.matchAll(/^'(\S+)\/dists\/(\S+)\/InRelease'/gm)];
  // Of those who have a suite of the release's name, Debian alone has one for its updates.
  const found = suites.find(([, , suite]) => suite === `${codename}-updates`) ??
    suites.find(([, , suite]) => suite === codename);
  if (codename === undefined || found === undefined) throw new Error("apt has no mirror of this Debian's release");
  return { url: found[1], codename };
}

async function download({ url, codename }: { url: string; codename: string }): Promise<void> {
  await Deno.mkdir(`${APT}/lists/partial`, { recursive: true });
  await Deno.writeTextFile(`${APT}/apt.conf`, CONFIGURATION);
  await Deno.writeTextFile(`${APT}/sources.list`, `deb [signed-by=${KEYRING}] ${url} ${codename}-backports main\n`);
  const options = ["-c", `${APT}/apt.conf`, "-qq"];
  await run(["apt-get", ...options, "update"]);
  const depends = await run(["apt-cache", ...options, "depends", "linux-image-amd64"]);
  const name = /Depends: (linux-image-\S+)/.exec(depends)?.[1];
  if (name === undefined) throw new Error("linux-image-amd64 of backports names no kernel");

  const folder = await Deno.makeTempDir({ dir: FOLDER });
  try {
    await run(["apt-get", ...options, "download", name], folder);
    const [deb] = await Array.fromAsync(Deno.readDir(folder));
    await run(["dpkg-deb", "-x", deb.name, "kernel"], folder);
    const [release] = await Array.fromAsync(Deno.readDir(`${folder}/kernel/lib/modules`));
    await run(["/sbin/depmod", "-b", "kernel", release.name], folder);
    await Deno.rename(`${folder}/kernel`, KERNEL);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs a command that has to succeed, and returns what it prints. */
async function run([command, ...args]: readonly string[], cwd?: string): Promise<string> {
  const ended = await capture(command, args, cwd);
  if (!ended?.success) throw new Error(`${command} failed:\n${ended?.text.trimEnd() ?? "it is not there"}`);
  return ended.text;
}
