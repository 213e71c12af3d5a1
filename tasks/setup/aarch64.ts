import { join } from "@std/path";
import { mirror, run } from "./backports.ts";
import { announce } from "./capture.ts";
import { unpackRoot } from "./debian_root.ts";

/** What runs on aarch64, in a folder of this checkout that git does not see. */
const FOLDER = new URL("../../out/aarch64", import.meta.url).pathname;

/** The root of that system: Debian's packages, and Deno. */
export const AARCH64_ROOT: string = join(FOLDER, "root");

/** What Deno keeps there: npm's packages for that processor. */
export const AARCH64_DENO_DIR: string = join(FOLDER, "deno");

/** Carries out its programs. It has no libraries, so it runs in any root. */
export const QEMU: string = join(FOLDER, "qemu/usr/bin/qemu-aarch64-static");

const PACKAGES = [
  ...["bash", "coreutils", "libc-bin", "gcc", "libc6-dev", "ocl-icd-libopencl1", "pocl-opencl-icd"],
  ...["libopencv-imgproc406", "libopencv-imgcodecs406", "libavutil57", "libavcodec59", "libavformat59"],
];
const LIBRARIES = "usr/lib/aarch64-linux-gnu";
/** What the packages' scripts would choose. */
const LINKS = {
  "usr/bin/cc": "gcc",
  [`${LIBRARIES}/libblas.so.3`]: "blas/libblas.so.3",
  [`${LIBRARIES}/liblapack.so.3`]: "lapack/liblapack.so.3",
};

/** Downloads and unpacks all of it, once, and returns why it could not. Nothing is installed. */
export async function unpackAarch64(title: string): Promise<string | undefined> {
  const done = join(FOLDER, "version.txt");
  const version = `${Deno.version.deno} ${PACKAGES.join(" ")}`;
  if (await Deno.readTextFile(done).catch(() => "") === version) return undefined;
  if (Deno.build.arch !== "x86_64") return `it is for x86-64, not for ${Deno.build.arch}`;
  announce(`${title}, into ${FOLDER} (1.5 GB; nothing is installed)`, [
    { name: "qemu-user-static", why: "carries out programs for aarch64" },
    { name: "deno", why: "for aarch64, from npm" },
    { name: "Debian's packages", why: PACKAGES.join(", ") },
  ]);
  try {
    await Deno.mkdir(FOLDER, { recursive: true });
    const { codename: suite } = await mirror();
    await unpackRoot({ folder: FOLDER, suite, architecture: "arm64", packages: PACKAGES, links: LINKS });
    await run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", "qemu-user-static"], FOLDER);
    await run(["sh", "-c", "dpkg-deb -x qemu-user-static_*.deb qemu && rm qemu-user-static_*.deb"], FOLDER);
    await run(["npm", "pack", "--silent", `@deno/linux-arm64-glibc@${Deno.version.deno}`], FOLDER);
    const unpack = `tar -xzf deno-linux-arm64-*.tgz -C ${AARCH64_ROOT}/usr/bin --strip-components=1 package/deno`;
    await run(["sh", "-c", `${unpack} && chmod +x ${AARCH64_ROOT}/usr/bin/deno && rm deno-linux-arm64-*.tgz`], FOLDER);
    const install = ["install", "--quiet", "--os=linux", "--arch=arm64"];
    await run(["env", `DENO_DIR=${AARCH64_DENO_DIR}`, Deno.execPath(), ...install]);
    await Deno.writeTextFile(done, version);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
