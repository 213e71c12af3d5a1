import { linesOf } from "./lines.ts";

/** How a program is started. */
export interface Command {
  /** The executable. */
  readonly path: string;
  /** Its arguments. */
  readonly args: readonly string[];
}

/** What a way needs is not on this machine. */
export class Missing extends Error {}

/**
 * A program that runs for as long as the bench does, and replies to each line `NAME COUNT` with the nanoseconds that
 * COUNT operations took. Its first line is `ready`, or `missing: ` and what it lacks.
 */
class Program {
  readonly #path: string;
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #output: AsyncGenerator<string, void>;

  /** Starts it. @throws {Missing} where there is no such file. */
  constructor({ path, args }: Command) {
    this.#path = path;
    try {
      this.#child = new Deno.Command(path, { args: [...args], stdin: "piped", stdout: "piped" }).spawn();
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) throw new Missing(`there is no ${path}`);
      throw error;
    }
    this.#input = this.#child.stdin.getWriter();
    this.#output = linesOf(this.#child.stdout);
  }

  /** Its process. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Waits for its first line. @throws {Missing} with what it lacks. */
  async ready(): Promise<void> {
    const line = await this.#line();
    if (line !== "ready") throw new Missing(line.replace(/^missing: /, ""));
  }

  /** Nanoseconds of `count` operations. */
  async run(operation: string, count: number): Promise<number> {
    await this.#input.write(new TextEncoder().encode(`${operation} ${count}\n`));
    const line = await this.#line();
    const spent = Number(line);
    if (!(spent > 0)) throw new Error(`${this.#path}: ${operation} answered "${line}".`);
    return spent;
  }

  /** Ends its input, and waits until it has ended. */
  async close(): Promise<void> {
    await this.#input.close().catch(() => {}); // it may have ended by itself
    await this.#output.return();
    await this.#child.status;
  }

  async #line(): Promise<string> {
    const { value } = await this.#output.next();
    if (value !== undefined) return value;
    const { code, signal } = await this.#child.status;
    throw new Error(`${this.#path} ended, with ${signal ?? `code ${code}`}.`);
  }
}

const opened = new Map<string, Promise<Program>>();
const pids: number[] = [];

/** This process and all that were started: while a figure is measured, one way at a time works. */
export function processes(): readonly number[] {
  return [Deno.pid, ...pids];
}

/** The program of a command: started once. @throws {Missing} with what it lacks. */
export function open(command: Command): Promise<Program> {
  const key = JSON.stringify(command);
  let program = opened.get(key);
  if (program === undefined) opened.set(key, program = start(command));
  return program;
}

/** Ends all programs. */
export async function closeAll(): Promise<void> {
  const programs = await Promise.allSettled(opened.values());
  opened.clear();
  await Promise.all(programs.map((program) => program.status === "fulfilled" ? program.value.close() : undefined));
}

async function start(command: Command): Promise<Program> {
  const program = new Program(command);
  try {
    await program.ready();
    pids.push(program.pid);
    return program;
  } catch (error) {
    await program.close();
    throw error;
  }
}
