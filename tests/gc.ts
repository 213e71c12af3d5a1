// Programs without an import map use this too.
import v8 from "node:v8";
import vm from "node:vm";

v8.setFlagsFromString("--expose-gc"); // so that no command line has to
/** Collects garbage, and lets no finalizer run. */
export const gc: () => void = vm.runInNewContext("gc");

/** What one object kept alive goes in the next round: a view, its tensor, that one's parent, its context. */
const ROUNDS = 4;
/** The most that a round collects before it has seen a finalizer run. */
const MAX_TRIES = 1000;
/** How often a {@link Level} looks before it collects garbage, which takes far longer than a wait of another thread. */
const LOOKS = 4;
/** The longest that anything here waits for another thread, in milliseconds: on a busy machine one may stand for seconds. */
const PATIENCE = 30_000;

const witnesses = new FinalizationRegistry<() => void>((finalized) => finalized());

/** Collects garbage, and lets finalizers run: each round is over when that of an object of its own has run. */
export async function collect(rounds = ROUNDS): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    let over = false;
    (() => witnesses.register({}, () => over = true))();
    for (let tries = 0; !over; tries++) {
      if (tries === MAX_TRIES) throw new Error("no finalizer runs");
      gc();
      await turn();
    }
    await turn();
  }
}

/** A number that comes back to where it was: of open fds, of objects. */
export class Level {
  readonly #measure: () => number;
  #lowest: number;

  /** From now on. Where something that went before is still ending, it is what is left then. */
  constructor(measure: () => number) {
    this.#measure = measure;
    this.#lowest = measure();
  }

  /** Waits for what ends by itself: forgotten objects, and waits of other threads. Fails if more stays than there ever was. */
  async assertBack(what: string): Promise<void> {
    const end = performance.now() + PATIENCE;
    let now = this.#measure();
    for (let tries = 1; now > this.#lowest && performance.now() < end; tries++) {
      await (tries % LOOKS === 0 ? collect(1) : turn());
      now = this.#measure();
    }
    if (now > this.#lowest) throw new Error(`${now} ${what}, and ${this.#lowest} before`);
    this.#lowest = now;
  }
}

/**
 * What any thread of a process may read for a moment: glibc and drivers count processors and memory when a thread starts.
 * No test leaves such a file open.
 */
const IN_PASSING =
  /^\/(sys\/|dev\/urandom$|proc\/(\d+\/)?(cgroup|cpuinfo|filesystems|maps|meminfo|mountinfo|stat|status|sys\/.*)$)/;

/** How many fds this process has, without those that a thread has in passing. */
export function openFds(): number {
  return openFiles(/./).length;
}

/** Fails unless so many fds are open, once other threads have closed theirs. */
export function assertOpenFds(expected: number): void {
  const end = performance.now() + PATIENCE;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  while (openFds() !== expected && performance.now() < end) Atomics.wait(pause, 0, 0, 1);
  if (openFds() !== expected) {
    throw new Error(`${openFds()} open fds, and not ${expected}: ${openFiles(/./).join(", ")}`);
  }
}

/** What the fds of this process show whose names fit, in order: `"/dmabuf:"`, `"anon_inode:sync_file"`. */
export function openFiles(wanted: RegExp): string[] {
  const links = Array.from(Deno.readDirSync("/proc/self/fd"), ({ name }) => {
    try {
      return Deno.readLinkSync(`/proc/self/fd/${name}`);
    } catch {
      return ""; // the fd of the list itself
    }
  });
  return links.filter((link) => wanted.test(link) && !IN_PASSING.test(link)).sort();
}

/** How often {@link assertFdsEnd} counts before what grows is a leak. */
const ROUNDS_OF_FDS = 3;

/**
 * Fails if fds stay open after turns of something, each time anew, and names them. A driver may open an fd when it first
 * needs it, and keep it: NVIDIA's was seen with one more beside other processes, where waits block that alone are over at
 * once. That is not a leak. A leak is there again after the next turns.
 *
 * @param turns how many come before a count
 */
export function assertFdsEnd(turn: () => unknown, turns = 10): void {
  let left: string[] = [];
  for (let round = 0; round < ROUNDS_OF_FDS; round++) {
    const before = openFiles(/./);
    for (let i = 0; i < turns; i++) turn();
    const after = openFiles(/./);
    if (after.length <= before.length) return;
    for (const link of before) after.splice(after.indexOf(link) >>> 0, 1);
    left = after;
  }
  throw new Error(`${turns} turns left more fds open each time; at last: ${left.join(", ")}`);
}

/** How often {@link assertFlat} measures: collector and allocator keep more at one time than at another, a leak is always there. */
const ROUNDS_OF_MEMORY = 3;

/** Fails if the process has grown by so many bytes after something, each time anew. What is made once is made before. */
export async function assertFlat(maxBytes: number, action: () => unknown): Promise<void> {
  const grown: number[] = [];
  for (let round = 0; round < ROUNDS_OF_MEMORY; round++) {
    await collect();
    const before = Deno.memoryUsage().rss;
    await action();
    await collect();
    grown.push(Deno.memoryUsage().rss - before);
    if (grown[round] < maxBytes) return;
  }
  throw new Error(`each time the process has grown by ${grown.join(", ")} bytes, and may by ${maxBytes}`);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
