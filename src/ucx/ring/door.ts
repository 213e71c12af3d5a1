import type { Arrival, Door } from "../../channel/ring/link.ts";
import type { Resource } from "../../core/life/resource.ts";
import { allOrNothing, type Undo, undone } from "../../core/life/undo.ts";
import type { UcpWorker } from "../worker.ts";
import { receiveHello } from "./handshake.ts";
import { type Tags, UcxLink } from "./link.ts";
import type { Bytes, Place } from "./messages.ts";
import { type Meeting, type UcxListener, within } from "./sockets.ts";
import type { Conn } from "./stream.ts";

/** So many may be on their way in at a time: who connects and says nothing keeps out no others for long. */
const MOST_ARRIVING = 64;

/** What a ring's writer listens at: its readers meet it by a socket, and the frames go over UCX. */
export class UcxDoor implements Door {
  readonly path: string;
  readonly resource: Resource;
  readonly #listener: UcxListener;
  readonly #meeting: Meeting;
  readonly #worker: UcpWorker;
  readonly #frames: readonly Place[];
  /** The frames' descriptions, and where the worker is. */
  readonly #messages: readonly Uint8Array[];
  #arriving = 0;

  constructor(
    path: string,
    resource: Resource,
    listener: UcxListener,
    meeting: Meeting,
    worker: UcpWorker,
    frames: readonly Place[],
    descriptions: readonly Uint8Array[],
  ) {
    this.path = path;
    this.resource = resource;
    this.#listener = listener;
    this.#meeting = meeting;
    this.#worker = worker;
    this.#frames = frames;
    this.#messages = [...descriptions, worker.address];
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Arrival> {
    while (this.resource.isLive) {
      let conn: Conn;
      try {
        conn = await this.#listener.accept();
      } catch (error) {
        if (!this.resource.isLive) return;
        throw error;
      }
      if (this.#arriving >= MOST_ARRIVING) conn.close();
      else yield { welcome: (ring, beginning) => this.#welcome(conn, ring, beginning) };
    }
  }

  async #welcome(conn: Conn, ring: Resource, beginning: Bytes): Promise<UcxLink> {
    const { timeout } = this.#meeting;
    this.#arriving++;
    try {
      return await within(Promise.resolve(conn), timeout, undefined, async (stream, signal) => {
        await this.#meeting.admit(stream, "writer");
        const { worker: address, tags } = await receiveHello(stream);
        ring.assertLive();
        const undo: Undo = [];
        const init = { name: nameOf(conn), worker: this.#worker, address, stream, timeout, sent: this.#frames };
        const link = allOrNothing(
          "letting a reader in",
          () => new UcxLink({ ...init, tags: seenBy(tags) }, undo),
          undo,
        );
        link.resource.dependOn(ring);
        try {
          await link.met(signal);
          for (const message of [beginning, ...this.#messages]) await stream.send(message);
          return link.begin();
        } catch (error) {
          throw undone(error, [() => link.resource.dispose()], "letting a reader in");
        }
      });
    } finally {
      this.#arriving--;
    }
  }
}

/** The reader's tags, as the writer sees them. */
function seenBy({ sends, takes, frames }: Tags): Tags {
  return { sends: takes, takes: sends, frames };
}

/** Who is there, as far as the socket says. */
function nameOf(conn: Conn): string {
  const { remoteAddr } = conn as Partial<Deno.Conn>;
  return remoteAddr !== undefined && "hostname" in remoteAddr
    ? `the reader at ${remoteAddr.hostname}:${remoteAddr.port}`
    : "a reader";
}
