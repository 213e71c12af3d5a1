import { run } from "./backports.ts";
import { announce, capture } from "./capture.ts";

const NAMES = [
  "libglib2.0-dev",
  "libgstreamer1.0-dev",
  "libgstreamer-plugins-base1.0-dev",
  "libgstreamer-plugins-bad1.0-dev",
];

/** A folder of this checkout that git does not see. */
const FOLDER = new URL("../../.gstreamer", import.meta.url).pathname;

/** Where headers of these packages lie, and those that their builds configured. */
const FOLDERS = [
  ...["include/glib-2.0", "include/gstreamer-1.0"],
  ...["lib/*/glib-2.0/include", "lib/*/gstreamer-1.0/include"],
];

/**
 * Unpacks the C headers of GLib and GStreamer, if they are not there, and returns why it could not. They are not
 * installed, for that takes another libc or systemd along where those of this machine are not the newest.
 */
export async function unpackGStreamerHeaders(title: string): Promise<string | undefined> {
  const folder = `${FOLDER}/include`;
  if (await Deno.stat(folder).then(() => true, () => false)) return undefined;
  const why = "the C headers that ffi/glib, ffi/gobject and ffi/gst* are generated from";
  announce(`${title}, through apt, into ${folder} (it is not installed)`, NAMES.map((name) => ({ name, why })));
  const downloads = await Deno.makeTempDir({ prefix: "samepage-headers-" });
  try {
    await capture("apt-get", ["update", "-qq"]); // apt-get download says what is missing
    await run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", ...NAMES], downloads);
    for await (const { name } of Deno.readDir(downloads)) {
      if (name.endsWith(".deb")) await run(["dpkg-deb", "-x", name, "unpacked"], downloads);
    }
    const sources = FOLDERS.map((path) => `unpacked/usr/${path}/.`).join(" ");
    await run(["sh", "-c", `mkdir include && cp -r ${sources} include`], downloads);
    await Deno.mkdir(FOLDER, { recursive: true });
    await run(["cp", "-rT", `${downloads}/include`, folder]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await Deno.remove(downloads, { recursive: true });
  }
}
