/**
 * One message and its fds, through sendmsg and recvmsg. Nothing here blocks.
 *
 * @module
 */
import type { Address } from "../../ffi/address.ts";
import { NULL } from "../../ffi/address.ts";
import {
  MSG_CMSG_CLOEXEC,
  MSG_CTRUNC,
  MSG_DONTWAIT,
  MSG_NOSIGNAL,
  MSG_PEEK,
  MSG_TRUNC,
  SCM_RIGHTS,
  SOL_SOCKET,
} from "../../ffi/channel/constants.ts";
import { cmsghdr, msghdr, readCmsghdr, writeCmsghdr, writeMsghdr } from "../../ffi/channel/structs.ts";
import { EAGAIN, ECONNRESET, EPIPE, ETOOMANYREFS } from "../../ffi/libc/errors.ts";
import { iovec, writeIovec } from "../../ffi/libc/structs.ts";
import { undoAll, undone } from "../core/life/undo.ts";
import { closeFd } from "../core/native/fd.ts";
import { errno } from "../core/native/libc.ts";
import { addressOf } from "../core/native/pin.ts";
import { badMessage } from "./errors.ts";
import { socketError, sockets } from "./library.ts";

/** The most bytes that follow a message's header or a notice. */
export const LONGEST_BODY = 64 * 1024;

/** A header has 16 bytes, a notice 24. */
const LONGEST = LONGEST_BODY + 24;

/** The kernel carries 253. */
export const MAX_FDS = 64;

const ENDED = "The other side has ended.";

const HINTS: ReadonlyMap<number, string> = new Map([
  [EPIPE, ENDED],
  [ECONNRESET, ENDED],
  [ETOOMANYREFS, "Too many fds of this user are on their way: read them, or raise the limit (ulimit -n)."],
]);

const FD_BYTES = Int32Array.BYTES_PER_ELEMENT;

/** Where each part lies in the memory that libc reads and fills. One spare byte at the end shows a message that is too long. */
const IOVEC_AT = msghdr.size;
const CONTROL_AT = IOVEC_AT + iovec.size;
const DATA_AT = CONTROL_AT + controlLength(MAX_FDS);
const END = DATA_AT + LONGEST + 1;

const { msg_control, msg_controllen, msg_flags } = msghdr.fields;

/** All connections share it, because each call is over before the next begins. */
const scratch = new DataView(new ArrayBuffer(END));
const data = new Uint8Array(scratch.buffer, DATA_AT);
const received = new DataView(scratch.buffer, DATA_AT);

/** Where the control messages lie in memory; undefined until the header is written. */
let control: Address | undefined;

/** Fds that came with a message. Dispose closes those that were not taken. */
export class ReceivedFds implements Disposable {
  #fds: readonly number[];

  constructor(fds: readonly number[]) {
    this.#fds = fds;
  }

  get length(): number {
    return this.#fds.length;
  }

  /** All of them, which the caller owns from now on. */
  takeAll(): readonly number[] {
    const fds = this.#fds;
    this.#fds = [];
    return fds;
  }

  [Symbol.dispose](): void {
    const closings = this.takeAll().map((fd) => () => closeFd(fd));
    undoAll(closings, "closing fds of a message");
  }
}

export const NO_FDS: ReceivedFds = new ReceivedFds([]);

/** Reads a message: its bytes, which are valid until it returns, how many they are, and the fds, which it may take. */
export type Look<T> = (data: DataView<ArrayBuffer>, byteLength: number, fds: ReceivedFds) => T;

export interface Packet {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly fds: ReceivedFds;
}

export function packetOf({ buffer, byteOffset }: DataView<ArrayBuffer>, byteLength: number, fds: ReceivedFds): Packet {
  return { bytes: new Uint8Array(buffer, byteOffset, byteLength).slice(), fds };
}

/**
 * Sends one message, whole or not at all. The fds stay the caller's. Returns false if it would have to wait.
 * @throws {NativeCallError} EPIPE or ECONNRESET if the other side is gone.
 */
export function sendPacket(socket: number, bytes: Uint8Array, fds: readonly number[]): boolean {
  data.set(bytes);
  if (fds.length > 0) writeFds(fds);
  describe(bytes.length, fds.length === 0 ? 0 : controlLength(fds.length));
  const sent = sockets().sendmsg(socket, scratch, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0n) return true;
  const code = errno();
  if (code === EAGAIN) return false;
  throw socketError("sendmsg", HINTS.get(code));
}

/**
 * Takes the next message and returns what `look` returns; `"later"` if none has come yet, `"ended"` if none will. If
 * `look` throws, the fds are closed.
 * @throws {MessageError} if it is empty, too long, or has lost fds on the way.
 * @throws {NativeCallError} if the connection failed.
 */
export function receivePacket<T>(socket: number, look: Look<T>): T | "later" | "ended" {
  describe(LONGEST + 1, controlLength(MAX_FDS));
  const count = Number(sockets().recvmsg(socket, scratch, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
  if (count < 0) {
    const code = errno();
    if (code === EAGAIN) return "later";
    // The other side ended without reading all that this side had sent. The kernel reports that once, before what it sent.
    if (code === ECONNRESET) return receivePacket(socket, look);
    throw socketError("recvmsg");
  }
  const flags = scratch.getInt32(msg_flags.offset, true);
  const length = scratch.getUint32(msg_controllen.offset, true);
  const fds = length === 0 ? NO_FDS : new ReceivedFds(fdsIn(length));
  try {
    if ((flags & MSG_CTRUNC) !== 0) {
      throw badMessage(
        "fds",
        `some did not arrive: there were more than ${MAX_FDS}, or this process has too many fds open.`,
      );
    }
    if ((flags & MSG_TRUNC) !== 0 || count > LONGEST) {
      throw badMessage("message", `expected at most ${LONGEST} bytes, got more.`);
    }
    if (count > 0) return look(received, count, fds);
    if (fds.length === 0 && hasEnded(socket)) return "ended";
    throw badMessage("message", "it is empty.");
  } catch (error) {
    throw undone(error, [() => fds[Symbol.dispose]()], "receiving a message");
  }
}

function hasEnded(socket: number): boolean {
  describe(1, 0); // without room for fds, because a peek would duplicate them
  const count = sockets().recvmsg(socket, scratch, MSG_DONTWAIT | MSG_PEEK);
  if (count < 0n && errno() !== EAGAIN) throw socketError("recvmsg");
  return count === 0n;
}

function fdsIn(length: number): number[] {
  const fds: number[] = [];
  for (let at = CONTROL_AT; at + cmsghdr.size <= CONTROL_AT + length;) {
    const { cmsg_len, cmsg_level, cmsg_type } = readCmsghdr(scratch, at);
    const end = at + Number(cmsg_len);
    if (cmsg_level === SOL_SOCKET && cmsg_type === SCM_RIGHTS) {
      for (let i = at + cmsghdr.size; i + FD_BYTES <= end; i += FD_BYTES) fds.push(scratch.getInt32(i, true));
    }
    at += Math.max(aligned(end - at), cmsghdr.size);
  }
  return fds;
}

function writeFds(fds: readonly number[]): void {
  writeCmsghdr(scratch, CONTROL_AT, {
    cmsg_len: BigInt(cmsghdr.size + FD_BYTES * fds.length),
    cmsg_level: SOL_SOCKET,
    cmsg_type: SCM_RIGHTS,
  });
  for (const [i, fd] of fds.entries()) scratch.setInt32(CONTROL_AT + cmsghdr.size + FD_BYTES * i, fd, true);
}

/** Fills in the header for so many bytes of data and of control messages: only what changes, once it was written. */
function describe(byteLength: number, ofControl: number): void {
  control ??= writeHeader();
  scratch.setUint32(IOVEC_AT + iovec.fields.iov_len.offset, byteLength, true); // its upper half stays 0
  scratch.setBigUint64(msg_control.offset, ofControl === 0 ? NULL : control, true);
  scratch.setUint32(msg_controllen.offset, ofControl, true);
}

/** Writes what never changes; returns where the control messages lie. */
function writeHeader(): Address {
  const base = addressOf(scratch, "channel");
  writeIovec(scratch, IOVEC_AT, { iov_base: base + BigInt(DATA_AT) as Address, iov_len: 0n });
  writeMsghdr(scratch, 0, {
    msg_name: NULL,
    msg_namelen: 0,
    msg_iov: base + BigInt(IOVEC_AT) as Address,
    msg_iovlen: 1n,
    msg_control: NULL,
    msg_controllen: 0n,
    msg_flags: 0,
  });
  return base + BigInt(CONTROL_AT) as Address;
}

function controlLength(fds: number): number {
  return aligned(cmsghdr.size + FD_BYTES * fds);
}

function aligned(length: number): number {
  return Math.ceil(length / cmsghdr.align) * cmsghdr.align;
}
