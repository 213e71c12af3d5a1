/**
 * Memory between processes: tensors and frames are sent over a Unix socket by their fds, so that both sides see the same
 * bytes.
 *
 * @module
 */
export type { Credentials } from "./connection.ts";
export { MessageError } from "./errors.ts";
export type { ChannelOptions, SignalOptions } from "./options.ts";
export type { SentKind } from "./description.ts";
export { Peer, type SendOptions } from "./peer.ts";
export { RingReader } from "./ring/reader.ts";
export { FrameRing, type OpenRingOptions, type RingOptions } from "./ring/ring.ts";
export type { WhenFull } from "./ring/notice.ts";
export { type NextOptions, type PublishOptions, RingWriter } from "./ring/writer.ts";
export { connect, listen, Server } from "./server.ts";
