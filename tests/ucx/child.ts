/** How long a process may say nothing, and how long it may take to end: one that hangs is killed, so that its test fails. */
const [SILENCE_MS, END_MS] = [400_000, 20_000];

/** Another process of these tests, which is asked by lines, and replies by lines. */
export class Child implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #output: ReadableStreamDefaultReader<string>;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  #read = "";

  /** `before` is what it is started by, such as `ip netns exec NAME`. */
  constructor(program: string, args: readonly string[], before: readonly string[] = []) {
    const path = new URL(program, import.meta.url).pathname;
    const [command, ...rest] = [...before, Deno.execPath(), "run", "-A", "--no-check", path, ...args];
    this.#child = new Deno.Command(command, { args: rest, stdin: "piped", stdout: "piped" }).spawn();
    this.#output = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#input = this.#child.stdin.getWriter();
  }

  async line(): Promise<string> {
    while (!this.#read.includes("\n")) {
      const { value, done } = await this.#within(SILENCE_MS, () => this.#output.read());
      if (done) throw new Error("the other process has ended");
      this.#read += value;
    }
    const [line] = this.#read.split("\n", 1);
    this.#read = this.#read.slice(line.length + 1);
    return line;
  }

  async ask(what: string): Promise<string> {
    await this.#input.write(new TextEncoder().encode(`${what}\n`));
    return await this.line();
  }

  async #within<T>(limit: number, wait: () => Promise<T>): Promise<T> {
    const late = setTimeout(() => this.signal("SIGKILL"), limit);
    try {
      return await wait();
    } finally {
      clearTimeout(late);
    }
  }

  signal(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Ends its input, and waits for its end, which may have come before. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#within(END_MS, async () => {
      await this.#input.close().catch(() => {});
      await this.#output.cancel();
      await this.#child.status;
    });
  }
}
