import { cudaDevices, cudaVersions } from "@samepage/interop/cuda";
import { noCuda } from "../harness/cuda.ts";
import { device, hasDevice } from "../harness/device.ts";
import type { Topic } from "../harness/figure.ts";

/** Where and with what it was measured. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly system: string;
  readonly deno: string;
  /** The OpenCL device, its platform and driver; null where there is none. */
  readonly opencl: string | null;
  /** The first GPU, its driver and CUDA's versions, where its bench was run. */
  readonly cuda?: string;
  /** The compiler of the C programs. */
  readonly cc: string | null;
  /** The commit that was measured, with `+` where files were changed since. */
  readonly commit: string;
  /** The day and time, in UTC. */
  readonly date: string;
  /** Processes that were running or ready, over the minute before: noise. */
  readonly load: number;
}

/** Asks this machine: about its OpenCL device, or for the bench of another topic about its GPU. */
export async function describeMachine(topic: Topic): Promise<Machine> {
  return {
    cpu: cpu(),
    cores: navigator.hardwareConcurrency,
    system: `${Deno.build.os} ${Deno.osRelease()} ${Deno.build.arch}`,
    deno: `${Deno.version.deno} (V8 ${Deno.version.v8})`,
    opencl: topic === "opencl" && hasDevice() ? describeDevice() : null,
    ...(topic === "opencl" ? {} : { cuda: await describeGpu() }),
    cc: await firstLine("cc", "--version") ?? null,
    commit: await commit(),
    date: new Date().toISOString().slice(0, 16).replace("T", " "),
    load: Deno.loadavg()[0],
  };
}

/** The commit. Where the files came without git, SAMEPAGE_COMMIT names it. */
export async function commit(): Promise<string> {
  const told = Deno.env.get("SAMEPAGE_COMMIT");
  if (told !== undefined) return told;
  const changed = await firstLine("git", "status", "--porcelain", "--untracked-files=no");
  return `${await firstLine("git", "rev-parse", "--short", "HEAD") ?? "unknown"}${changed ? "+" : ""}`;
}

/** The first GPU: `NVIDIA H200, driver 580.159.04, CUDA 13.0 (the driver: 13.0)`; or why there is none. */
export async function describeGpu(): Promise<string> {
  const reason = noCuda();
  if (reason !== undefined) return `not here: ${reason}`;
  const [{ name }] = cudaDevices();
  const { runtime, driver } = cudaVersions();
  const installed = await firstLine("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader");
  const versions = `CUDA ${version(runtime)} (the driver supports ${version(driver)})`;
  return `${name}, ${installed === undefined ? "" : `driver ${installed}, `}${versions}`;
}

/** A name for a file: the CPU, its cores, and the OpenCL platform; for another topic, that and the GPU: `cuda-h200`. */
export function nameOf({ cpu, cores, opencl, cuda }: Machine, topic: Topic): string {
  if (cuda !== undefined) return `${topic}-${cuda.startsWith("not here") ? "none" : gpuNameOf(cuda)}`;
  return dashed(`${cpu} ${cores} cores ${opencl?.split(",")[0] ?? "no opencl"}`);
}

/** A GPU's name for a file, by {@link describeGpu}'s text: `h100` for `NVIDIA H100 80GB HBM3, driver 580.159.04`. */
export function gpuNameOf(described: string): string {
  return dashed(described.split(",")[0].replace(/^NVIDIA /, "").replace(/ \d+GB\b.*/, ""));
}

function dashed(words: string): string {
  return words.toLowerCase().replace(/\((r|tm)\)/g, "").match(/[a-z0-9]+/g)!.join("-");
}

/** `13.0` for 13000. */
function version(number: number): string {
  return `${Math.floor(number / 1000)}.${Math.floor(number % 1000 / 10)}`;
}

function describeDevice(): string {
  const { platform, name, version, driver } = device().cl.device;
  return `${platform}, ${name}, ${version}, driver ${driver}`;
}

function cpu(): string {
  try {
    const name = /^model name\s*:\s*(.+)$/m.exec(Deno.readTextFileSync("/proc/cpuinfo"));
    return name?.[1] ?? Deno.build.arch;
  } catch {
    return Deno.build.arch;
  }
}

/** The first line of what a command prints; undefined where it is missing, fails or prints nothing. */
async function firstLine(command: string, ...args: string[]): Promise<string | undefined> {
  try {
    const cwd = new URL("../..", import.meta.url);
    const { success, stdout } = await new Deno.Command(command, { args, cwd, stderr: "null" }).output();
    const [line] = new TextDecoder().decode(stdout).split("\n");
    return success && line !== "" ? line : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
