/** Broken structs: each is a typed error, before anything that cannot be read is read. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, host, InteropError, LayoutError, ledger } from "@samepage/interop";
import { fromArrow } from "@samepage/interop/arrow";
import { mapPages, PAGE, reservePages, unmapPages } from "../../src/core/native/blocks.ts";
import { bytesAt } from "../../src/core/native/pin.ts";
import { arrowTest, memory, numbers, type Produced, produced, theirs } from "./arrow.ts";

const NONE = 0x10n; // no page is there
const FAR = 0xffff_ffff_ffff_fff8n;

function pairs(count: number, ...parts: (number | string)[]): bigint {
  const bytes = [count, ...parts].map((part) => {
    return typeof part === "string" ? new TextEncoder().encode(part) : new Uint8Array(new Int32Array([part]).buffer);
  });
  return memory(new Uint8Array(bytes.flatMap((part) => [...part])));
}

function tensorOf(about: string): Produced {
  const one = produced("+w:4", { length: 1n, buffers: [0n], children: [numbers("f", new Float32Array(4))] });
  const name = "arrow.fixed_shape_tensor";
  const [key, value] = ["ARROW:extension:name", "ARROW:extension:metadata"];
  one.schema.set({ metadata: pairs(2, key.length, key, name.length, name, value.length, value, about.length, about) });
  return one;
}

/** A list of two, over four elements unless the case changes that. */
function lists(): Produced & { readonly items: Produced } {
  const items = numbers("f", new Float32Array(4));
  return { ...produced("+w:2", { length: 2n, buffers: [0n], children: [items] }), items };
}

function plain(format = "f"): Produced {
  return numbers(format, new Float32Array(4));
}

type Broken = (one: Produced) => void;
const broken = (change: Broken, format?: string) => () => {
  const one = plain(format);
  change(one);
  return one;
};

const CASES: Readonly<Record<string, readonly [make: () => Produced, message: RegExp, error?: typeof LayoutError]>> = {
  "a schema that was released": [
    broken(({ schema }) => schema.set({ release: 0n })),
    /schema: it was released, or moved/,
  ],
  "an array that was released": [broken(({ array }) => array.set({ release: 0n })), /array: it was released, or moved/],
  "no format": [broken(({ schema }) => schema.set({ format: 0n })), /it has no format/],
  "a format at no address": [broken(({ schema }) => schema.set({ format: NONE })), /cannot be read/],
  "a format at the last address": [broken(({ schema }) => schema.set({ format: FAR })), /cannot be read/],
  "a format without an end": [
    broken(({ schema }) => schema.set({ format: memory(new Uint8Array(3 * PAGE).fill(102)) })),
    /more than 4096 bytes/,
  ],
  "an unknown format": [broken(() => {}, "?"), /which is not an Arrow format/],
  "a list of none": [broken(() => {}, "+w:0"), /"\+w:0", which is not an Arrow format/],
  "booleans": [broken(() => {}, "b"), /single bits/],
  "texts": [broken(() => {}, "u"), /elements are texts/],
  "large texts": [broken(() => {}, "U"), /elements are texts/],
  "timestamps": [broken(() => {}, "tsu:UTC"), /elements are timestamps/],
  "decimals": [broken(() => {}, "d:10,2"), /elements are decimals/],
  "a union": [broken(() => {}, "+ud:0,1"), /a union/],
  "lists of varying length": [broken(() => {}, "+l"), /lists of varying length/],
  "views of texts": [broken(() => {}, "vu"), /elements are texts/],
  "unknown flags": [broken(({ schema }) => schema.set({ flags: 8n })), /unknown flags: 8/],
  "a dictionary": [
    broken(({ schema, array }) => {
      schema.set({ dictionary: plain().schema.address });
      array.set({ dictionary: plain().array.address });
    }),
    /encoded by a dictionary/,
  ],
  "a negative length": [broken(({ array }) => array.set({ length: -1n })), /length is -1/],
  "no elements": [broken(({ array }) => array.set({ length: 0n })), /it has no elements/],
  "a negative offset": [broken(({ array }) => array.set({ offset: -4n })), /offset is -4/],
  "a length beyond 2^53": [broken(({ array }) => array.set({ length: 2n ** 60n })), /length is 1152921504606846976/],
  "a length beyond its memory": [broken(({ array }) => array.set({ length: 2n ** 40n })), /cannot be read/],
  "an offset beyond its memory": [
    broken(({ array }) => array.set({ offset: 2n ** 50n })),
    /cannot be read|beyond all addresses/,
  ],
  "elements beyond all addresses": [
    broken(({ array }) => array.set({ length: 2n ** 52n, buffers: memory(new BigUint64Array([0n, FAR])) })),
    /beyond all addresses/,
    LayoutError,
  ],
  "nulls": [broken(({ array }) => array.set({ null_count: 1n })), /it has 1 null, /],
  "more nulls than elements": [broken(({ array }) => array.set({ null_count: 5n })), /null_count is 5, of 4/],
  "an unknown number of nulls": [
    broken(({ array }) =>
      array.set({ null_count: -1n, buffers: memory(new BigUint64Array([memory(new Uint8Array(1)), 64n])) })
    ),
    /an unknown number of nulls/,
  ],
  "a null_count of -2": [broken(({ array }) => array.set({ null_count: -2n })), /null_count is -2/],
  "one buffer": [broken(({ array }) => array.set({ n_buffers: 1n })), /has 2 buffers, and the array has 1/],
  "a negative number of buffers": [broken(({ array }) => array.set({ n_buffers: -1n })), /n_buffers is -1/],
  "no list of buffers": [broken(({ array }) => array.set({ buffers: 0n })), /cannot be read/],
  "buffers at no address": [broken(({ array }) => array.set({ buffers: NONE })), /cannot be read/],
  "no buffer of elements": [
    broken(({ array }) => array.set({ buffers: memory(new BigUint64Array(2)) })),
    /its buffer of elements is null/,
  ],
  "elements at an odd address": [
    broken(({ array }) => array.set({ buffers: memory(new BigUint64Array([0n, memory(new Float32Array(8)) + 1n])) })),
    /not a multiple of 4/,
    LayoutError,
  ],
  "children of numbers": [
    broken(({ schema, array }) => {
      schema.set({ n_children: 1n });
      array.set({ n_children: 1n });
    }),
    /f has 0 children, and there are 1/,
  ],
  "children in the schema alone": [
    () => {
      const one = lists();
      one.array.set({ n_children: 0n });
      return one;
    },
    /1 in the schema and 0 in the array/,
  ],
  "a child that is null": [
    () => {
      const one = lists();
      one.array.set({ children: memory(new BigUint64Array(1)) });
      return one;
    },
    /child 0 is null/,
  ],
  "a child that was moved": [
    () => {
      const one = lists();
      one.items.array.set({ release: 0n });
      return one;
    },
    /items: it was released, or moved/,
  ],
  "a child at no address": [
    () => {
      const one = lists();
      one.schema.set({ children: memory(new BigUint64Array([NONE])) });
      return one;
    },
    /cannot be read/,
  ],
  "a child that is too short": [
    () => {
      const one = lists();
      one.array.set({ offset: 1n });
      return one;
    },
    /its parent needs 6 elements, and there are 4/,
  ],
  "a child with nulls": [
    () => {
      const one = lists();
      one.items.array.set({ null_count: 2n });
      return one;
    },
    /items: it has 2 nulls/,
  ],
  "lists within each other without an end": [
    () => {
      const one = lists();
      one.schema.set({ children: memory(new BigUint64Array([one.schema.address])) });
      one.array.set({ children: memory(new BigUint64Array([one.array.address])) });
      return one;
    },
    /too deep within each other/,
  ],
  "a record batch without columns": [() => produced("+s", { length: 2n, buffers: [0n] }), /expected 1 to 64 columns/],
  "a record batch of ten million columns": [
    () => {
      const one = produced("+s", { length: 2n, buffers: [0n] });
      one.schema.set({ n_children: 10_000_000n });
      one.array.set({ n_children: 10_000_000n });
      return one;
    },
    /expected 1 to 64 columns, got 10000000/,
  ],
  "a record batch in one": [
    () => {
      const inner = produced("+s", { length: 4n, buffers: [0n], children: [plain()] });
      return produced("+s", { length: 4n, buffers: [0n], children: [inner] });
    },
    /structs within structs/,
  ],
  "a record batch with nulls": [
    () => {
      const one = produced("+s", { length: 4n, buffers: [0n], children: [plain()] });
      one.array.set({ null_count: 1n });
      return one;
    },
    /it has 1 null, /,
  ],
  "a column that is too short": [
    () => produced("+s", { length: 5n, buffers: [0n], children: [plain()] }),
    /column 0: its parent needs 5 elements/,
  ],
  "a name at no address": [broken(({ schema }) => schema.set({ name: NONE })), /cannot be read/],
  "metadata at no address": [
    () => {
      const one = lists();
      one.schema.set({ metadata: NONE });
      return one;
    },
    /cannot be read/,
  ],
  "metadata of a negative length": [
    () => {
      const one = lists();
      one.schema.set({ metadata: pairs(1, -5) });
      return one;
    },
    /metadata has a length of -5/,
  ],
  "metadata of two billion pairs": [
    () => {
      const one = lists();
      one.schema.set({ metadata: pairs(2 ** 31 - 1) });
      return one;
    },
    /metadata has a length of 2147483647/,
  ],
  "a tensor without a shape": [() => tensorOf("{"), /has no shape/],
  "a tensor of a shape that does not fit": [() => tensorOf('{"shape":[3]}'), /has the shape 3, and 4 elements/],
  "a tensor of a negative shape": [() => tensorOf('{"shape":[-2,-2]}'), /has no shape/],
  "a tensor that is permuted": [() => tensorOf('{"shape":[2,2],"permutation":[1,0]}'), /is permuted/],
};

for (const [name, [make, message, error = ArgumentError]] of Object.entries(CASES)) {
  arrowTest(`fromArrow() refuses ${name}`, () => {
    const before = theirs.released_structs();
    const { schema, array } = make();
    const [was, had] = [schema.get("release"), array.get("release")];
    const thrown = assertThrows(() => fromArrow(schema.address, array.address, { contexts: [host] }), error);
    assert(message.test(thrown.message), thrown.message);
    assertEquals([schema.get("release"), array.get("release")], [was, had], "nothing was moved");
    assertEquals([theirs.released_structs(), ledger.alive], [before, {}], "nothing was released, nothing stays");
  });
}

/** A page, and one behind it that nothing may touch. */
function guarded() {
  const block = reservePages(2 * PAGE);
  const page = mapPages(block, PAGE);
  return { end: block + BigInt(PAGE), bytes: bytesAt(page, PAGE, "test", []), free: () => unmapPages(block, 2 * PAGE) };
}

arrowTest(
  "fromArrow() reads nothing behind the end of a page: structs, texts, lists and elements that end there",
  () => {
    const { end, bytes, free } = guarded();
    try {
      const at = (part: ArrayBufferView): bigint => {
        bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), PAGE - part.byteLength);
        return end - BigInt(part.byteLength);
      };
      const refused = (change: (one: ReturnType<typeof lists>) => { schema?: bigint; array?: bigint } | void) => {
        const one = lists();
        const { schema = one.schema.address, array = one.array.address } = change(one) ?? {};
        assertThrows(() => fromArrow(schema, array, { contexts: [host] }), InteropError);
      };
      refused(({ schema }) => ({ schema: at(schema.view) + 8n })); // its last word is missing
      refused(({ array }) => ({ array: at(array.view) + 8n }));
      refused(({ schema }) => void schema.set({ format: at(new TextEncoder().encode("+w:2")) })); // without its end
      refused(({ items }) => void items.array.set({ buffers: at(new BigUint64Array([0n])) })); // one of two
      refused(({ items }) =>
        void items.array.set({ buffers: memory(new BigUint64Array([0n, at(new Float32Array(3))])) })
      );
      refused(({ schema }) => void schema.set({ metadata: at(new Int32Array([1])) })); // without its pair
      refused(({ schema }) => void schema.set({ children: end }));

      const fits = numbers("f", new Float32Array(4));
      fits.array.set({ buffers: memory(new BigUint64Array([0n, at(new Float32Array([1, 2, 3, 4]))])) });
      using tensor = fromArrow(fits.schema.address, fits.array.address, { contexts: [host] });
      assert(host.is(tensor));
      assertEquals([...tensor.view({ access: "read" })], [1, 2, 3, 4]);
    } finally {
      free();
    }
  },
);

arrowTest("fromArrow() refuses metadata of which a page in the middle cannot be read", () => {
  const block = reservePages(4 * PAGE);
  const [first, last] = [mapPages(block, PAGE), mapPages(block + BigInt(3 * PAGE) as typeof block, PAGE)];
  try {
    new DataView(bytesAt(first, PAGE, "test", []).buffer).setInt32(0, 1, true);
    new DataView(bytesAt(first, PAGE, "test", []).buffer).setInt32(4, 3 * PAGE, true);
    const one = lists();
    one.schema.set({ metadata: first });
    const fn = () => fromArrow(one.schema.address, one.array.address, { contexts: [host] });
    assertThrows(fn, ArgumentError, "cannot be read");
    assert(last > first);
  } finally {
    unmapPages(block, 4 * PAGE);
  }
});

/** Pseudo-random numbers, the same in each run. */
function random(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

const ROUNDS = Number(Deno.env.get("SAMEPAGE_ARROW_MUTATIONS") ?? 300);

arrowTest(`fromArrow() of ${ROUNDS} arrays with a word changed throws typed errors, or reads what is there`, () => {
  const next = random(7);
  const words = [0n, 1n, 2n, 8n, -1n, NONE, FAR, 2n ** 31n, 2n ** 47n, 2n ** 63n, 0x7fff_ffff_ffff_ffffn];
  // The release functions and what they read are the producer's own.
  const fields = { schema: ["format", "name", "metadata", "flags", "n_children", "children", "dictionary"] } as const;
  const others = [
    "length",
    "null_count",
    "offset",
    "n_buffers",
    "n_children",
    "buffers",
    "children",
    "dictionary",
  ] as const;
  let taken = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const one = lists();
    const of = next(2) === 0 ? one : one.items;
    const saved = new Uint8Array(of.schema.view.buffer.slice(0));
    const had = new Uint8Array(of.array.view.buffer.slice(0));
    const word = words[next(words.length)];
    if (next(2) === 0) of.schema.set({ [fields.schema[next(fields.schema.length)]]: word });
    else of.array.set({ [others[next(others.length)]]: word });
    try {
      const made = fromArrow(one.schema.address, one.array.address, { contexts: [host] });
      taken++;
      new Uint8Array(of.schema.view.buffer).set(saved); // its release walks the children
      new Uint8Array(of.array.view.buffer).set(had);
      made[Symbol.dispose]();
    } catch (error) {
      assert(error instanceof InteropError, String(error));
    }
    assertEquals(ledger.alive, {});
  }
  assert(taken < ROUNDS, "no change was noticed");
});

arrowTest("fromArrow() refuses a struct in read-only memory, which it could not mark as moved", () => {
  const { mprotect } = Deno.dlopen("libc.so.6", {
    mprotect: { parameters: ["u64", "usize", "i32"], result: "i32" },
  }).symbols;
  const { end, bytes, free } = guarded();
  try {
    const page = end - BigInt(PAGE);
    const before = theirs.released_structs();
    for (const argument of ["schema", "array"] as const) {
      const one = numbers("f", new Float32Array(2));
      bytes.set(new Uint8Array(one[argument].view.buffer));
      assertEquals(mprotect(page, BigInt(PAGE), 1), 0); // PROT_READ
      const [schema, array] = [one.schema, one.array].map((struct) => struct === one[argument] ? page : struct.address);
      const { message } = assertThrows(() => fromArrow(schema, array, { contexts: [host] }), ArgumentError);
      assert(message.startsWith(`${argument}: it lies in memory that is read-only`), message);
      assertEquals(mprotect(page, BigInt(PAGE), 3), 0);
    }
    assertEquals([theirs.released_structs(), ledger.alive], [before, {}]);
  } finally {
    free();
  }
});
