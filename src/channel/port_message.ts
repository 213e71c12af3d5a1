/**
 * Ports on their way from one process to another: fds of any API, such as a stream of frames.
 *
 * @module
 */
import { Port } from "../core/device/port.ts";
import { badMessage } from "./errors.ts";
import { decimal, record, text, whole } from "./fields.ts";
import { decoded, encoded, jsonIn, KINDS } from "./message.ts";
import type { Packet } from "./packet.ts";

const LONGEST_KIND = 64;

export function portMessage({ kind, value, offset, byteLength }: Port): Uint8Array<ArrayBuffer> {
  const body = { kind, value: `${value}`, offset, byteLength };
  fieldsIn(body);
  return encoded(KINDS.port, 1, body);
}

function fieldsIn(body: unknown): Pick<Port, "kind" | "value" | "offset" | "byteLength"> {
  const fields = record(body, "body", ["kind", "value", "offset", "byteLength"]);
  return {
    kind: text(fields.kind, "kind", LONGEST_KIND),
    value: decimal(fields.value, "value", "unsigned"),
    offset: whole(fields.offset, "offset"),
    byteLength: whole(fields.byteLength, "byteLength"),
  };
}

/** The port that a message brings. @throws {MessageError} if the message is wrong, or its port of another kind. */
export function portIn<K extends string>(packet: Packet, wanted: K): Port<K> {
  using fds = packet.fds;
  const { kind, body } = decoded(packet.bytes, fds.length);
  if (kind !== KINDS.port) throw badMessage("kind", `expected a port (${KINDS.port}), got ${kind}.`);
  const { kind: given, ...fields } = fieldsIn(jsonIn(body));
  if (given !== wanted) throw badMessage("kind", `expected a port of "${wanted}", got one of "${given}".`);
  if (fds.length !== 1) throw badMessage("fds", `expected 1, got ${fds.length}.`);
  const [fd] = fds.takeAll();
  return new Port(wanted, { fd, ...fields });
}
