import { announce, capture } from "./capture.ts";
import type { Package } from "./packages.ts";

/** What guests boot and run, in a folder of this checkout that git does not see. */
export const FOLDER = new URL("../../.guest", import.meta.url).pathname;

const configuration = (folder: string) => `
Dir::Etc::sourcelist "${folder}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "${folder}/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Sandbox::User "root";
`;
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

/** A package of backports that is unpacked, and not installed. */
export interface Backport extends Pick<Package, "name" | "why"> {
  /** The folder that it becomes. */
  readonly folder: string;
  /** The name of the package itself, where `name` only depends on it: the beginning of it. */
  readonly dependency?: string;
  /** What is left to do in the folder, before it is there. */
  readonly finish: (folder: string) => Promise<void>;
}

/** Downloads a package of Debian's backports and unpacks it, and returns why it could not. Nothing is installed. */
export async function unpackBackport(title: string, item: Backport): Promise<string | undefined> {
  if (Deno.build.arch !== "x86_64") return `${item.name} is one for x86-64, not for ${Deno.build.arch}`;
  announce(`${title}, through apt, into ${item.folder} (it is not installed)`, [item]);
  try {
    await download(item, (await mirror()).codename);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * An apt that works in a folder, for one suite of Debian: the machine's own need not know it. Returns its options.
 * @param of `deb` for packages, `deb-src` for their sources
 * @param architecture Debian's name of a processor, where it is not this machine's
 */
export async function aptIn(
  folder: string,
  suite: string,
  of: "deb" | "deb-src" = "deb",
  architecture?: string,
): Promise<readonly string[]> {
  const { url } = await mirror();
  await Deno.mkdir(`${folder}/lists/partial`, { recursive: true });
  await Deno.writeTextFile(`${folder}/apt.conf`, configuration(folder));
  const which = `signed-by=${KEYRING}${architecture === undefined ? "" : ` arch=${architecture}`}`;
  await Deno.writeTextFile(`${folder}/sources.list`, `${of} [${which}] ${url} ${suite} main\n`);
  const options = ["-c", `${folder}/apt.conf`, "-qq"];
  await run(["apt-get", ...options, "update"]);
  return options;
}

/** Where this machine's apt gets Debian from, and the release's name. */
export async function mirror(): Promise<{ url: string; codename: string }> {
  const release = await Deno.readTextFile("/etc/os-release").catch(() => "");
  const codename = /^VERSION_CODENAME=(\S+)$/m.exec(release)?.[1];
  const uris = await run(["apt-get", "update", "--print-uris"]); // it only prints them
  const suites = [...uris.matchAll(/^'(\S+)\/dists\/(\S+)\/InRelease'/gm)];
  // Several mirrors may have a suite of the release's name; only Debian's has one for its updates, too.
  const found = suites.find(([, , suite]) => suite === `${codename}-updates`) ??
    suites.find(([, , suite]) => suite === codename);
  if (codename === undefined || found === undefined) throw new Error("apt has no mirror of this Debian's release");
  return { url: found[1], codename };
}

async function download(item: Backport, codename: string): Promise<void> {
  const release = `${codename}-backports`;
  const options = await aptIn(`${FOLDER}/apt`, release);
  const name = await packageOf(item, options);

  const folder = await Deno.makeTempDir({ dir: FOLDER });
  try {
    await run(["apt-get", ...options, "download", `${name}/${release}`], folder);
    const [deb] = await Array.fromAsync(Deno.readDir(folder));
    const unpacked = `${folder}/unpacked`;
    await run(["dpkg-deb", "-x", deb.name, unpacked], folder);
    await item.finish(unpacked);
    await Deno.rename(unpacked, item.folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function packageOf({ name, dependency }: Backport, options: readonly string[]): Promise<string> {
  if (dependency === undefined) return name;
  const depends = await run(["apt-cache", ...options, "depends", name]);
  const found = new RegExp(`Depends: (${dependency}\\S+)`).exec(depends)?.[1];
  if (found === undefined) throw new Error(`${name} of backports depends on no ${dependency}`);
  return found;
}

/** Runs a command that has to succeed, and returns what it prints. */
export async function run([command, ...args]: readonly string[], cwd?: string): Promise<string> {
  const ended = await capture(command, args, cwd);
  if (!ended?.success) throw new Error(`${command} failed:\n${ended?.text.trimEnd() ?? "it is not there"}`);
  return ended.text;
}
