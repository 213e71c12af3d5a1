import { aptIn, run } from "./backports.ts";
import { announce } from "./capture.ts";

const FOLDER = new URL("../../.levelzero", import.meta.url).pathname; // git does not see it

/** A driver of the loader's own source, which returns SUCCESS and does nothing. No package has it. */
export const NULL_DRIVER = `${FOLDER}/libze_null.so`;

const NAME = "level-zero";

/** Builds the null driver of Debian's source, if it is not there, and returns why it could not. */
export async function buildNullDriver(title: string): Promise<string | undefined> {
  if (await Deno.stat(NULL_DRIVER).then(() => true, () => false)) return undefined;
  announce(`${title}, of its source through apt, into ${FOLDER} (it is not installed)`, [
    { name: NAME, why: "Level Zero's null driver" },
  ]);
  const folder = await Deno.makeTempDir({ prefix: "samepage-level-zero-" });
  try {
    const release = await Deno.readTextFile("/etc/os-release").catch(() => "");
    const suite = /^VERSION_CODENAME=(\S+)$/m.exec(release)?.[1];
    if (suite === undefined) return "Level Zero's null driver: the machine is not Debian";
    const options = await aptIn(`${folder}/apt`, suite, "deb-src");
    await run(["apt-get", ...options, "source", "--download-only", NAME], folder);
    const files = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
    const archive = files.find((name) => name.includes(".orig.tar."));
    if (archive === undefined) return `apt has no source of ${NAME}`;
    await Deno.mkdir(`${folder}/source`);
    await run(["tar", "-xf", archive, "-C", "source", "--strip-components=1"], folder);
    const source = `${folder}/source`;
    const names = ["ze_null", "ze_nullddi", "zet_nullddi", "zes_nullddi"];
    const sources = names.map((name) => `${source}/source/drivers/null/${name}.cpp`);
    await Deno.mkdir(FOLDER, { recursive: true });
    const includes = [
      `-I${source}`,
      `-I${source}/include`,
      `-I${source}/source/drivers/null`,
      `-I${source}/source/inc`,
    ];
    const compile = ["g++", "-std=c++14", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", ...includes, ...sources];
    await run([...compile, "-o", `${folder}/libze_null.so`]);
    await run(["mv", `${folder}/libze_null.so`, NULL_DRIVER]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
