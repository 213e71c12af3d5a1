import { host, type HostTensor } from "../../mod.ts";

/** How many bytes are read of the process's memory at a time. */
const CHUNK = 1 << 22;

/**
 * The addresses in this process's writable memory at which the first 64 bytes of a tensor lie, its own among them: where a
 * native library has copied it to is one more. The bytes have to be random, and lie at multiples of four.
 */
export function placesOf(tensor: HostTensor): bigint[] {
  using wanted = host.allocate({ shape: [16], dtype: "i32" });
  const words = wanted.view();
  const own = tensor.view();
  words.set(new Int32Array(own.buffer, own.byteOffset, 16));
  using chunk = host.allocate({ shape: [CHUNK / 4], dtype: "i32" });
  const found: bigint[] = [];
  const maps = Deno.readTextFileSync("/proc/self/maps").split("\n");
  using memory = Deno.openSync("/proc/self/mem");
  const ours = [wanted, chunk].map(({ address, byteLength }) => [address, address + BigInt(byteLength)]);
  for (const line of maps) {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
    if (from === undefined || /\[v/.test(line)) continue;
    const end = BigInt(`0x${to}`);
    for (let at = BigInt(`0x${from}`); at < end; at += BigInt(CHUNK - 64)) {
      for (const place of within(memory, at, end, chunk.view(), words)) {
        if (!ours.some(([from, to]) => place >= from && place < to) && !found.includes(place)) found.push(place);
      }
    }
  }
  return found;
}

function* within(
  memory: Deno.FsFile,
  at: bigint,
  end: bigint,
  chunk: Int32Array<ArrayBuffer>,
  words: Int32Array,
): Generator<bigint> {
  const length = Math.min(CHUNK, Number(end - at));
  memory.seekSync(at, Deno.SeekMode.Start);
  let count: number | null;
  try {
    count = memory.readSync(new Uint8Array(chunk.buffer, chunk.byteOffset, length));
  } catch {
    return; // pages that cannot be read: a guard
  }
  const read = chunk.subarray(0, (count ?? 0) >> 2);
  for (let i = read.indexOf(words[0]); i >= 0; i = read.indexOf(words[0], i + 1)) {
    if (words.every((word, k) => read[i + k] === word)) yield at + BigInt(4 * i);
  }
}

/** Fills a tensor with random bytes. */
export function randomize(tensor: HostTensor): void {
  const { buffer, byteOffset, byteLength } = tensor.view();
  for (let at = 0; at < byteLength; at += 65_536) {
    crypto.getRandomValues(new Uint8Array(buffer, byteOffset + at, Math.min(65_536, byteLength - at)));
  }
}
