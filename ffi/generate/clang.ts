import type { Library } from "./library.ts";

/** What the generated files hold for: facts that differ between these are refused. */
export const TARGETS = ["x86_64-linux-gnu", "aarch64-linux-gnu"] as const;

/** One of {@linkcode TARGETS}. */
export type Target = typeof TARGETS[number];

/** Debian's package with the C library's headers for each target, for hosts of another kind. */
const LIBC_HEADERS: Record<Target, string> = {
  "x86_64-linux-gnu": "libc6-dev-amd64-cross",
  "aarch64-linux-gnu": "libc6-dev-arm64-cross",
};

/** The flags that make clang see a target's own headers (Debian's cross or multiarch folders) before the shared ones. */
export function targetFlags(target: Target): string[] {
  const folders = [`/usr/${target}/include`, `/usr/include/${target}`, "/usr/include"];
  return [`--target=${target}`, "-nostdlibinc", ...folders.flatMap((folder) => ["-isystem", folder])];
}

/** The C lines that bring in a library's headers. */
export function includes(library: Library): string {
  return [
    ...Object.entries(library.defines).map(([name, value]) => `#define ${name} ${value}`),
    ...["stddef.h", "stdint.h", ...library.headers].map((header) => `#include <${header}>`),
    "",
  ].join("\n");
}

/** Gives C source to clang and returns what it prints. */
export async function clang(target: Target, flags: readonly string[], source: string): Promise<string> {
  const process = new Deno.Command("clang", {
    args: [...targetFlags(target), "-w", ...flags, "-x", "c", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = process.output();
  const writer = process.stdin.getWriter();
  await writer.write(new TextEncoder().encode(source));
  await writer.close();
  const { success, stdout, stderr } = await output;
  if (!success) {
    throw new Error(
      `clang refused the headers for ${target} (missing C headers are in the package ${LIBC_HEADERS[target]}):\n` +
        new TextDecoder().decode(stderr),
    );
  }
  return new TextDecoder().decode(stdout);
}
