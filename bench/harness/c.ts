import { fromFileUrl, join } from "@std/path";
import { device } from "./device.ts";
import { Missing } from "./program.ts";
import { program, type Way } from "./way.ts";

const BENCH = fromFileUrl(new URL("..", import.meta.url));

/** Where the programs are built: git ignores it. */
export const BUILT = fromFileUrl(new URL("../../out/bench/", import.meta.url));

/** The `include` folder of DL Streamer's sources, which no package has: its own mappers are measured where it is set. */
const DLSTREAMER_INCLUDE = Deno.env.get("DLSTREAMER_INCLUDE");

/** What builds the programs of a folder. */
interface Toolchain {
  readonly compiler: string;
  readonly folder: string;
  readonly extension: string;
  readonly options: readonly string[];
  readonly libraries: readonly string[];
}

const C: Toolchain = { compiler: "cc", folder: "c", extension: "c", options: [], libraries: ["-lOpenCL"] };

const CPP: Toolchain = {
  compiler: "g++",
  folder: "cpp",
  extension: "cpp",
  options: ["-std=c++17", "-I/usr/include/opencv4"],
  libraries: ["-lOpenCL", "-lopencv_core", "-lopencv_imgproc"],
};

/** The programs, by name. */
const PROGRAMS = {
  allocate: C,
  copy: C,
  enqueue: C,
  map: C,
  wait: C,
  opencv_blur: CPP,
  opencv_call: CPP,
  opencv_wrap: CPP,
} as const satisfies Record<string, Toolchain>;

/** An operation of one of the programs, on the device that samepage has chosen. */
export function c(source: keyof typeof PROGRAMS, operation: string, name = "C"): Way {
  return built(source, operation, name);
}

/** An operation of DL Streamer's own mappers. */
export function dlStreamer(operation: string): Way {
  const way = built("dlstreamer", operation, "DL Streamer");
  if (DLSTREAMER_INCLUDE !== undefined) return way;
  const open = () => Promise.reject(new Missing("DLSTREAMER_INCLUDE does not say where its headers are"));
  return { ...way, open };
}

function built(source: string, operation: string, name: string): Way {
  const command = () => {
    const { platform, name: deviceName } = device().cl.device;
    return { path: join(BUILT, source), args: [platform, deviceName, join(BENCH, "kernels.cl")] };
  };
  return program(name, command, operation);
}

/** Builds them all; answers why some could not be. */
export async function build(): Promise<string[]> {
  await Deno.mkdir(BUILT, { recursive: true });
  const jobs: [string, Toolchain][] = Object.entries(PROGRAMS);
  if (DLSTREAMER_INCLUDE !== undefined) {
    jobs.push(["dlstreamer", { ...CPP, options: [...CPP.options, `-I${DLSTREAMER_INCLUDE}`] }]);
  }
  const problems = await Promise.all(jobs.map(([name, toolchain]) => buildOne(name, toolchain)));
  return problems.filter((problem) => problem !== undefined);
}

/** Builds one; where it cannot, what an earlier build has left is removed, so that it is missing and not old. */
async function buildOne(name: string, toolchain: Toolchain): Promise<string | undefined> {
  const { compiler, folder, extension, options, libraries } = toolchain;
  const [source, to] = [`${folder}/${name}.${extension}`, join(BUILT, name)];
  const args = ["-O2", "-Wall", ...options, "-o", to, join(BENCH, source), ...libraries];
  try {
    const { success, stderr } = await new Deno.Command(compiler, { args }).output();
    if (success) return undefined;
    await Deno.remove(to).catch(() => {}); // there may be none
    return `${compiler} could not build bench/${source}:\n${new TextDecoder().decode(stderr)}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return `there is no ${compiler} for bench/${source}`;
    throw error;
  }
}
