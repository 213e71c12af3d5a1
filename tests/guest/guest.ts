/**
 * Runs commands in a guest: another kernel, with this machine's files.
 *
 * @module
 */

import process from "node:process";
import { dirname, join } from "@std/path";
import { KERNEL, kernelRelease } from "../../tasks/setup/kernel.ts";
import { hasEgl, hasLavapipe, LAVAPIPE } from "../../tasks/setup/mesa.ts";
import { hasVaDriver, VA_ENV } from "../../tasks/setup/va.ts";
import { packInitrd } from "./initrd.ts";

/** How to run a command. */
export interface GuestOptions {
  /** Kernel modules beside those that show it the files: `["vgem"]`. */
  readonly modules?: readonly string[];
  /** With a GPU, which is this machine's OpenGL: `/dev/dri/renderD128`, where its modules are loaded ({@link GPU_MODULES}). */
  readonly gpu?: boolean;
  /** Its variables. It has no others. */
  readonly env?: Readonly<Record<string, string>>;
  /** The text of the guest's first process; the file `init` when left out. */
  readonly init?: string;
  /** It is booted at most so often, and killed where it is not up after so many seconds; twice, 120 and 240, when left out. */
  readonly bootLimits?: readonly number[];
  /** Seconds after which a command that has not ended is killed, with its guest; 240 when left out. */
  readonly limit?: number;
  /** Takes what the command prints, and what became of a boot that failed; stdout when left out. */
  readonly print?: (text: string) => void;
}

/** A guest that did not come up, or whose command did not end. */
export class GuestError extends Error {
  override readonly name = "GuestError";
}

const FILES = ["9p", "9pnet_virtio", "overlay"];
/** What init prints before it runs the command. */
const UP = "guest: up\n";
/**
 * Removes the databases of Deno's caches from the guest's view of DENO_DIR. This machine may write to them at that time,
 * and SQLite's locks do not reach into a guest: V8 has read a torn entry of its code cache, and aborted.
 */
const DROP_CACHES = 'rm -f "${DENO_DIR:-/nonexistent}"/*_cache_v*\n';
/** QEMU's machine. KVM is left alone: not every machine's works, and a guest has to be the same everywhere. */
export const MACHINE: readonly string[] = [
  "-M",
  "q35",
  "-accel",
  "tcg,thread=multi,tb-size=1024",
  "-smp",
  "1",
  "-cpu",
  "max",
  "-m",
  "3072",
];
const CONSOLE = ["-nodefaults", "-no-reboot", "-serial", "stdio"];
/** What a guest with a GPU needs. Beside vgem, Mesa takes wrong pixels out of a udmabuf. */
export const GPU_MODULES: readonly string[] = ["virtio_gpu"];
const NO_GPU = ["-display", "none"];
/** QEMU renders in a window; without a DRM device of this machine's, it cannot do so without one. */
const GPU = ["-display", "sdl,gl=on", "-device", "virtio-gpu-gl-pci"];

/** Why no guest can be booted; undefined where one can. */
export async function noGuest(): Promise<string | undefined> {
  const tools = ["/usr/bin/qemu-system-x86_64", "/usr/bin/Xvfb", "/bin/busybox", "/usr/bin/cpio", "/usr/bin/xz"];
  const areThere = await Promise.all(tools.map((path) => Deno.stat(path).then(() => true, () => false)));
  const isThere = areThere.every(Boolean) && await kernelRelease() !== undefined && await hasLavapipe() &&
    await hasEgl() && await hasVaDriver();
  return isThere ? undefined : "QEMU, Xvfb, a kernel and drivers: deno task setup guest";
}

/**
 * Runs a command of `sh` and returns its exit code. The guest has this machine's files at their own
 * paths. What it writes is gone with it, but for what it writes into `folder`, an empty folder of this machine.
 *
 * @throws {GuestError} If it does not come up, or does not end in time.
 */
export async function runInGuest(command: string, folder: string, options: GuestOptions = {}): Promise<number> {
  const { modules = [], env = {}, init = await readInit(), bootLimits = [120, 240], limit = 240 } = options;
  const { gpu = false, print = (text: string) => process.stdout.write(text) } = options;
  const release = await kernelRelease();
  const variables = Object.entries(env).map(([name, value]) => `export ${name}=${quote(value)}\n`);
  const start = [...variables, DROP_CACHES, `cd ${quote(Deno.cwd())}\n`].join("");
  await Deno.writeTextFile(join(folder, "command"), `${start}${command}\n`);
  const initrd = await Deno.makeTempFile({ prefix: "samepage-initrd-" });
  try {
    const library = `${KERNEL}/lib/modules/${release}`;
    await packInitrd(initrd, { init, folder, modules: [...FILES, ...modules], library });
    const kernel = ["-kernel", `${KERNEL}/boot/vmlinuz-${release}`, "-initrd", initrd];
    const append = ["-append", "console=ttyS0 quiet panic=-1 mitigations=off"];
    const shares = [share("root", "/", ",readonly=on"), share("shared", folder, "")];
    const args = [...MACHINE, ...CONSOLE, ...gpu ? GPU : NO_GPU, ...kernel, ...append, ...shares.flat()];
    await using screen = gpu ? await openScreen() : undefined;
    for (const [i, bootLimit] of bootLimits.entries()) {
      const { isUp, isLate, said } = await boot({ args, env: screen?.env ?? {} }, bootLimit, limit, print);
      if (isUp) return await codeIn(folder, isLate ? `did not end within ${limit} s: killed` : "ended with its guest");
      const how = isLate ? `hung: killed after ${bootLimit} s` : "ended before it was up";
      print(`guest: boot ${i + 1} of ${bootLimits.length} ${how}; it said:\n${said}\n`);
    }
    throw new GuestError(`the guest did not come up in ${bootLimits.length} boots`);
  } finally {
    await Deno.remove(initrd);
  }
}

/** Variables by which the guest's `deno` is this one, with its cache, and compiles nothing twice; and whose drivers are the guest's. */
export async function denoEnv(): Promise<Record<string, string>> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { denoDir } = JSON.parse(new TextDecoder().decode(stdout));
  const path = `${dirname(Deno.execPath())}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`;
  return {
    PATH: path,
    HOME: "/tmp",
    DENO_DIR: denoDir,
    NO_COLOR: "1",
    DENO_NO_UPDATE_CHECK: "1",
    VK_DRIVER_FILES: LAVAPIPE,
    ...VA_ENV,
  };
}

/** The first process of a guest. */
export async function readInit(): Promise<string> {
  return await Deno.readTextFile(new URL("init", import.meta.url));
}

/** Boots once, and shows what is printed from the moment when the guest is up; what is printed before is returned. */
async function boot(
  how: { readonly args: string[]; readonly env: Record<string, string> },
  bootLimit: number,
  limit: number,
  print: (text: string) => void,
) {
  const end = { isUp: false, isLate: false, said: "" };
  const qemu = new Deno.Command("qemu-system-x86_64", { ...how, stdin: "null", stdout: "piped", stderr: "inherit" })
    .spawn();
  const kill = () => {
    end.isLate = true;
    qemu.kill("SIGKILL");
  };
  let timer = setTimeout(kill, bootLimit * 1000);
  for await (const chunk of qemu.stdout.pipeThrough(new TextDecoderStream())) {
    end.said += chunk.replaceAll("\r", ""); // the console ends its lines with two characters
    if (!end.isUp && end.said.includes(UP)) {
      end.isUp = true;
      end.said = end.said.slice(end.said.indexOf(UP) + UP.length);
      clearTimeout(timer);
      timer = setTimeout(kill, limit * 1000);
    }
    if (!end.isUp) continue;
    print(end.said);
    end.said = "";
  }
  await qemu.status;
  clearTimeout(timer);
  return end;
}

/** A screen in memory, that QEMU may open a window on. */
async function openScreen() {
  const args = ["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp"];
  const screen = new Deno.Command("Xvfb", { args, stdin: "null", stdout: "piped", stderr: "null" }).spawn();
  const reader = screen.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let display = "";
  while (!display.endsWith("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new GuestError("Xvfb ended before it had a screen");
    display += value;
  }
  await reader.cancel();
  return {
    env: { DISPLAY: `:${display.trim()}`, SDL_VIDEODRIVER: "x11", LIBGL_ALWAYS_SOFTWARE: "1" },
    async [Symbol.asyncDispose]() {
      screen.kill("SIGTERM");
      await screen.status;
    },
  };
}

async function codeIn(folder: string, otherwise: string): Promise<number> {
  const code = await Deno.readTextFile(join(folder, "code")).catch(() => undefined);
  if (code === undefined) throw new GuestError(`the guest's command ${otherwise}`);
  return Number(code);
}

/** A folder of this machine, for the guest to mount. QEMU's options have a comma doubled. */
function share(tag: string, path: string, options: string): string[] {
  const escaped = path.replaceAll(",", ",,");
  return ["-virtfs", `local,path=${escaped},mount_tag=${tag},security_model=none,multidevs=remap${options}`];
}

/** A word of `sh`. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
