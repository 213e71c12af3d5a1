import { RETRIES } from "./apt.ts";
import { run } from "./backports.ts";
import { announce, capture } from "./capture.ts";

/** C headers of Debian's packages, unpacked into a folder of this checkout that git does not see. */
interface DevPackages {
  readonly folder: string;
  readonly names: readonly string[];
  readonly why: string;
  /** Where the headers lie in the packages, and those that their builds configured. */
  readonly from: readonly string[];
}

/** Not installed, for that takes another libc or systemd along where those of this machine are not the newest. */
const GSTREAMER: DevPackages = {
  folder: new URL("../../.gstreamer", import.meta.url).pathname,
  names: [
    "libglib2.0-dev",
    "libgstreamer1.0-dev",
    "libgstreamer-plugins-base1.0-dev",
    "libgstreamer-plugins-bad1.0-dev",
  ],
  why: "the C headers that ffi/glib, ffi/gobject and ffi/gst* are generated from",
  from: [
    ...["include/glib-2.0", "include/gstreamer-1.0"],
    ...["lib/*/glib-2.0/include", "lib/*/gstreamer-1.0/include"],
  ],
};

/** What its build configured, for all processors: the stable ABI is the same. */
const PYTHON: DevPackages = {
  folder: new URL("../../.python", import.meta.url).pathname,
  names: ["libpython3.11-dev"],
  why: "the C headers that ffi/python is generated from",
  from: ["include/python3.11", "include/*-linux-gnu/python3.11"],
};

/** Not installed: only the generator and its tests read them. */
const UCX: DevPackages = {
  folder: new URL("../../.ucx", import.meta.url).pathname,
  names: ["libucx-dev"],
  why: "the C headers that ffi/ucx is generated from",
  from: ["include"],
};

/** Unpacks the headers that are not there, one after the other, and returns why it could not. */
export async function unpackDevPackages(title: string): Promise<string | undefined> {
  const all = [await unpack(title, GSTREAMER), await unpack(title, PYTHON), await unpack(title, UCX)];
  const reasons = all.filter((it) => it !== undefined);
  return reasons.length === 0 ? undefined : reasons.join("\n");
}

async function unpack(title: string, { folder: parent, names, why, from }: DevPackages): Promise<string | undefined> {
  const folder = `${parent}/include`;
  if (await Deno.stat(folder).then(() => true, () => false)) return undefined;
  announce(`${title}, through apt, into ${folder} (it is not installed)`, names.map((name) => ({ name, why })));
  const downloads = await Deno.makeTempDir({ prefix: "samepage-headers-" });
  try {
    await capture("apt-get", ["update", "-qq", ...RETRIES]); // apt-get download says what is missing
    await run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", ...RETRIES, "download", ...names], downloads);
    for await (const { name } of Deno.readDir(downloads)) {
      if (name.endsWith(".deb")) await run(["dpkg-deb", "-x", name, "unpacked"], downloads);
    }
    await run(["mkdir", "include"], downloads);
    for (const path of from) await run(["sh", "-c", `cp -r unpacked/usr/${path}/. include`], downloads);
    await Deno.mkdir(parent, { recursive: true });
    await run(["cp", "-rT", `${downloads}/include`, folder]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await Deno.remove(downloads, { recursive: true });
  }
}
