/**
 * The other side of a channel as an enemy writes it: libc and nothing of ours.
 *
 * @module
 */
const libc = Deno.dlopen("libc.so.6", {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  sendmsg: { parameters: ["i32", "buffer", "i32"], result: "i64" },
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "i64" },
  memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
  ftruncate: { parameters: ["i32", "i64"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
  open: { parameters: ["buffer", "i32", "i32"], result: "i32" },
  pipe: { parameters: ["buffer"], result: "i32" },
  eventfd: { parameters: ["u32", "i32"], result: "i32" },
  epoll_create1: { parameters: ["i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
}).symbols;

const AF_UNIX = 1;
const SOCK_SEQPACKET = 5;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const F_ADD_SEALS = 1033;
const F_DUPFD_CLOEXEC = 1030;
const MFD_ALLOW_SEALING = 2;

/** The seals of a memfd (fcntl.h). */
export const SEALS = { shrink: 2, grow: 4, write: 8, futureWrite: 16 } as const;

/** How a file is opened. */
export const OPEN = { read: 0, write: 1, readWrite: 2, path: 0o10000000 } as const;

const cText = (text: string) => new TextEncoder().encode(`${text}\0`);

function done(answer: number, fn: string): number {
  if (answer < 0) throw new Error(`${fn} failed`);
  return answer;
}

/** A connected socket. */
export function connectRaw(path: string): number {
  const text = cText(path);
  const address = new Uint8Array(2 + text.length);
  address[0] = AF_UNIX;
  address.set(text, 2);
  const fd = done(libc.socket(AF_UNIX, SOCK_SEQPACKET, 0), "socket");
  done(libc.connect(fd, address, address.length), "connect");
  return fd;
}

/** Sends whatever bytes with whatever fds. */
export function sendRaw(socket: number, bytes: Uint8Array, fds: readonly number[] = []): void {
  const data = new Uint8Array(new ArrayBuffer(Math.max(bytes.length, 1)));
  data.set(bytes);
  const control = new DataView(new ArrayBuffer(16 + 8 * Math.ceil(fds.length / 2)));
  control.setBigUint64(0, BigInt(16 + 4 * fds.length), true);
  control.setInt32(8, 1, true); // SOL_SOCKET
  control.setInt32(12, 1, true); // SCM_RIGHTS
  fds.forEach((fd, i) => control.setInt32(16 + 4 * i, fd, true));
  const address = (memory: ArrayBufferView<ArrayBuffer>) => Deno.UnsafePointer.value(Deno.UnsafePointer.of(memory));
  const vector = BigUint64Array.of(BigInt(address(data)), BigInt(bytes.length));
  const header = new BigUint64Array(7);
  header[2] = BigInt(address(vector));
  header[3] = 1n;
  if (fds.length > 0) {
    header[4] = BigInt(address(control));
    header[5] = BigInt(control.byteLength);
  }
  done(Number(libc.sendmsg(socket, header, MSG_NOSIGNAL)), "sendmsg");
}

/** True once the other side has closed the connection. */
export function isClosed(socket: number): boolean {
  return libc.recv(socket, new Uint8Array(1), 1n, MSG_DONTWAIT) === 0n;
}

/** The same file under another fd. */
export function duplicate(fd: number): number {
  return done(libc.fcntl(fd, F_DUPFD_CLOEXEC, 0), "fcntl");
}

/** A memfd of so many bytes with these seals. */
export function memfd(byteLength: number, seals: number = SEALS.shrink | SEALS.grow): number {
  const fd = done(libc.memfd_create(cText("hostile"), MFD_ALLOW_SEALING), "memfd_create");
  resize(fd, byteLength);
  if (seals !== 0) seal(fd, seals);
  return fd;
}

/** Adds seals to a memfd. */
export function seal(fd: number, seals: number): void {
  done(libc.fcntl(fd, F_ADD_SEALS, seals), "fcntl");
}

/** Makes a file longer or shorter. */
export function resize(fd: number, byteLength: number): void {
  done(libc.ftruncate(fd, BigInt(byteLength)), "ftruncate");
}

/** Opens a file. */
export function openFile(path: string, flags: number): number {
  return done(libc.open(cText(path), flags, 0o600), "open");
}

/** Both ends of a pipe. */
export function pipe(): readonly [read: number, write: number] {
  const ends = new Int32Array(2);
  done(libc.pipe(ends), "pipe");
  return [ends[0], ends[1]];
}

/** An eventfd. */
export function eventfd(): number {
  return done(libc.eventfd(0, 0), "eventfd");
}

/** An epoll fd. */
export function epoll(): number {
  return done(libc.epoll_create1(0), "epoll_create1");
}

/** A socket that is not connected. */
export function socket(): number {
  return done(libc.socket(AF_UNIX, SOCK_SEQPACKET, 0), "socket");
}

/** Closes an fd. */
export function close(fd: number): void {
  done(libc.close(fd), "close");
}
