import type { Door } from "../../channel/ring/link.ts";
import type { Resource } from "../../core/life/resource.ts";
import { undone } from "../../core/life/undo.ts";
import type { UcpWorker } from "../worker.ts";
import { receiveHello, sendSide } from "./handshake.ts";
import { insideOf, UcxLink } from "./link.ts";
import type { Bytes, Place } from "./messages.ts";
import { agreedInTime, type Meeting, type UcxListener } from "./sockets.ts";
import type { Conn, Stream } from "./stream.ts";

/** So many may be on their way in at a time: who connects and says nothing keeps out no others for long. */
const MAX_ARRIVING = 64;

interface DoorInit {
  readonly path: string;
  /** Its end of life: the listener's and the worker's. Its readers' links end first. */
  readonly resource: Resource;
  readonly listener: UcxListener;
  readonly meeting: Meeting;
  readonly worker: UcpWorker;
  readonly frames: readonly Place[];
  readonly descriptions: readonly Uint8Array[];
}

/** What a ring's writer listens at: its readers meet it by a socket, and the frames go over UCX. */
export function doorOf({ path, resource, listener, meeting, worker, frames, descriptions }: DoorInit): Door {
  let arriving = 0;

  const letIn = async (conn: Conn, stream: Stream, beginning: Bytes, signal: AbortSignal) => {
    await meeting.admit(stream, "writer");
    const { worker: address, isApart, timeout: theirTimeout, tags: theirTags } = await receiveHello(stream);
    resource.assertLive(); // else there is no worker
    const tags = { ...theirTags, sends: theirTags.takes, takes: theirTags.sends }; // as this side sees them
    const { timeout } = meeting;
    const side = { worker: worker.address, isApart: frames.some(({ bytes }) => bytes === undefined), timeout };
    const init = { name: nameOf(conn), worker, address, stream, tags, timeout, theirTimeout, sent: frames };
    const link = new UcxLink({ ...init, inside: insideOf(frames, isApart || side.isApart) }, []);
    link.resource.dependOn(resource);
    try {
      await link.met(signal);
      for (const message of [beginning, ...descriptions]) await stream.send(message);
      await sendSide(stream, side);
      return link.begin();
    } catch (error) {
      throw undone(error, [() => link.resource.dispose()], "letting a reader in");
    }
  };

  const welcome = async (conn: Conn, beginning: Bytes): Promise<UcxLink> => {
    arriving++;
    try {
      return await agreedInTime(
        Promise.resolve(conn),
        meeting.timeout,
        undefined,
        (stream, signal) => letIn(conn, stream, beginning, signal),
      );
    } finally {
      arriving--;
    }
  };

  return {
    path,
    resource,
    async *[Symbol.asyncIterator]() {
      while (resource.isLive) {
        let conn: Conn;
        try {
          conn = await listener.accept();
        } catch (error) {
          if (!resource.isLive) return;
          throw error;
        }
        if (arriving >= MAX_ARRIVING) conn.close();
        else yield { welcome: (_: Resource, beginning: Bytes) => welcome(conn, beginning) };
      }
    },
  };
}

/** Who is there, as far as the socket says. */
function nameOf(conn: Conn): string {
  const { remoteAddr } = conn as Partial<Deno.Conn>;
  return remoteAddr !== undefined && "hostname" in remoteAddr
    ? `the reader at ${remoteAddr.hostname}:${remoteAddr.port}`
    : "a reader";
}
