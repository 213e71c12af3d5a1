import { run } from "./backports.ts";
import { announce, capture } from "./capture.ts";

/** C headers of Debian's that are unpacked: installed, they would lie among those of this machine's processor. */
interface Headers {
  readonly name: string;
  readonly why: string;
  /** A folder of this checkout that git does not see. */
  readonly folder: string;
  /** A header, and what it says of the version that `ffi/` is generated from. */
  readonly version: readonly [header: string, says: RegExp];
}

const FFMPEG: Headers = {
  name: "libavutil-dev",
  why: "the C headers that ffi/avutil57 is generated from",
  folder: new URL("../../.ffmpeg/57", import.meta.url).pathname,
  version: ["libavutil/version.h", /LIBAVUTIL_VERSION_MAJOR +57\b/],
};

/** Unpacks FFmpeg's headers, if they are not there, and returns why it could not. */
export async function unpackHeaders(title: string): Promise<string | undefined> {
  const { name, folder, version: [header, says] } = FFMPEG;
  if (await Deno.stat(`${folder}/include/${header}`).then(() => true, () => false)) return undefined;
  announce(`${title}, through apt, into ${folder} (it is not installed)`, [FFMPEG]);
  const downloads = await Deno.makeTempDir({ prefix: "samepage-headers-" });
  try {
    await capture("apt-get", ["update", "-qq"]); // apt-get download says what is missing
    await run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", name], downloads);
    const [deb] = await Array.fromAsync(Deno.readDir(downloads));
    await run(["dpkg-deb", "-x", deb.name, "unpacked"], downloads);
    const [{ name: processor }] = await Array.fromAsync(Deno.readDir(`${downloads}/unpacked/usr/include`));
    const include = `${downloads}/unpacked/usr/include/${processor}`;
    if (!says.test(await Deno.readTextFile(`${include}/${header}`))) {
      return `${name} of this Debian is another version: ${header} does not say ${says.source}`;
    }
    await Deno.mkdir(folder, { recursive: true });
    await run(["cp", "-r", include, `${folder}/include`]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await Deno.remove(downloads, { recursive: true });
  }
}
