/**
 * What this process holds of the kernel's, whatever any ledger says: open fds, mappings that have a name, files in the
 * folders in which programs leave some.
 *
 * @module
 */
import { assert } from "@std/assert";
import { openFiles } from "../gc.ts";

/** Bytes or objects, by what they are: `"fds of /memfd:frames"`, `"bytes mapped of /dev/shm/frames"`. */
export type Held = Readonly<Record<string, number>>;

/** What Deno opens for itself at some time, and a driver: sockets, device files, libraries, the caches of its compiler. */
const NOT_OURS = /^(socket:|\/dev\/(?!shm(\/|$)))|\.so\b|\/\.cache\//;

/**
 * What is in /dev/shm and not this process's: what NVIDIA's driver has there while any process of the machine uses CUDA, and
 * the files of the memory template in a test that runs beside this one.
 */
const OF_ANY_PROCESS = new RegExp(`^(cuda\\.shm\\.|samepage-shm-(?!${Deno.pid}-))`);

/** A folder for temporary files of this process's own, since others come and go in the machine's; it ends with the process. */
const TEMPORARY = Deno.makeTempDirSync({ prefix: "samepage-conformance-" });
const { TMPDIR } = Deno.env.toObject();
Deno.env.set("TMPDIR", TEMPORARY);
addEventListener("unload", () => {
  if (TMPDIR === undefined) Deno.env.delete("TMPDIR");
  else Deno.env.set("TMPDIR", TMPDIR);
  Deno.removeSync(TEMPORARY, { recursive: true });
});

const FOLDERS = [TEMPORARY, "/dev/shm"];

/** What is held now. */
export function held(): Held {
  const counts: Record<string, number> = {};
  const add = (what: string, count: number) => counts[what] = (counts[what] ?? 0) + count;
  for (const link of openFiles(/./)) if (!NOT_OURS.test(link)) add(`fds of ${link}`, 1);
  for (const line of Deno.readTextFileSync("/proc/self/maps").split("\n")) {
    const [, from, to, path] = /^(\w+)-(\w+) \S+ \S+ \S+ \S+ +(\/.*)$/.exec(line) ?? [];
    if (path !== undefined && !NOT_OURS.test(path)) {
      add(`bytes mapped of ${path}`, parseInt(to, 16) - parseInt(from, 16));
    }
  }
  for (const folder of FOLDERS) {
    for (const { name } of Deno.readDirSync(folder)) if (!OF_ANY_PROCESS.test(name)) add(`files ${folder}/${name}`, 1);
  }
  return counts;
}

/** Threads of a driver's may let go a little later: so many milliseconds are waited for them, one after the other. */
const PATIENCE = [10, 100, 400];

/** The same without a second look: on a busy machine such a thread may stand for seconds. */
const LAST_PATIENCE = [...PATIENCE, 1000, 2000];

/** What is held now and was not before, in words. */
export async function heldSince(before: Held, patience: readonly number[] = PATIENCE): Promise<string[]> {
  let more = moreOf(before, held());
  for (let i = 0; more.length > 0 && i < patience.length; i++) {
    await new Promise((resolve) => setTimeout(resolve, patience[i]));
    more = moreOf(before, held());
  }
  return more;
}

/** Fails with what is held now and was not before. */
export async function assertHeld(before: Held): Promise<void> {
  const left = await heldSince(before, LAST_PATIENCE);
  assert(left.length === 0, `it leaves ${left.join(", ")}`);
}

/** What there is more of, in words. */
export function moreOf(before: Held, after: Held): string[] {
  const grown = Object.keys(after).filter((what) => after[what] > (before[what] ?? 0));
  return grown.map((what) => `${after[what] - (before[what] ?? 0)} more ${what}`);
}

/** How many bytes of addresses are mapped, with a name or without. */
export function mappedBytes(): number {
  return 4096 * Number(Deno.readTextFileSync("/proc/self/statm").split(" ")[0]);
}
