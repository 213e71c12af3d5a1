import { run } from "./backports.ts";
import { announce, capture } from "./capture.ts";

/** C headers of Debian's that are unpacked: installed, they would lie among those of this machine's processor. */
interface Headers {
  readonly names: readonly string[];
  readonly why: string;
  /** A folder of this checkout that git does not see. */
  readonly folder: string;
  /** Headers, and what each says of the version that `ffi/` is generated from. */
  readonly versions: readonly (readonly [header: string, says: RegExp])[];
}

const FFMPEG: Headers = {
  names: ["libavutil-dev", "libavcodec-dev", "libavformat-dev"],
  why: "the C headers that ffi/avutil57, ffi/avcodec59 and ffi/avformat59 are generated from",
  folder: new URL("../../.ffmpeg/57", import.meta.url).pathname,
  versions: [
    ["libavutil/version.h", /LIBAVUTIL_VERSION_MAJOR +57\b/],
    ["libavcodec/version_major.h", /LIBAVCODEC_VERSION_MAJOR +59\b/],
    ["libavformat/version_major.h", /LIBAVFORMAT_VERSION_MAJOR +59\b/],
  ],
};

/** Unpacks FFmpeg's headers, if they are not there, and returns why it could not. */
export async function unpackHeaders(title: string): Promise<string | undefined> {
  const { names, why, folder, versions } = FFMPEG;
  const isThere = versions.map(([header]) => Deno.stat(`${folder}/include/${header}`).then(() => true, () => false));
  if ((await Promise.all(isThere)).every((there) => there)) return undefined;
  announce(`${title}, through apt, into ${folder} (it is not installed)`, names.map((name) => ({ name, why })));
  const downloads = await Deno.makeTempDir({ prefix: "samepage-headers-" });
  try {
    await capture("apt-get", ["update", "-qq"]); // apt-get download says what is missing
    await run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", ...names], downloads);
    for (const { name } of await Array.fromAsync(Deno.readDir(downloads))) {
      await run(["dpkg-deb", "-x", name, "unpacked"], downloads);
    }
    const [{ name: processor }] = await Array.fromAsync(Deno.readDir(`${downloads}/unpacked/usr/include`));
    const include = `${downloads}/unpacked/usr/include/${processor}`;
    for (const [header, says] of versions) {
      if (!says.test(await Deno.readTextFile(`${include}/${header}`))) {
        return `FFmpeg's headers of this Debian are another version: ${header} does not say ${says.source}`;
      }
    }
    await Deno.mkdir(folder, { recursive: true });
    await run(["cp", "-rT", include, `${folder}/include`]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await Deno.remove(downloads, { recursive: true });
  }
}
