import { RETRIES } from "./apt.ts";
import { aptIn, run } from "./backports.ts";
import { announce, capture } from "./capture.ts";

/** A release of FFmpeg, by the major version of libavutil, whose C headers `ffi/` is generated from. */
interface Release {
  readonly major: number;
  /** That of libavcodec and libavformat. */
  readonly coding: number;
  /** The suite of Debian that has it; this machine's if left out. */
  readonly suite?: string;
  /** The version of Debian's source, where no package has the headers. */
  readonly source?: string;
  /** True where a suite may drop it any day: tests that lack it say so. */
  readonly mayLack?: true;
}

const RELEASES: readonly Release[] = [
  { major: 57, coding: 59 },
  { major: 59, coding: 61, suite: "trixie" },
  { major: 60, coding: 62, suite: "sid", source: "7:8.1.2-2", mayLack: true },
  { major: 61, coding: 63, suite: "sid", mayLack: true },
];

const NAMES = ["libavutil", "libavcodec", "libavformat"];

/** Unpacks FFmpeg's headers, those that are not there, and returns why it could not. */
export async function unpackHeaders(title: string): Promise<string | undefined> {
  const reasons: string[] = [];
  for (const release of RELEASES) {
    const reason = await unpackRelease(title, release);
    if (reason !== undefined && release.mayLack) console.error(`setup: without libavutil ${release.major}: ${reason}`);
    else if (reason !== undefined) reasons.push(reason);
  }
  return reasons.length === 0 ? undefined : reasons.join("\n");
}

async function unpackRelease(title: string, release: Release): Promise<string | undefined> {
  const { major, coding, source } = release;
  const folder = new URL(`../../.ffmpeg/${major}`, import.meta.url).pathname; // git does not see it
  const last = `${folder}/include/libavformat/avformat.h`;
  if (await Deno.stat(last).then(() => true, () => false)) return undefined;
  const why =
    `the C headers that ffi/avutil${major}, ffi/avcodec${coding} and ffi/avformat${coding} are generated from`;
  const names = source === undefined ? NAMES.map((name) => `${name}-dev`) : [`FFmpeg's sources, ${source}`];
  announce(`${title}, through apt, into ${folder} (it is not installed)`, names.map((name) => ({ name, why })));
  const downloads = await Deno.makeTempDir({ prefix: "samepage-headers-" });
  try {
    const include = source === undefined
      ? await packagesOf(names, release.suite, downloads)
      : await sourcesOf(source, release.suite!, downloads);
    const versions = [["libavutil/version.h", major], ["libavcodec/version_major.h", coding]] as const;
    for (const [header, version] of versions) {
      const says = new RegExp(`_VERSION_MAJOR +${version}\\b`);
      if (says.test(await Deno.readTextFile(`${include}/${header}`))) continue;
      return `FFmpeg's headers are of another version: ${header} does not say ${says.source}`;
    }
    await Deno.mkdir(`${folder}/include`, { recursive: true });
    for (const name of NAMES) await run(["cp", "-rT", `${include}/${name}`, `${folder}/include/${name}`]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await Deno.remove(downloads, { recursive: true });
  }
}

/** Downloads packages and unpacks them. Returns the one folder of their headers. */
export async function packagesOf(names: readonly string[], suite: string | undefined, folder: string): Promise<string> {
  if (suite === undefined) await capture("apt-get", ["update", "-qq", ...RETRIES]); // apt-get download says what is missing
  const options = suite === undefined
    ? ["-qq", "-o", "APT::Sandbox::User=root", ...RETRIES]
    : await aptIn(`${folder}/apt`, suite);
  await run(["apt-get", ...options, "download", ...names], folder);
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".deb")) await run(["dpkg-deb", "-x", name, "unpacked"], folder);
  }
  const [{ name }] = await Array.fromAsync(Deno.readDir(`${folder}/unpacked/usr/include`));
  return `${folder}/unpacked/usr/include/${name}`;
}

/** The same of FFmpeg's sources, with the one header that its configuration writes. */
async function sourcesOf(version: string, suite: string, folder: string): Promise<string> {
  const options = await aptIn(`${folder}/apt`, suite, "deb-src");
  await run(["apt-get", ...options, "source", "--download-only", `ffmpeg=${version}`], folder);
  const files = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  const archive = files.find((name) => name.endsWith(".orig.tar.xz"));
  if (archive === undefined) throw new Error(`apt has no sources of FFmpeg ${version}`);
  const headers = NAMES.map((name) => `*/${name}/*.h`);
  await Deno.mkdir(`${folder}/include`);
  await run(["tar", "-xf", archive, "-C", "include", "--strip-components=1", "--wildcards", ...headers], folder);
  await Deno.writeTextFile(
    `${folder}/include/libavutil/avconfig.h`,
    "#define AV_HAVE_BIGENDIAN 0\n#define AV_HAVE_FAST_UNALIGNED 1\n",
  );
  return `${folder}/include`;
}
