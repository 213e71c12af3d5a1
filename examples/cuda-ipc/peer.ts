/**
 * The other process: peer.py, which is asked, and replies, in lines of JSON.
 *
 * @module
 */

/** What it is asked to do. */
export type Request =
  | {
    readonly do: "open";
    /** A `cudaIpcMemHandle_t` in hexadecimal digits. */
    readonly handle: string;
    /** The bytes of the whole allocation. */
    readonly allocation: number;
    /** Where in it the memory begins, and how many bytes that has. */
    readonly offset: number;
    readonly length: number;
  }
  | { readonly do: "see" | "change" | "close" };

/** A reply. */
interface Reply {
  /** With what it works; the first line. */
  readonly name?: string;
  /** Why it cannot work; the first line. */
  readonly missing?: string;
  /** The digest of the bytes that it sees. */
  readonly sha256?: string;
  /** What has failed. */
  readonly error?: string;
}

const PROGRAM = new URL("peer.py", import.meta.url).pathname;

/** A Python process that has CuPy or torch. */
export class Peer implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #requests: WritableStreamDefaultWriter<Uint8Array>;
  readonly #replies: ReadableStreamDefaultReader<string>;
  #rest = "";
  #name = "";

  private constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.#requests = child.stdin.getWriter();
    this.#replies = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Starts it. Returns why that failed, where it did. */
  static async start(): Promise<Peer | string> {
    let child: Deno.ChildProcess;
    try {
      child = new Deno.Command("python3", { args: [PROGRAM], stdin: "piped", stdout: "piped", stderr: "inherit" })
        .spawn();
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return "There is no python3.";
      throw error;
    }
    const peer = new Peer(child);
    const { name, missing } = await peer.#reply();
    if (name === undefined) {
      await peer[Symbol.asyncDispose]();
      return missing ?? "python3 has ended.";
    }
    peer.#name = name;
    return peer;
  }

  /** With what it works: `"CuPy 14.0.1"`. */
  get name(): string {
    return this.#name;
  }

  /** Its process's number. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Asks, and waits for the reply. @throws {Error} where it has failed. */
  async ask(request: Request): Promise<Reply> {
    await this.#requests.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`));
    const reply = await this.#reply();
    if (reply.error !== undefined) throw new Error(`${this.#name}, asked to ${request.do}: ${reply.error}`);
    return reply;
  }

  /** Lets it end. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#requests.close();
    await this.#replies.cancel();
    await this.#child.status;
  }

  async #reply(): Promise<Reply> {
    let end: number;
    while ((end = this.#rest.indexOf("\n")) === -1) {
      const { value, done } = await this.#replies.read();
      if (done) throw new Error("The other process has ended.");
      this.#rest += value;
    }
    const line = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end + 1);
    return JSON.parse(line) as Reply;
  }
}
