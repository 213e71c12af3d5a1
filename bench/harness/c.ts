import { fromFileUrl, join } from "@std/path";
import { device } from "./device.ts";
import { program, type Way } from "./way.ts";

const BENCH = fromFileUrl(new URL("..", import.meta.url));

/** Where the C programs are built: git ignores it. */
export const BUILT = fromFileUrl(new URL("../../out/bench/", import.meta.url));

/** Their sources, by name. */
export const PROGRAMS = ["allocate", "copy", "enqueue", "map", "wait"] as const;

/** An operation of one of the C programs, on the device that samepage has chosen. */
export function c(source: typeof PROGRAMS[number], operation: string, name = "C"): Way {
  const command = () => {
    const { platform, name: deviceName } = device().cl.device;
    return { path: join(BUILT, source), args: [platform, deviceName, join(BENCH, "kernels.cl")] };
  };
  return program(name, command, operation);
}

/** Builds them all. @throws where the compiler is missing, or refuses. */
export async function build(): Promise<void> {
  await Deno.mkdir(BUILT, { recursive: true });
  for (const name of PROGRAMS) {
    const args = ["-O2", "-Wall", "-o", join(BUILT, name), join(BENCH, "c", `${name}.c`), "-lOpenCL"];
    const { success, stderr } = await new Deno.Command("cc", { args }).output();
    if (!success) throw new Error(`cc could not build bench/c/${name}.c:\n${new TextDecoder().decode(stderr)}`);
  }
}
