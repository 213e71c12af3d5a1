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

/**
 * The flags that make clang see a target's own headers (Debian's cross or multiarch folders) before the shared ones. Of
 * C++, private members may be named too: they have offsets like others.
 */
export function targetFlags(target: Target, { cxx, folders: own = [] }: Library): string[] {
  const folders = [
    ...own,
    ...cxx === undefined ? [] : libstdcxxFolders(),
    ...[`/usr/${target}/include`, `/usr/include/${target}`, "/usr/include"],
  ];
  return [
    ...[`--target=${target}`, "-nostdlibinc", ...folders.flatMap((folder) => ["-isystem", folder])],
    ...cxx === undefined ? [] : ["-fno-access-control"],
  ];
}

/**
 * The headers of this machine's newest libstdc++. They serve every target: the folder of the processor holds switches
 * (of `__float128` and `RDRAND`, for instance) on which none of the listed classes depends.
 */
function libstdcxxFolders(): string[] {
  const shared = "/usr/include/c++";
  const version = Math.max(...[...Deno.readDirSync(shared)].map(({ name }) => Number(name)).filter(Number.isInteger));
  return [`${shared}/${version}`, ...TARGETS.map((target) => `/usr/include/${target}/c++/${version}`)];
}

/** The lines that bring in a library's headers, and those by which this generator asks. */
export function includes(library: Library): string {
  return [
    ...Object.entries(library.defines).map(([name, value]) => `#define ${name} ${value}`),
    ...["stddef.h", "stdint.h", ...library.cxx ? ["type_traits"] : [], ...library.headers].map((header) =>
      `#include <${header}>`
    ),
    "",
  ].join("\n");
}

/** Gives source in the library's language, after its headers, to clang and returns what it prints. */
export async function clang(
  { target, library }: { target: Target; library: Library },
  flags: readonly string[],
  source = "",
): Promise<string> {
  const process = new Deno.Command("clang", {
    args: [...targetFlags(target, library), "-w", ...flags, "-x", library.cxx ? "c++" : "c", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = process.output();
  const writer = process.stdin.getWriter();
  await writer.write(new TextEncoder().encode(includes(library) + source));
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
