import type { ApiReport } from "./report.ts";

const DPKG = "dpkg-query";

/** A report of something that was loaded from a file. */
interface Loaded {
  readonly file?: string;
  readonly package?: string;
}

/** The same reports, with the package of each file, `"pocl-opencl-icd 3.1-3"`, if dpkg is here and may be run. */
export function withPackages(apis: readonly ApiReport[]): readonly ApiReport[] {
  const loaded = apis.flatMap(({ library, modules, drivers }): Loaded[] => [library, ...modules, ...drivers]);
  const packages = packagesOf(loaded.flatMap(({ file }) => file ?? []));
  const named = <L extends Loaded>(it: L): L => {
    const owner = it.file === undefined ? undefined : packages.get(it.file);
    return owner === undefined ? it : { ...it, package: owner };
  };
  return apis.map((api) => ({
    ...api,
    library: named(api.library),
    modules: api.modules.map(named),
    drivers: api.drivers.map(named),
  }));
}

/** The packages of files. dpkg reads the list of every package for each question, so it is asked once for all of them. */
function packagesOf(files: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (files.length === 0) return found;
  if (Deno.permissions.querySync({ name: "run", command: DPKG }).state !== "granted") return found;
  const owners = pairsOf(": ", ["-S", ...new Set(files.flatMap(placesOf))], ([owner, file]) => [file, owner]);
  if (owners.size === 0) return found;
  const format = "${binary:Package}\t${Package} ${Version}\n";
  const versions = pairsOf("\t", ["-W", "-f", format, ...new Set(owners.values())], (pair) => pair);
  for (const file of files) {
    const owner = placesOf(file).map((place) => owners.get(place)).find((it) => it !== undefined);
    const version = owner === undefined ? undefined : versions.get(owner);
    if (version !== undefined) found.set(file, version);
  }
  return found;
}

/** Where dpkg has a file: the loader's /lib/… is /usr/lib/… there. */
function placesOf(file: string): string[] {
  return [file, `/usr${file}`];
}

type Pair = readonly [string, string];

/** What it prints, a pair a line. It prints what it found and fails where anything is missing. */
function pairsOf(between: string, args: readonly string[], order: (pair: Pair) => Pair): ReadonlyMap<string, string> {
  let text: string;
  try {
    const { stdout } = new Deno.Command(DPKG, { args: [...args], stdin: "null", stderr: "null" }).outputSync();
    text = new TextDecoder().decode(stdout);
  } catch {
    return new Map(); // no Debian, or not permitted after all
  }
  return new Map(
    text.split("\n").flatMap((line) => {
      const at = line.indexOf(between);
      return at < 0 ? [] : [order([line.slice(0, at), line.slice(at + between.length)])];
    }),
  );
}
