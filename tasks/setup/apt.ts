import { announce, capture } from "./capture.ts";
import type { Package } from "./packages.ts";

/** Options by which apt asks again where a server does not respond. */
export const RETRIES: readonly string[] = ["-o", "Acquire::Retries=3"];

/** Installs those packages that dpkg does not know of, and returns why it could not. */
export async function installPackages(title: string, packages: readonly Package[]): Promise<string | undefined> {
  const wanted = await missing(packages);
  if (!wanted) return `there is no dpkg-query; on Debian this would install ${namesOf(packages)}`;
  if (wanted.length === 0) return undefined;

  announce(`${title}, through apt`, wanted);
  const names = namesOf(wanted);
  if (Deno.uid() !== 0) {
    return `not root; run: sudo apt-get update && sudo apt-get install --no-install-recommends ${names}`;
  }

  console.error("setup: installing (this can take some minutes) …");
  await capture("apt-get", ["update", "-qq", ...RETRIES]); // one dead source among many is not a reason to stop: the install decides
  const options = ["-y", "-qq", "--no-install-recommends", "--no-remove", ...RETRIES];
  const install = await capture("apt-get", ["install", ...options, ...names.split(" ")]);
  if (!install) return "there is no apt-get";
  return install.success ? undefined : `apt-get install failed:\n${install.text.trimEnd()}`;
}

async function missing(packages: readonly Package[]): Promise<Package[] | undefined> {
  const present = await installed();
  return present && packages.filter(({ name, or }) => !present.has(name) && !(or && present.has(or)));
}

/** The names of all installed packages and of what they provide; `undefined` where there is no dpkg. */
async function installed(): Promise<Set<string> | undefined> {
  const list = await capture("dpkg-query", ["-W", "-f", "${db:Status-Abbrev}|${Package}, ${Provides}\n"]);
  if (!list) return undefined;
  const lines = list.text.split("\n").filter((line) => line.startsWith("ii"));
  return new Set(
    lines.flatMap((line) => line.slice(line.indexOf("|") + 1).split(", ").map((name) => name.split(" ")[0])),
  );
}

function namesOf(packages: readonly Package[]): string {
  return packages.map(({ name }) => name).join(" ");
}
