/**
 * Functions of the C library that other libraries may call back, and the memory that they write to. They run on any
 * thread, without JavaScript.
 *
 * @module
 */
import { type Address, NULL } from "../../../ffi/address.ts";
import { EAGAIN } from "../../../ffi/libc/errors.ts";
import type { LibCCallbacks } from "../../../ffi/libc_callbacks/functions.ts";
import { SYMBOLS } from "../../../ffi/libc_callbacks/symbols.ts";
import { InteropError } from "../errors.ts";
import type { Undo } from "../life/undo.ts";
import { errno, libc, libcError, partOfLibc } from "./libc.ts";
import { mapPages, PAGE } from "./blocks.ts";
import { bytesAt } from "./pin.ts";
import { cString } from "./text.ts";

/** Before glibc 2.34, only libpthread has semaphores. */
const functions = partOfLibc<LibCCallbacks>("libc_callbacks", SYMBOLS, ["libpthread.so.0", "libc.so.6"]);

/** The shortest piece: a `sem_t` has 32 bytes, and a `sigset_t` 128. */
const SHORTEST = 128;

/** How much is mapped at once: each mapping counts against the kernel's limit. */
const CHUNK = 16 * PAGE;

export interface CallbackMemory {
  readonly address: Address;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same bytes. */
  readonly view: DataView<ArrayBuffer>;
}

/** Pieces without an owner, by length. A Worker that is terminated leaves its own mapped: C may still write to them. */
const free = new Map<number, CallbackMemory[]>();

export function takeCallbackMemory(byteLength: number): CallbackMemory {
  const length = byteLength <= SHORTEST ? SHORTEST : 2 ** Math.ceil(Math.log2(byteLength)); // logarithms are slow
  let pieces = free.get(length);
  if (pieces === undefined) free.set(length, pieces = []);
  if (pieces.length === 0) pieces.push(...newPieces(length));
  return pieces.pop()!;
}

export function giveBackCallbackMemory(memory: CallbackMemory): void {
  memory.bytes.fill(0);
  free.get(memory.bytes.length)!.push(memory);
}

/** Words that calls on other threads read and write: an object, a place for one, a flag. */
export class CallbackWords {
  /** All of them. */
  readonly all: BigUint64Array<ArrayBuffer>;
  readonly #address: Address;

  /** Zeros. `undo` gives them back. */
  constructor(count: number, undo: Undo) {
    const memory = takeCallbackMemory(8 * count);
    undo.push(() => giveBackCallbackMemory(memory));
    this.#address = memory.address;
    this.all = new BigUint64Array(memory.bytes.buffer, memory.bytes.byteOffset, count);
  }

  /** Where a word lies. */
  addressOf(word: number): Address {
    return this.#address + BigInt(8 * word) as Address;
  }

  /** A word as a pointer to an object, for functions that free the object and clear the pointer. */
  place(word: number): BigUint64Array<ArrayBuffer> {
    return this.all.subarray(word, word + 1);
  }
}

/** Where pieces lie: from the first byte to the one after the last. */
const chunks: (readonly [start: bigint, end: bigint])[] = [];

/** True for an address in memory that {@link takeCallbackMemory} returns. */
export function isCallbackMemory(address: bigint): boolean {
  return chunks.some(([start, end]) => start <= address && address < end);
}

function newPieces(length: number): CallbackMemory[] {
  const byteLength = Math.max(CHUNK, length);
  const chunk = mapPages(NULL, byteLength);
  chunks.push([chunk, chunk + BigInt(byteLength)]);
  const { buffer } = bytesAt(chunk, byteLength, "libc", []);
  return Array.from({ length: byteLength / length }, (_, i) => {
    const at = i * length;
    const [bytes, view] = [new Uint8Array(buffer, at, length), new DataView(buffer, at, length)];
    return { address: chunk + BigInt(at) as Address, bytes, view };
  });
}

export interface CCallback {
  /** True if several calls are counted. */
  readonly counts: boolean;
  /** True if the memory is a struct of the program's, whose first eight bytes the call zeroes. */
  readonly takesStruct: boolean;
  prepare(memory: CallbackMemory): void;
  /** How many calls came since the last query, up to `most`. */
  calls(memory: CallbackMemory, most: number): number;
  /** No further call comes. */
  end(memory: CallbackMemory): void;
}

/** What a `sem_t` counts. Taking its count also makes what the caller wrote before visible to this thread. */
const POST: CCallback = {
  counts: true,
  takesStruct: false,
  prepare({ address }) {
    if (functions().sem_init(address, 0, 0) !== 0) throw libcError("sem_init");
  },
  calls({ address }, most) {
    const { sem_trywait } = functions();
    for (let calls = 0; calls < most; calls++) {
      if (sem_trywait(address) === 0) continue;
      if (errno() !== EAGAIN) throw libcError("sem_trywait");
      return calls;
    }
    return most;
  },
  end({ address }) {
    if (functions().sem_destroy(address) !== 0) throw libcError("sem_destroy");
  },
};

/** The first word of a struct. */
const CLEAR: CCallback = {
  counts: false,
  takesStruct: true,
  prepare(memory) {
    assertClearsAWord();
    firstWord(memory)[0] = 1n;
  },
  calls: (memory) => Atomics.load(firstWord(memory), 0) === 0n ? 1 : 0,
  end() {},
};

export const CALLBACKS = { sem_post: POST, sigemptyset: CLEAR } as const satisfies Record<string, CCallback>;

export type CallbackName = keyof typeof CALLBACKS;

/** The first eight bytes: a thread that writes them is the last to write at all. */
function firstWord({ bytes }: CallbackMemory): BigUint64Array<ArrayBuffer> {
  return new BigUint64Array(bytes.buffer, bytes.byteOffset, 1);
}

let clearsAWord = false;

/**
 * Another C library might zero a whole `sigset_t` word by word: the first word would then say too early that it is
 * done.
 */
function assertClearsAWord(): void {
  if (clearsAWord) return;
  const memory = takeCallbackMemory(SHORTEST);
  try {
    memory.bytes.fill(0xff);
    if (functions().sigemptyset(memory.address) !== 0) throw libcError("sigemptyset");
    clearsAWord = memory.bytes.every((byte, i) => byte === (i < 8 ? 0 : 0xff));
  } finally {
    giveBackCallbackMemory(memory);
  }
  if (clearsAWord) return;
  const hint = 'Use "sem_post" where the callback can have an argument of its own.';
  throw new InteropError("This C library's sigemptyset does not zero eight bytes.", { api: "libc", hint });
}

const addresses = new Map<string, Address>();

/** The address of one of them, or of another function of the C library. */
export function callbackAddress(name: CallbackName | "atoi" | "free"): Address {
  let address = addresses.get(name);
  if (address !== undefined) return address;
  address = libc().dlsym?.(NULL, cString(name)) || undefined; // RTLD_DEFAULT: it is loaded, as all of the C library is
  if (address === undefined) throw new InteropError(`This C library has no ${name}.`, { api: "libc", fn: "dlsym" });
  addresses.set(name, address);
  return address;
}

/**
 * Calls a function of other code by its address, `void (*)(void *argument)`, in a twentieth of the time that Deno takes
 * for that. It is the comparison function of a search in a list of one element: the C library calls it once, with the
 * key as the argument.
 */
export function callAt(fn: Address, argument: Address): void {
  libc().bsearch(argument, argument, 1n, 1n, fn);
}
