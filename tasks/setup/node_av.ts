import { run } from "./backports.ts";
import { announce } from "./capture.ts";

const VERSION = "6.1.1";
const NAMES = [`node-av@${VERSION}`, `@seydx/node-av-linux-x64@${VERSION}`];

/** A folder of this checkout that git does not see. */
const FOLDER = new URL("../../.ffmpeg/node-av", import.meta.url).pathname;

/** Where a module of node-av's is: `"api/demuxer.js"`. It is of no package here, so that only its test loads it. */
export function nodeAvUrl(module: string): URL {
  return new URL(`../../.ffmpeg/node-av/node_modules/node-av/dist/${module}`, import.meta.url);
}

/** Whether it is unpacked. */
export async function hasNodeAv(): Promise<boolean> {
  return await Deno.readTextFile(`${FOLDER}/version.txt`).catch(() => "") === VERSION;
}

/** Installs npm's node-av into a folder of its own, and returns why it could not. Its scripts do not run. */
export async function installNodeAv(title: string): Promise<string | undefined> {
  if (await hasNodeAv()) return undefined;
  if (Deno.build.arch !== "x86_64") return `node-av's program is one for x86-64, not for ${Deno.build.arch}`;
  const why = "FFmpeg 8 for Node and Deno, whose frames the guide's recipe shares: 170 MB";
  announce(`${title}, through npm, into ${FOLDER}`, [{ name: NAMES[0], why }]);
  try {
    await Deno.mkdir(FOLDER, { recursive: true });
    const options = [
      "--no-audit",
      "--no-fund",
      "--fetch-retries=6",
      "--ignore-scripts",
      "--omit=optional",
      "--no-save",
    ];
    await run(["npm", "install", "--prefix", FOLDER, ...options, ...NAMES]);
    await Deno.writeTextFile(`${FOLDER}/version.txt`, VERSION);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
