import type { Library } from "./library.ts";

/** What the generated files hold for: facts that differ between these are refused. */
export const TARGETS = ["x86_64-linux-gnu", "aarch64-linux-gnu"] as const;

/** One of {@linkcode TARGETS}. */
export type Target = typeof TARGETS[number];

/** What installs clang and all headers. */
const REMEDY = "Run `deno task setup` first.";

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
  const names = orMissing(`There is no ${shared}: C++'s headers are missing.`, () => [...Deno.readDirSync(shared)]);
  const version = Math.max(...names.map(({ name }) => Number(name)).filter(Number.isInteger));
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
  const command = new Deno.Command("clang", {
    args: [...targetFlags(target, library), "-w", ...flags, "-x", library.cxx ? "c++" : "c", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  });
  const process = orMissing("clang is not installed.", () => command.spawn());
  const output = process.output();
  const writer = process.stdin.getWriter();
  await writer.write(new TextEncoder().encode(includes(library) + source));
  await writer.close();
  const { success, stdout, stderr } = await output;
  if (success) return new TextDecoder().decode(stdout);
  const says = new TextDecoder().decode(stderr);
  const what = says.includes("file not found") ? `A header is missing. ${REMEDY}` : "clang refused the headers.";
  throw new Error(`${what} For ${target} it says:\n${says}`);
}

/** What is missing is an error that says what to do. */
function orMissing<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error(`${what} ${REMEDY}`, { cause: error });
  }
}
