/**
 * Another process that receives memory of this one's, and what it says of it.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Access, Tensor } from "@samepage/interop";
import { listen, type Peer } from "@samepage/interop/channel";
import { temporaryPath } from "../channel/help.ts";

const SCRIPT = new URL("receiver.ts", import.meta.url).pathname;
const FLAGS = ["run", "-A", "--no-check", "-q"];

/** What receives: an API, and the device by its UUID. */
export interface ReceiverChoice {
  readonly api: "vulkan" | "opencl" | "cuda";
  readonly uuid?: string | undefined;
}

/** The other process. */
class Receiver {
  readonly #peer: Peer;
  readonly #lines: ReadableStreamDefaultReader<string>;

  constructor(peer: Peer, lines: ReadableStreamDefaultReader<string>) {
    this.#peer = peer;
    this.#lines = lines;
  }

  /** Sends a tensor, and waits until the other side has used it. Returns what that has seen of it. */
  async use(tensor: Tensor, access: Access): Promise<string | undefined> {
    await this.#peer.send(tensor, { access });
    return (await this.#lines.read()).value?.trim();
  }
}

/** Runs `use` with another process, which ends well afterwards. */
export async function withReceiver(
  { api, uuid = "" }: ReceiverChoice,
  use: (receiver: Receiver) => Promise<void>,
): Promise<void> {
  await using at = await temporaryPath();
  using server = listen(at.path);
  const args = [...FLAGS, SCRIPT, at.path, api, uuid];
  const child = new Deno.Command(Deno.execPath(), { args, stdout: "piped", stderr: "inherit" }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    using peer = await server.accept();
    await use(new Receiver(peer, lines));
  } catch (error) {
    child.kill();
    throw error;
  } finally {
    await lines.cancel();
  }
  assertEquals(await child.status, { success: true, code: 0, signal: null });
}
