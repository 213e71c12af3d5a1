/**
 * What tests ask of the C library themselves.
 *
 * @module
 */

const libc = Deno.dlopen("libc.so.6", {
  setenv: { parameters: ["buffer", "buffer", "i32"], result: "i32" },
  mkfifo: { parameters: ["buffer", "u32"], result: "i32" },
  socketpair: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
}).symbols;

const cString = (bytes: Uint8Array) => Uint8Array.of(...bytes, 0);
const cText = (text: string) => cString(new TextEncoder().encode(text));

/** Sets a variable of this process's environment to bytes, which need not be text. */
export function setEnvironment(name: string, value: Uint8Array): void {
  if (libc.setenv(cText(name), cString(value), 1) !== 0) throw new Error("setenv failed");
}

/** Makes a pipe that has a name. */
export function makePipe(path: string): void {
  if (libc.mkfifo(cText(path), 0o600) !== 0) throw new Error("mkfifo failed");
}

/** Two ends of a Unix socket, as fds of this process, on which no call blocks. */
export function socketPair(): [number, number] {
  const [UNIX, STREAM_NONBLOCKING] = [1, 1 | 0o4000];
  const ends = new Int32Array(2);
  if (libc.socketpair(UNIX, STREAM_NONBLOCKING, 0, ends) !== 0) throw new Error("socketpair failed");
  return [ends[0], ends[1]];
}
