// The whole way, in one program: host → dma-buf → another process → host → OpenCL there, and back. No byte is copied.
//
// PoCL takes its time to compile here. What dmabuf_test.ts, which runs before, has had compiled is in PoCL's cache.

import { assert, assertEquals } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import { linesOf } from "../../bench/harness/lines.ts";
import { listen } from "../../src/channel/mod.ts";
import { dmabuf, DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { temporaryPath, withNothingLeft } from "../channel/help.ts";
import { bytesAt } from "../conformance/bytes.ts";
import { guestTest } from "./needs.ts";

const LENGTH = 1024;
const CHILD = new URL("opencl_chain_child.ts", import.meta.url).pathname;

guestTest(
  "host → dma-buf → another process → OpenCL, and back: in the memory that it began in",
  () =>
    withNothingLeft(async () => {
      await using at = await temporaryPath();
      using server = listen(at.path, { contexts: [dmabuf] });
      await using other = new Other(at.path);
      using peer = await server.accept({ signal: other.ended });
      using graph = new MapperGraph([host, dmabuf]);
      using numbers = host.allocate({ shape: [LENGTH], dtype: "u32", sharable: true });
      const { address } = numbers;
      const seen = new Uint32Array(bytesAt(address, 4 * LENGTH).buffer); // the first mapping, past all of samepage
      numbers.view().forEach((_, i, view) => view[i] = i);
      {
        using sent = graph.map(numbers, dmabuf);
        assertEquals([sent.route.steps[0].transfer, sent.route.bytesMoved], ["alias", 0]);
        const inode = `${sent.handle.identity}`;
        await peer.send(sent, { access: "read-write" });

        const mapped = await other.said("mapped");
        assertEquals(
          mapped.steps.map(({ edge, transfer }: Record<string, string>) => [edge, transfer]),
          [["dmabuf→host", "alias"], ["host→opencl", "alias"]],
        );
        assertEquals(mapped.inode, inode);
        seen[0] = 7; // after the map: what had copied the bytes in would not know of it
        await other.goOn();

        const { bytesMoved, bytesCopied } = await other.said("ran");
        assertEquals([bytesMoved, bytesCopied], [0, 0]);
        assertEquals([seen[0], seen[1], seen[LENGTH - 1]], [1007, 1001, LENGTH + 999]); // and the map has not ended yet
        await other.goOn();

        using back = await peer.receive();
        assert(back instanceof DmaBufTensor);
        assert(back.grant.allocation === numbers.grant.allocation, "it came back as other memory");
        sent[Symbol.dispose]();
        assertEquals(`${back.handle.identity}`, inode);
      }
      assertEquals(numbers.address, address);
      assertEquals(numbers.view(), Uint32Array.from({ length: LENGTH }, (_, i) => i === 0 ? 1007 : i + 1000));
      assertEquals(await other.end(), 0);
    }),
);

/** The other process; it is killed if it has not ended by itself. */
class Other implements AsyncDisposable {
  /** Aborted when it has ended. */
  readonly ended: AbortSignal;
  readonly #process: Deno.ChildProcess;
  readonly #lines: AsyncGenerator<string, void>;
  readonly #words: WritableStreamDefaultWriter<Uint8Array>;

  constructor(path: string) {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "-q", CHILD, path],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    this.#lines = linesOf(this.#process.stdout);
    this.#words = this.#process.stdin.getWriter();
    const end = new AbortController();
    this.ended = end.signal;
    this.#process.status.then(() => end.abort());
  }

  /** What it says next, which has to be this. */
  // deno-lint-ignore no-explicit-any -- the fields of a message
  async said(what: string): Promise<any> {
    const { value } = await this.#lines.next();
    assert(value, `it ended before it said "${what}"`);
    const message = JSON.parse(value);
    assertEquals(message.what, what);
    return message;
  }

  async goOn(): Promise<void> {
    await this.#words.write(new TextEncoder().encode("go on\n"));
  }

  /** Ends its input, and waits for its end; returns its exit code. */
  async end(): Promise<number> {
    await this.#words.close();
    return (await this.#process.status).code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch {
      // it has ended
    }
    await this.#words.close().catch(() => {});
    await this.#lines.return();
    await this.#process.status;
  }
}
