// The tests of OpenCV 4.10 and FFmpeg 7.1 on Debian 13, which has them: `deno run -A tasks/debian13.ts [FILE…]`, as root
// on Debian.
//
// Debian 13's packages are unpacked into out/debian13, and the tests run with that folder as their root. The system's own
// packages and their lists stay as they are. It needs 1.6 GB.

import { dirname, fromFileUrl, join } from "@std/path";

const ROOT = fromFileUrl(new URL("../", import.meta.url));
const FOLDER = join(ROOT, "out/debian13");
const SYSTEM = join(FOLDER, "root");

const PACKAGES = [
  ...["bash", "coreutils", "libc-bin", "g++", "ocl-icd-libopencl1", "pocl-opencl-icd", "libopencv-imgcodecs410"],
  ...["libopencv-core-dev", "libopencv-imgproc-dev", "libopencv-imgcodecs-dev"],
  ...["libavutil59", "libavcodec61", "libavformat61", "ffmpeg"],
];

/** Where packages say that a program of theirs chooses among several. */
const CHOICES = { "libblas.so.3": "blas/libblas.so.3", "liblapack.so.3": "lapack/liblapack.so.3" };

const LIBRARIES = join(SYSTEM, "usr/lib/x86_64-linux-gnu");

await run(
  "mkdir",
  "-p",
  ...["state/lists/partial", "cache/archives/partial", "root"].map((name) => join(FOLDER, name)),
);
await Deno.writeTextFile(join(FOLDER, "status"), "");
await Deno.writeTextFile(join(FOLDER, "debian13.sources"), await sources());
const apt = (...words: string[]) => run("apt-get", "-q", ...options(), ...words);
await apt("update");
await apt("install", "--download-only", "--yes", "--no-install-recommends", ...PACKAGES);
for await (const { name } of Deno.readDir(join(FOLDER, "cache/archives"))) {
  if (name.endsWith(".deb")) await run("dpkg-deb", "--extract", join(FOLDER, "cache/archives", name), SYSTEM);
}
for (const name of ["bin", "lib", "lib64", "sbin"]) await link(`usr/${name}`, join(SYSTEM, name));
for (const [name, chosen] of Object.entries(CHOICES)) await link(chosen, join(LIBRARIES, name));
await link("gcc", join(SYSTEM, "usr/bin/cc")); // the package's script would choose it
await Deno.copyFile(Deno.execPath(), join(SYSTEM, "usr/bin/deno"));

const home = Deno.env.get("DENO_DIR") ?? join(Deno.env.get("HOME")!, ".cache/deno");
const mounts = ["/proc", "/dev", "/sys", ROOT, home];
const files = Deno.args.length > 0
  ? Deno.args
  : ["tests/opencv", "tests/guard/opencv_test.ts", "tests/abi/opencv_test.ts", "tests/ffmpeg"];
const tests = `ldconfig; exec deno test -A --no-check --v8-flags=--expose-gc ${files.join(" ")}`;
const script = [
  ...mounts.map((path) => `mkdir -p ${SYSTEM}${path} ${SYSTEM}/tmp && mount --bind ${path} ${SYSTEM}${path}`),
  `exec chroot ${SYSTEM} /bin/bash -c 'cd ${ROOT}; export DENO_DIR=${home} HOME=${dirname(home)}; ${tests}'`,
];
await run("unshare", "--mount", "bash", "-ec", script.join("\n"));

/** apt's, so that it knows this folder alone. */
function options(): string[] {
  const given = {
    "Dir::State": join(FOLDER, "state"),
    "Dir::State::status": join(FOLDER, "status"),
    "Dir::Cache": join(FOLDER, "cache"),
    "Dir::Etc::sourcelist": join(FOLDER, "debian13.sources"),
    "Dir::Etc::sourceparts": "-",
    "APT::Sandbox::User": "root",
  };
  return Object.entries(given).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
}

/** Debian 13 where the system has its own Debian from. */
async function sources(): Promise<string> {
  for await (const { name } of Deno.readDir("/etc/apt/sources.list.d")) {
    const text = await Deno.readTextFile(`/etc/apt/sources.list.d/${name}`);
    const from = /^URIs: (\S+)$/m.exec(text)?.[1];
    const key = /^Signed-By: (\S*debian-archive\S*)$/m.exec(text)?.[1];
    if (from === undefined || key === undefined) continue;
    return `Types: deb\nURIs: ${from}\nSuites: trixie\nComponents: main\nSigned-By: ${key}\n`;
  }
  throw new Error("/etc/apt/sources.list.d does not say where Debian's packages are");
}

async function link(to: string, path: string): Promise<void> {
  await Deno.remove(path).catch(() => {});
  await Deno.symlink(to, path);
}

async function run(command: string, ...args: string[]): Promise<void> {
  const { code } = await new Deno.Command(command, { args }).spawn().status;
  if (code !== 0) Deno.exit(code);
}
