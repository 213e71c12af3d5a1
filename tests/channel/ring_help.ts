/**
 * Rings, and processes that read and write them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor, imageInfo } from "../../mod.ts";
import { FrameRing, type RingReader, type RingWriter, type WhenFull } from "../../src/channel/mod.ts";
import { linesOf } from "../../bench/harness/lines.ts";

/** What the tests' frames are in memory. */
export type HostFrame = Frame<HostTensor>;

const ROOT = new URL("../../", import.meta.url).pathname;

/** The tests' frames: small, of two planes. */
export const INFO = imageInfo({ format: "NV12", width: 64, height: 16 });

/** An unused path. */
export function freshPath(): string {
  return `${Deno.makeTempDirSync()}/ring`;
}

/** A ring of so many frames. */
export function create(path: string, frames: number = 3, whenFull: WhenFull = "wait"): RingWriter<HostFrame> {
  const memory = Array.from({ length: frames }, () => host.allocateFrame(INFO, { sharable: true }));
  return FrameRing.create(path, { frames: memory, whenFull });
}

/** A reader of it. */
export async function open(path: string): Promise<RingReader<HostFrame>> {
  return await FrameRing.open<HostFrame>(path, { contexts: [host] });
}

/** Fills a frame with one number, and publishes it. */
export async function publish(ring: RingWriter<HostFrame>, value: number): Promise<number> {
  const frame = await ring.next({ signal: AbortSignal.timeout(30_000) });
  for (const plane of frame.planes) plane.bytes().fill(value);
  return await ring.publish(frame);
}

/** The number that fills a frame. */
export function valueOf(frame: HostFrame): number {
  const values = new Set(frame.planes.flatMap((plane) => [...plane.bytes()]));
  assertEquals(values.size, 1, `the frame is of one piece, and has ${[...values]}`);
  return [...values][0];
}

/** Waits until something holds. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  for (const end = performance.now() + 30_000; !holds();) {
    if (performance.now() > end) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Another process. */
export class Child implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #file: string;

  /** Runs a module's text. It has what this file exports, and `path`. */
  constructor(path: string, text: string) {
    Deno.mkdirSync(`${ROOT}out/programs`, { recursive: true });
    this.#file = Deno.makeTempFileSync({ dir: `${ROOT}out/programs`, suffix: ".ts" });
    const imports = `import { create, open, publish, valueOf } from "${import.meta.url}";\nconst path = "${path}";\n`;
    Deno.writeTextFileSync(this.#file, imports + text);
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "-q", "--config", `${ROOT}deno.json`, this.#file],
      stdin: "null",
      stdout: "piped",
    }).spawn();
    this.#lines = linesOf(this.#process.stdout);
  }

  /** The next line that it prints. */
  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    return done ? "(it has ended)" : value;
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
  }

  /** Waits for its end; returns its exit code. */
  async end(): Promise<number> {
    return (await this.#process.status).code;
  }

  /** Kills it if it still runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch {
      // it has ended
    }
    await this.#lines.return?.();
    await this.#process.status;
    await Deno.remove(this.#file);
  }
}
