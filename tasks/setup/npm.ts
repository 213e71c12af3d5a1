import { run } from "./backports.ts";
import { announce } from "./capture.ts";

/** A package of npm's with what it needs, in a folder of its own: it is of no package here, so that only its users load it. */
export interface Npm {
  /** The folder of this checkout, which git does not see: it ends with a slash. */
  readonly folder: URL;
  /** The packages, with their versions; the first is what the folder is for. */
  readonly names: readonly [string, ...string[]];
  /** What it is for, and how large. */
  readonly why: string;
}

/** FFmpeg 8 for Node. */
export const NODE_AV: Npm = {
  folder: folderOf(".ffmpeg/node-av/"),
  names: ["node-av@6.1.1", "@seydx/node-av-linux-x64@6.1.1"],
  why: "FFmpeg 8 for Node and Deno, whose frames the guide's recipe shares: 170 MB",
};

/** ONNX Runtime for Node: its packed program and library, for each system. */
export const ONNX_RUNTIME_NODE: Npm = {
  folder: folderOf(".inference/node/"),
  names: ["onnxruntime-node@1.30.0"],
  why: "ONNX Runtime for Node and Deno, which the bench measures beside: 290 MB",
};

function folderOf(path: string): URL {
  return new URL(`../../${path}`, import.meta.url);
}

/** Where a file of a package is: `"node-av/dist/api/demuxer.js"`. */
export function npmUrl({ folder }: Npm, path: string): URL {
  return new URL(`node_modules/${path}`, folder);
}

function versionOf([name]: Npm["names"]): string {
  return name.slice(name.lastIndexOf("@") + 1);
}

/** Whether it is unpacked. */
export async function hasNpm({ folder, names }: Npm): Promise<boolean> {
  return await Deno.readTextFile(new URL("version.txt", folder)).catch(() => "") === versionOf(names);
}

/** Installs it, and returns why it could not. Its scripts do not run. */
export async function installNpm(title: string, npm: Npm): Promise<string | undefined> {
  const { folder, names, why } = npm;
  if (await hasNpm(npm)) return undefined;
  if (Deno.build.arch !== "x86_64") return `${names[0]} has a program for x86-64, not for ${Deno.build.arch}`;
  const { pathname } = folder;
  announce(`${title}, through npm, into ${pathname}`, [{ name: names[0], why }]);
  try {
    await Deno.mkdir(folder, { recursive: true });
    const options = [
      "--no-audit",
      "--no-fund",
      "--fetch-retries=6",
      "--ignore-scripts",
      "--omit=optional",
      "--no-save",
    ];
    await run(["npm", "install", "--prefix", pathname, ...options, ...names]);
    await Deno.writeTextFile(new URL("version.txt", folder), versionOf(names));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
