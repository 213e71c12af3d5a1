import { join, resolve } from "@std/path";

const ROOT = resolve(import.meta.dirname!, "../..");

/** Characters of one process's output that are kept: the first and the last. */
const KEPT = 200_000;

/** A process that does not heed SIGTERM is killed after so many milliseconds. */
const GRACE = 5_000;

/** How a process ended. */
export interface Ended {
  readonly code: number;
  /** True where its time was up. */
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** `"code 1"`, `"SIGSEGV"`, `"no end within 60 s"`. */
  readonly how: string;
}

/** Variables of a process's environment. */
export type Variables = Readonly<Record<string, string>>;

/** What a step has to work with: processes with a limit, and the files that come back. */
export class Job {
  /** The folder of the results. */
  readonly out: string;
  /** The commit, as it is written into the results. */
  readonly commit: string;
  /** When it has to be over, by performance.now(). */
  readonly #end: number;
  readonly #variables: Variables;

  constructor(out: string, commit: string, seconds: number, variables: Variables = {}) {
    this.out = out;
    this.commit = commit;
    this.#variables = variables;
    this.#end = performance.now() + 1000 * seconds;
  }

  /** Seconds that are left to it. */
  get left(): number {
    return Math.max(0, (this.#end - performance.now()) / 1000);
  }

  /** The same with more variables in the environment of each process. */
  withVariables(variables: Variables): Job {
    return new Job(this.out, this.commit, this.left, { ...this.#variables, ...variables });
  }

  /** Runs deno. @see {@link run} */
  deno(args: readonly string[], log: string): Promise<Ended> {
    return this.run(Deno.execPath(), args, log);
  }

  /** Runs a program to its end, or to the step's; what it prints goes to a file of the results. */
  async run(path: string, args: readonly string[], log: string, variables: Variables = {}): Promise<Ended> {
    const seconds = Math.round(this.left);
    const env = { NO_COLOR: "1", SAMEPAGE_COMMIT: this.commit, ...this.#variables, ...variables };
    const child = new Deno.Command(path, {
      args: [...args],
      cwd: ROOT,
      env,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      detached: true, // a group of its own: what a tool has started ends with it
    }).spawn();
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      end(child, "SIGTERM");
      setTimeout(() => end(child, "SIGKILL"), GRACE);
    }, 1000 * this.left);
    const { code, signal, stdout, stderr } = await child.output();
    clearTimeout(timer);
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    const how = timedOut ? `no end within ${seconds} s` : signal ?? `code ${code}`;
    await this.write(log, `\n$ ${[path, ...args].join(" ")}\n${shortened(out)}${shortened(err)}[${how}]\n`);
    return { code, timedOut, stdout: out, stderr: err, how };
  }

  /** Adds to a file of the results. */
  async write(name: string, text: string): Promise<void> {
    await Deno.writeTextFile(join(this.out, name), text, { append: true });
  }
}

/** Ends a process, and all that it has started. */
function end(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    Deno.kill(-child.pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error; // all of it has ended by itself
  }
}

function shortened(text: string): string {
  if (text.length <= KEPT) return text;
  return `${text.slice(0, KEPT / 2)}\n… ${text.length - KEPT} characters are left out …\n${text.slice(-KEPT / 2)}`;
}

/** Does the work for all items, `lanes` of them at a time; the results are in the items' order. */
export async function inLanes<T, R>(items: readonly T[], lanes: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const i = next++;
      results[i] = await work(items[i]);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
