import { join } from "@std/path";
import { aptIn, run } from "./backports.ts";

/** A folder that programs take for the root of a system: Debian's packages, unpacked, of another release or processor. */
export interface DebianRoot {
  /** Where apt keeps what it downloads; the root is in it. Git does not see it. */
  readonly folder: string;
  /** Debian's release: `"trixie"`. */
  readonly suite: string;
  /** Debian's name of the processor: `"arm64"`. */
  readonly architecture: string;
  readonly packages: readonly string[];
  /** Links that the packages' scripts would make, which do not run: from a path in the root to what it means. */
  readonly links: Readonly<Record<string, string>>;
}

/** Downloads the packages, and what they need, and unpacks them. This machine's own are left as they are. */
export async function unpackRoot({ folder, suite, architecture, packages, links }: DebianRoot): Promise<string> {
  const root = join(folder, "root");
  for (const name of ["state", "cache/archives/partial", "root"]) await run(["mkdir", "-p", join(folder, name)]);
  await Deno.writeTextFile(join(folder, "status"), ""); // nothing is installed there
  const own = {
    "Dir::State": join(folder, "state"),
    "Dir::State::status": join(folder, "status"),
    "Dir::Cache": join(folder, "cache"),
    "APT::Architecture": architecture,
    "APT::Architectures::": architecture,
  };
  const options = [
    ...await aptIn(folder, suite, "deb", architecture),
    ...Object.entries(own).flatMap(([name, value]) => ["-o", `${name}=${value}`]),
  ];
  const download = ["install", "--download-only", "--yes", "--no-install-recommends"];
  await run(["apt-get", ...options, ...download, ...packages]);
  for await (const { name } of Deno.readDir(join(folder, "cache/archives"))) {
    if (name.endsWith(".deb")) await run(["dpkg-deb", "--extract", join(folder, "cache/archives", name), root]);
  }
  for (const [path, to] of Object.entries(links)) await run(["ln", "-sfn", to, join(root, path)]);
  return root;
}

/**
 * Runs a line of bash in a root, in a folder of this machine's that is there at the same path.
 * @param before lines of bash in namespaces of their own, before the root is entered
 */
export async function runInRoot(
  root: string,
  { line, folders, cwd, before = [] }: {
    readonly line: string;
    readonly folders: readonly string[];
    readonly cwd: string;
    readonly before?: readonly string[];
  },
): Promise<Deno.CommandStatus> {
  const script = [
    ...before,
    ...["/proc", "/dev", "/sys", ...folders].map((path) =>
      `mkdir -p ${root}${path} && mount --rbind ${path} ${root}${path}`
    ),
    `mkdir -p ${root}/tmp`,
    `exec chroot ${root} /bin/bash -c "$1"`,
  ];
  const namespaces = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"];
  const args = [...namespaces, "bash", "-ec", script.join("\n"), "bash", `cd ${cwd}; ${line}`];
  return await new Deno.Command("unshare", { args }).spawn().status;
}
