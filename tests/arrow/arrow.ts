import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { ledger } from "@samepage/interop";
import { ARROW, hasWheels } from "../../tasks/setup/wheels.ts";
import { ArrowArray, ArrowSchema } from "../../ffi/arrow/structs.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import { compile } from "../guard/cxx.ts";

const isHere = await hasWheels(ARROW) && Deno.build.arch === "x86_64";

/** Registers a test that needs Arrow's header, and a compiler. */
export function arrowTest(name: string, fn: () => void | Promise<void>): void {
  Deno.test({ name: isHere ? name : `${name} (skipped: needs ${ARROW.folder} and x86-64)`, ignore: !isHere, fn });
}

/** What C has released on other threads ends in the background. */
export async function untilEmpty(): Promise<void> {
  for (let i = 0; i < 30_000 && Object.keys(ledger.alive).length > 0; i++) await new Promise((go) => setTimeout(go, 1));
  assertEquals(ledger.alive, {});
}

/** A test after which nothing is alive. */
export function emptied(fn: () => void | Promise<void>): () => Promise<void> {
  return async () => {
    await fn();
    await untilEmpty();
  };
}

const SYMBOLS = {
  produce_schema: { parameters: ["u64"], result: "void" },
  produce_array: { parameters: ["u64"], result: "void" },
  released_structs: { parameters: [], result: "i32" },
  move_array: { parameters: ["u64", "u64"], result: "void" },
  move_child: { parameters: ["u64", "i64", "u64"], result: "void" },
  is_released: { parameters: ["u64"], result: "i32" },
  release_array: { parameters: ["u64"], result: "void" },
  release_schema: { parameters: ["u64"], result: "void" },
  release_on_thread: { parameters: ["u64"], result: "void" },
  sum_f32: { parameters: ["u64"], result: "f64" },
  child_of: { parameters: ["u64", "i64"], result: "u64" },
} as const;

async function open() {
  const path = await compile(
    fromFileUrl(new URL("arrow.cpp", import.meta.url)),
    `-I${ARROW.folder}/pyarrow/include`,
    "-pthread",
  );
  return Deno.dlopen(path, SYMBOLS).symbols;
}

/** The other library. */
export const theirs: Awaited<ReturnType<typeof open>> = isHere ? await open() : undefined!;

/** Memory of the other library's, which this module keeps. */
const kept: ArrayBufferView[] = [];

export function memory(bytes: ArrayBufferView): bigint {
  kept.push(bytes);
  return addressOf(bytes, "test");
}

function text(value: string): bigint {
  return memory(new TextEncoder().encode(`${value}\0`));
}

/** A struct of words, as the other library fills it in; it has no release function unless that produces it. */
export class Words<N extends string> {
  readonly address: bigint;
  readonly view: DataView<ArrayBuffer>;
  readonly #fields: Readonly<Record<N, { readonly offset: number }>>;

  constructor(
    { size, fields }: { readonly size: number; readonly fields: Readonly<Record<N, { readonly offset: number }>> },
  ) {
    const bytes = new Uint8Array(size);
    this.address = memory(bytes);
    this.view = new DataView(bytes.buffer);
    this.#fields = fields;
  }

  get(name: N): bigint {
    return this.view.getBigUint64(this.#fields[name].offset, true);
  }

  set(values: Partial<Readonly<Record<N, bigint>>>): this {
    for (const [name, value] of Object.entries(values) as [N, bigint][]) {
      this.view.setBigUint64(this.#fields[name].offset, value, true);
    }
    return this;
  }
}

export type Schema = Words<keyof typeof ArrowSchema.fields>;
export type Data = Words<keyof typeof ArrowArray.fields>;

export interface Produced {
  readonly schema: Schema;
  readonly array: Data;
}

/** What the other library describes. */
export function produced(
  format: string,
  { length, offset = 0n, buffers, children = [], name = "" }: {
    readonly length: bigint;
    readonly offset?: bigint;
    readonly buffers: readonly bigint[];
    readonly children?: readonly Produced[];
    readonly name?: string;
  },
): Produced {
  const of = (all: readonly { readonly address: bigint }[]) =>
    all.length === 0 ? 0n : memory(BigUint64Array.from(all, ({ address }) => address));
  const n_children = BigInt(children.length);
  const schema = new Words(ArrowSchema).set({
    ...{ format: text(format), name: text(name), flags: 2n, n_children },
    children: of(children.map(({ schema }) => schema)),
  });
  const array = new Words(ArrowArray).set({
    ...{ length, offset, n_buffers: BigInt(buffers.length), n_children },
    buffers: memory(BigUint64Array.from(buffers)),
    children: of(children.map(({ array }) => array)),
  });
  theirs.produce_schema(schema.address);
  theirs.produce_array(array.address);
  return { schema, array };
}

/** Numbers of the other library's. */
export function numbers(format: string, elements: ArrayBufferView & { readonly length: number }, name = ""): Produced {
  return produced(format, { length: BigInt(elements.length), buffers: [0n, memory(elements)], name });
}

/** A place for a struct that moves. */
export function place(): bigint {
  return memory(new Uint8Array(ArrowArray.size));
}
