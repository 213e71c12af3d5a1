import type { Address } from "../../../ffi/address.ts";
import { mapBlock, PAGE } from "../../core/native/blocks.ts";
import { viewAt } from "../memory.ts";
import { type AllocatorClass, functionsOf, VIRTUAL } from "./native.ts";

/** The words of an object: the address of its table, which is all that C++ uses; the state that isolates share; the table. */
const WORD = { table: 0, previous: 1, holders: 2, offsetToTop: 4, typeInfo: 5, functions: 6 } as const;
const WORDS = WORD.functions + VIRTUAL.length;

/** A `cv::MatAllocator` of ours, in memory that all isolates see and that is never freed. */
export class AllocatorObject {
  readonly address: Address;
  readonly #words: BigUint64Array<ArrayBuffer>;

  constructor(address: Address) {
    this.address = address;
    this.#words = new BigUint64Array(viewAt(address, WORDS * 8).buffer as ArrayBuffer, 0, WORDS);
  }

  get previous(): Address {
    return this.#words[WORD.previous] as Address;
  }

  set previous(allocator: Address) {
    this.#words[WORD.previous] = allocator;
  }

  isOf({ functions }: AllocatorClass): boolean {
    return functionsOf(this.address).allocate === functions.allocate;
  }

  get holders(): number {
    return Number(this.#words[WORD.holders]);
  }

  set holders(count: number) {
    this.#words[WORD.holders] = BigInt(count);
  }
}

/** Makes an object, which is never freed, because Mats that it has made may outlive the isolate. */
export function makeAllocator({ typeInfo, functions }: AllocatorClass): AllocatorObject {
  const { address } = mapBlock({ byteLength: PAGE, align: PAGE, sharable: false, guard: false });
  const words = new BigUint64Array(viewAt(address, WORDS * 8).buffer as ArrayBuffer, 0, WORDS);
  words[WORD.table] = address + BigInt(WORD.functions * 8);
  words[WORD.typeInfo] = typeInfo;
  VIRTUAL.forEach((name, i) => words[WORD.functions + i] = functions[name]);
  return new AllocatorObject(address);
}

/** The allocator of ours at an address, made by any isolate; undefined for another library's. */
export function allocatorAt(address: Address): AllocatorObject | undefined {
  const table = viewAt(address, 8).getBigUint64(0, true);
  return table === address + BigInt(WORD.functions * 8) ? new AllocatorObject(address) : undefined; // only ours have it inside
}
