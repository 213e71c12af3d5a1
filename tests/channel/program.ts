/**
 * Another program on the other side of a channel, as far as the kernel sees it: fds and bytes that are not samepage's.
 *
 * @module
 */
import { assert } from "@std/assert";
import type { Access, Context, Tensor } from "../../mod.ts";
import { listen } from "../../src/channel/mod.ts";
import { encoded, KINDS } from "../../src/channel/message.ts";
import { temporaryPath, withNothingLeft } from "./help.ts";
import * as raw from "./raw.ts";

/** A part of memory that the program sends. */
export interface Sent {
  /** The memory; the program keeps its own fd. */
  readonly fd: number;
  /** Where the part begins. */
  readonly offset: number;
  /** Its length. */
  readonly byteLength: number;
  /** What the program says that the fd is; a memfd if left out. */
  readonly memory?: "memfd" | "dma-buf";
  /** What we may do; read and write if left out. */
  readonly access?: Access;
}

/** Sends memory, and reports what is made of it here. */
export type Say = (sent: Sent) => Promise<Tensor>;

/** A program sends memory to each of the contexts, on a socket for each. */
export async function withProgram(
  contexts: readonly Context[],
  use: (...say: Say[]) => Promise<void> | void,
): Promise<void> {
  await withNothingLeft(async () => {
    await using ends = new AsyncDisposableStack();
    const all: Say[] = [];
    for (const context of contexts) {
      const { path } = ends.use(await temporaryPath());
      const server = ends.use(listen(path, { contexts: [context] }));
      const socket = ends.adopt(raw.connectRaw(path), raw.close);
      const peer = ends.use(await server.accept());
      all.push(async ({ fd, offset, byteLength, memory = "memfd", access = "read-write" }) => {
        const planes = [{ dtype: "u8", shape: [byteLength], strides: [1], byteOffset: 0 }];
        const objects = [{ offset, byteLength }];
        raw.sendRaw(
          socket,
          encoded(KINDS.memory, 1, { memory, access, sync: "done", objects, planes }),
          [fd],
        );
        const received = await peer.receive();
        assert(received !== undefined && "layout" in received);
        return received;
      });
    }
    await use(...all);
  });
}
