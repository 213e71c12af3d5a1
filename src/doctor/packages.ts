/** The program that knows which package a file belongs to. */
const DPKG = "dpkg-query";

/** `"pocl-opencl-icd 3.1-3"`: the package of a file, where there is dpkg and it may be run. */
export function packageOf(file: string): string | undefined {
  if (Deno.permissions.querySync({ name: "run", command: DPKG }).state !== "granted") return undefined;
  // The loader may have found /lib/…, which is /usr/lib/… to dpkg.
  const owner = ask("-S", file) ?? ask("-S", `/usr${file}`);
  const name = owner?.split(": ")[0];
  return name === undefined ? undefined : ask("-W", "-f", "${Package} ${Version}\n", name)?.split("\n")[0];
}

function ask(...args: string[]): string | undefined {
  try {
    const { success, stdout } = new Deno.Command(DPKG, { args, stdin: "null", stderr: "null" }).outputSync();
    return success ? new TextDecoder().decode(stdout).trim() : undefined;
  } catch {
    return undefined; // no Debian, or not permitted after all
  }
}
