/**
 * A socket that has a name in the file system.
 *
 * @module
 */
import {
  AF_UNIX,
  AT_FDCWD,
  AT_SYMLINK_NOFOLLOW,
  S_IFDIR,
  S_IFSOCK,
  SOCK_CLOEXEC,
  SOCK_DGRAM,
  SOCK_NONBLOCK,
  SOCK_SEQPACKET,
} from "../../ffi/channel/constants.ts";
import { sockaddr_un } from "../../ffi/channel/structs.ts";
import { LOCK_EX, LOCK_NB, O_CLOEXEC, O_RDONLY, S_IFMT, STATX_BASIC_STATS } from "../../ffi/libc/constants.ts";
import { EACCES, EADDRINUSE, EAGAIN, ECONNREFUSED, ENOENT, EPROTOTYPE } from "../../ffi/libc/errors.ts";
import { readStatx, type Statx, statx } from "../../ffi/libc/structs.ts";
import { Checks } from "../core/checks.ts";
import { allOrNothing, thenUndo, type Undo, undoAll } from "../core/life/undo.ts";
import { closeFd } from "../core/native/fd.ts";
import { errno, libc, libcError } from "../core/native/libc.ts";
import { cString } from "../core/native/text.ts";
import { socketError, sockets } from "./library.ts";

/** How many connections may wait to be accepted; the kernel's limit is net.core.somaxconn. */
const BACKLOG = 128;

/** Only the owner may connect. */
const MODE = 0o600;

const checks: Checks = new Checks("channel");

export interface Listening {
  readonly fd: number;
  /** Removes the file, unless another has taken its place. */
  readonly unlink: () => void;
}

/**
 * Listens at a path. A file that was left behind by a process that has ended is replaced.
 * @throws {ArgumentError} if the path is invalid, or another process listens there.
 * @throws {NativeCallError} if the file cannot be made.
 */
export function listenAt(path: string): Listening {
  const address = addressOf(path);
  return withSocket(SOCK_SEQPACKET, (fd, undo) => {
    // Linux gives the file the mode of the socket: it never exists with another one.
    if (sockets().fchmod(fd, MODE) !== 0) throw socketError("fchmod");
    if (sockets().bind(fd, address, address.byteLength) !== 0) {
      if (errno() !== EADDRINUSE) throw socketError("bind", hintForBind(path));
      replaceStale(path, fd, address);
    }
    undo.push(() => remove(path));
    const made = fileAt(path);
    if (sockets().listen(fd, BACKLOG) !== 0) throw socketError("listen");
    const unlink = () => {
      if (isSame(fileAt(path), made)) remove(path);
    };
    return { fd, unlink };
  });
}

/** @throws {NativeCallError} ENOENT or ECONNREFUSED if no process listens there. */
export function connectTo(path: string): number {
  const address = addressOf(path);
  return withSocket(SOCK_SEQPACKET, (fd) => {
    if (sockets().connect(fd, address, address.byteLength) === 0) return fd;
    throw socketError("connect", hintForConnect(path));
  });
}

/** Read before any other native call, which would change errno. */
function hintForBind(path: string): string {
  const folder = folderOf(path);
  switch (errno()) {
    case ENOENT:
      return `There is no folder ${folder}: make it first.`;
    case EACCES:
      return `This user may not make a file in ${folder}.`;
    default:
      return `Can a file be made at ${path}?`;
  }
}

/** Read before any other native call, which would change errno. */
function hintForConnect(path: string): string {
  switch (errno()) {
    case EAGAIN:
      return "It is busy: try again.";
    case EACCES:
      return `Only the user who listens may connect, and this user may not use ${path}.`;
    case ECONNREFUSED:
      return `The process that listened at ${path} has ended, or the file is not a socket: start the process first.`;
    default:
      return `Does a process listen at ${path}? Start it first.`;
  }
}

/** Replaces a file on which no process listens. */
function replaceStale(path: string, fd: number, address: Uint8Array<ArrayBuffer>): void {
  // Two processes that find the same file must not both remove it: the second would remove what the first has made.
  withFolderLocked(path, () => {
    const obstacle = obstacleAt(path, address);
    if (obstacle !== undefined) throw checks.wrong("path", `${path} ${obstacle}.`, "Choose another path.");
    remove(path);
    if (sockets().bind(fd, address, address.byteLength) !== 0) throw socketError("bind");
  });
}

/** Why the file must not be replaced; undefined if it is the file of a closed socket. */
function obstacleAt(path: string, address: Uint8Array<ArrayBuffer>): string | undefined {
  const file = fileAt(path);
  if (file === undefined) return "was removed just now: try again";
  const kind = file.stx_mode & S_IFMT;
  if (kind === S_IFDIR) return "is a folder";
  if (kind !== S_IFSOCK) return "is a file that is not a socket, and is left as it is";
  return isListening(address) ? "is in use: a process listens there" : undefined;
}

/** True if a process listens at a socket's file. */
function isListening(address: Uint8Array<ArrayBuffer>): boolean {
  return withSocket(SOCK_DGRAM, (probe, undo) => {
    const failed = sockets().connect(probe, address, address.byteLength) !== 0;
    const code = failed ? errno() : 0;
    // A socket of another type finds out whether there is a listener, without a connection that it would have to accept.
    if (failed && code !== ECONNREFUSED && code !== EPROTOTYPE) throw socketError("connect");
    undoAll(undo, "closing a socket");
    return code !== ECONNREFUSED;
  });
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1) || ".";
}

function withFolderLocked(path: string, action: () => void): void {
  const folder = folderOf(path);
  const lock = libc().open(cString(folder), O_RDONLY | O_CLOEXEC, 0);
  if (lock < 0) throw libcError("open");
  thenUndo("replacing the file of a socket", () => {
    if (libc().flock(lock, LOCK_EX | LOCK_NB) !== 0) {
      throw libcError("flock", {
        [EAGAIN]: `Try again: another process is making a socket in ${folder}, or has locked that folder.`,
      });
    }
    action();
  }, [() => closeFd(lock)]); // releases the lock
}

function withSocket<T>(type: number, use: (fd: number, undo: Undo) => T): T {
  const fd = sockets().socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw socketError("socket");
  const undo: Undo = [() => closeFd(fd)];
  return allOrNothing("making a socket", () => use(fd, undo), undo);
}

function fileAt(path: string): Statx | undefined {
  const result = new DataView(new ArrayBuffer(statx.size));
  if (libc().statx(AT_FDCWD, cString(path), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, result) === 0) {
    return readStatx(result, 0);
  }
  if (errno() === ENOENT) return undefined;
  throw libcError("statx");
}

/** True if both exist and are the same file. */
function isSame(one: Statx | undefined, other: Statx | undefined): boolean {
  return one !== undefined && one.stx_ino === other?.stx_ino &&
    one.stx_dev_major === other.stx_dev_major && one.stx_dev_minor === other.stx_dev_minor;
}

function remove(path: string): void {
  if (libc().unlink(cString(path)) !== 0) throw libcError("unlink");
}

function addressOf(path: string): Uint8Array<ArrayBuffer> {
  checks.assertText(path, "path");
  const text = cString(path);
  const at = sockaddr_un.fields.sun_path.offset;
  const most = sockaddr_un.size - at;
  if (path === "") throw checks.wrong("path", "expected the path of a file.");
  if (text.length > most) {
    throw checks.wrong(
      "path",
      `expected at most ${most - 1} bytes, got ${text.length - 1}.`,
      "Choose a shorter path, or one that counts from the current folder.",
    );
  }
  const address = new Uint8Array(at + text.length);
  new DataView(address.buffer).setUint16(0, AF_UNIX, true);
  address.set(text, at);
  return address;
}
