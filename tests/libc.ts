/**
 * What tests ask of the C library themselves.
 *
 * @module
 */

const libc = Deno.dlopen("libc.so.6", {
  setenv: { parameters: ["buffer", "buffer", "i32"], result: "i32" },
  mkfifo: { parameters: ["buffer", "u32"], result: "i32" },
  socketpair: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  open_memstream: { parameters: ["buffer", "buffer"], result: "pointer" },
  malloc_info: { parameters: ["i32", "pointer"], result: "i32" },
  fclose: { parameters: ["pointer"], result: "i32" },
  free: { parameters: ["pointer"], result: "void" },
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

/** How many bytes this process has of malloc, in all of its arenas. Resident memory does not say: what is freed stays. */
export function mallocedBytes(): number {
  const [address, size] = [new BigUint64Array(1), new BigUint64Array(1)];
  const stream = libc.open_memstream(address, size);
  if (stream === null || libc.malloc_info(0, stream) !== 0 || libc.fclose(stream) !== 0) {
    throw new Error("malloc_info failed");
  }
  const text = Deno.UnsafePointer.create(address[0])!;
  const xml = Deno.UnsafePointerView.getCString(text);
  libc.free(text);
  const all = xml.slice(xml.lastIndexOf("</heap>"));
  const sizeOf = (tag: string) => Number(new RegExp(`<${tag}" (?:count="\\d+" )?size="(\\d+)"`).exec(all)?.[1]);
  const free = sizeOf('total type="fast') + sizeOf('total type="rest');
  return sizeOf('system type="current') - free + sizeOf('total type="mmap');
}
