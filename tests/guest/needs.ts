import { assert } from "@std/assert";

/** A test of what a guest has and this machine may lack: it runs where the nodes are, and says what it needs elsewhere. */
export function guestTest(
  name: string,
  fn: (test: Deno.TestContext) => void | Promise<void>,
  nodes: readonly string[] = ["/dev/udmabuf"],
): void {
  const missing = nodes.find((path) => !exists(path));
  const suffix = missing === undefined ? "" : ` (skipped: needs ${missing}: deno task test:guest)`;
  Deno.test({ name: `${name}${suffix}`, ignore: missing !== undefined, fn });
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/**
 * Covers the folder of the DRM nodes. With vgem's node there, which the guest has for other tests, Mesa 25.0.7 draws to
 * udmabufs by another driver, and wrong.
 */
export function withoutDrm(): Disposable {
  run("mount", "-t", "tmpfs", "none", "/dev/dri");
  return { [Symbol.dispose]: () => run("umount", "/dev/dri") };
}

function run(command: string, ...args: string[]): void {
  const { success, stderr } = new Deno.Command(command, { args }).outputSync();
  assert(success, new TextDecoder().decode(stderr));
}
