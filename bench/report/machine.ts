import { device, hasDevice } from "../harness/device.ts";

/** Where and with what it was measured. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly system: string;
  readonly deno: string;
  /** The OpenCL device, its platform and driver; null where there is none. */
  readonly opencl: string | null;
  /** The compiler of the C programs. */
  readonly cc: string | null;
  /** The commit that was measured, with `+` where files were changed since. */
  readonly commit: string;
  /** The day and time, in UTC. */
  readonly date: string;
  /** Processes that were running or ready, over the minute before: noise. */
  readonly load: number;
}

/** Asks this machine. */
export async function describeMachine(): Promise<Machine> {
  const changed = await firstLine("git", "status", "--porcelain", "--untracked-files=no");
  return {
    cpu: cpu(),
    cores: navigator.hardwareConcurrency,
    system: `${Deno.build.os} ${Deno.osRelease()} ${Deno.build.arch}`,
    deno: `${Deno.version.deno} (V8 ${Deno.version.v8})`,
    opencl: hasDevice ? describeDevice() : null,
    cc: await firstLine("cc", "--version") ?? null,
    commit: `${await firstLine("git", "rev-parse", "--short", "HEAD") ?? "unknown"}${changed ? "+" : ""}`,
    date: new Date().toISOString().slice(0, 16).replace("T", " "),
    load: Deno.loadavg()[0],
  };
}

/** A name for a file: the CPU, its cores, and the OpenCL platform. */
export function nameOf({ cpu, cores, opencl }: Machine): string {
  const words = `${cpu} ${cores} cores ${opencl?.split(",")[0] ?? "no opencl"}`;
  return words.toLowerCase().replace(/\((r|tm)\)/g, "").match(/[a-z0-9]+/g)!.join("-");
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
