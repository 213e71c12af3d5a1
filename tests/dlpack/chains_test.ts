// Tensors that are sliced, mapped, lent and taken back in random order, against a model that knows who may use which bytes.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  type Access,
  AccessError,
  host,
  type HostTensor,
  ledger,
  MapperGraph,
  NoRouteError,
  type Tensor,
} from "@samepage/interop";
import { fromDLPack, toDLPack } from "@samepage/interop/dlpack";
import { OpenCLContext, type OpenCLTensor } from "@samepage/interop/opencl";
import type { Address } from "../../ffi/address.ts";
import type { Grant } from "../../src/core/memory/grant.ts";
import { peer } from "./peer.ts";

/** Bytes are used in blocks, which every driver takes as parts of a buffer. */
const [BLOCK, BLOCKS] = [128, 8];

type Use = "read" | "read-write";

/** Someone who has some of the bytes: a tensor, or other code by a loan. */
interface Holder {
  readonly grant: Grant;
  readonly tensor?: Tensor;
  readonly access: Use;
  readonly start: number;
  readonly end: number;
  /** What those of one family lend is judged together: the owners of the block, other code and who has bytes from it. */
  readonly family: object;
  /** The family that lent it. */
  readonly lender: object | undefined;
  /** A loan has its struct here until that is released, and the tensor that was made of it. */
  struct?: Address | undefined;
  taker?: Holder;
  ended: boolean;
}

/** Law 3, block by block. */
function may(all: readonly Holder[], holder: Holder, access: Use): boolean {
  if (holder.ended || (access === "read-write" && holder.access === "read")) return false;
  return !all.some((other) =>
    !other.ended && other.lender === holder.family && other.start < holder.end && holder.start < other.end &&
    (access === "read-write" || other.access === "read-write")
  );
}

const anyOp = fc.record({
  what: fc.constantFrom(
    ...["slice", "map", "lend", "lend", "lend", "take", "take", "attach", "attach", "attach"] as const,
    ...["write", "write", "read", "foreign write", "end", "end", "release"] as const,
  ),
  whom: fc.nat(1000),
  access: fc.constantFrom("read", "read-write", "read-write"),
  from: fc.oneof(fc.constant(0), fc.nat(BLOCKS - 1)),
  count: fc.oneof(fc.constant(BLOCKS), fc.integer({ min: 1, max: BLOCKS })),
});

Deno.test("tensors of one block, lent to other code and back in any order, have one writer or many readers", () => {
  using cl = OpenCLContext.open();
  using graph = new MapperGraph([host, cl]);
  const before = ledger.alive;
  /** A map; undefined where a part of the same bytes is mapped as another buffer: two over the same bytes are undefined. */
  const mapped = (tensor: Tensor, access: Access) => {
    try {
      return graph.map(tensor, cl, { access });
    } catch (error) {
      if (error instanceof NoRouteError && error.message.includes("overlap a live map")) return undefined;
      throw error;
    }
  };
  let takenFromWriters = 0;
  fc.assert(
    fc.property(fc.array(anyOp, { maxLength: 40, size: "max" }), (ops) => {
      using whole = host.allocate({ shape: [BLOCK * BLOCKS], dtype: "u8" });
      const memory = whole.address;
      const eye = new Uint8Array(
        Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(memory)!, whole.byteLength),
      );
      const expected = new Uint8Array(eye.length);
      const owners = {};
      const all: Holder[] = [];
      const views: { view: Uint8Array; holder: Holder; access: Use }[] = [];
      let value = 0;
      const fill = ({ start, end }: Holder) => expected.fill(++value, start * BLOCK, end * BLOCK);
      const add = (of: Pick<Holder, "grant" | "family" | "lender"> & Partial<Holder>) => {
        const { start, end, access } = of.grant;
        const holder = { start: start / BLOCK, end: end / BLOCK, access: access as Use, ended: false, ...of };
        all.push(holder);
        return holder;
      };
      /** Adds a tensor over memory that was found by its address: it belongs to other code's loan of it, or to an owner. */
      const addFound = (tensor: Tensor) => {
        const { grant } = tensor;
        const loan = all.find((one) => one.grant === grant.loan);
        assert(!loan?.ended, "it came back from a loan that is over");
        if (loan?.access === "read-write") takenFromWriters++;
        return add({ grant, tensor, family: loan?.family ?? owners, lender: loan?.lender });
      };
      const released = (loan: Holder) => {
        loan.ended = true;
        loan.struct = undefined;
      };
      const release = (loan: Holder) => {
        if (loan.struct !== undefined) peer.lend_and_release(loan.struct);
        released(loan);
      };
      const end = (holder: Holder) => {
        if (holder.ended) return;
        const ending = all.filter((one) => !one.ended && one.grant.isWithin(holder.grant));
        // A loan ends by its consumer, on this thread.
        for (const one of ending) {
          if (one.taker !== undefined && !ending.includes(one.taker)) end(one.taker);
          else if (one.struct !== undefined) release(one);
        }
        holder.tensor![Symbol.dispose]();
        for (const one of ending) one.ended = true;
        for (const one of all) if (one.taker?.ended) released(one);
      };
      using _rest = {
        [Symbol.dispose]() { // also after a failure: the end of the whole waits for all loans
          for (const one of all.toReversed()) {
            if (one.tensor !== undefined) end(one);
            else if (one.taker === undefined) release(one);
          }
        },
      };
      add({ grant: whole.grant, tensor: whole, family: owners, lender: undefined });
      for (const { what, whom, access, from, count } of ops) {
        const isLoan = ["take", "foreign write", "release"].includes(what);
        const some = all.filter((one) => !one.ended && (one.tensor === undefined) === isLoan);
        if (some.length === 0) continue;
        const holder = some[whom % some.length];
        const { tensor, family } = holder;
        const start = holder.start + from % (holder.end - holder.start);
        const part = { ...holder, start, end: Math.min(holder.end, start + count) };
        const at = { shape: [(part.end - start) * BLOCK], dtype: "u8" } as const;
        const isHost = tensor !== undefined && host.is(tensor);
        switch (what) {
          case "slice": {
            if (!may(all, part, access)) break;
            const byteOffset = tensor!.layout.byteOffset + (start - holder.start) * BLOCK;
            const slice = tensor!.slice({ ...at, byteOffset }, { access });
            add({ grant: slice.grant, tensor: slice, family: {}, lender: family });
            break;
          }
          case "map": {
            if (!isHost || !may(all, holder, access)) break;
            const map = mapped(tensor, access);
            if (map !== undefined) add({ grant: map.grant, tensor: map, family: {}, lender: family });
            break;
          }
          case "lend": {
            if (!isHost) break;
            if (!may(all, holder, access)) {
              assertThrows(() => toDLPack(tensor, { access }), AccessError);
              break;
            }
            const loan = toDLPack(tensor, { access });
            const [grant] = loan.resource.grants;
            add({ grant, family: {}, lender: family, struct: loan.handOver() });
            break;
          }
          case "take":
            if (holder.struct === undefined) break;
            holder.taker = addFound(fromDLPack(holder.struct, { contexts: [host] }));
            holder.struct = undefined;
            break;
          case "attach": {
            const place = { handle: memory + BigInt(start * BLOCK), byteOffset: 0, memory: "host" } as const;
            addFound(host.arrays.attach(place, at, { access }));
            break;
          }
          case "write":
            if (!may(all, holder, "read-write")) {
              if (isHost) assertThrows(() => tensor.view({ access: "read-write" }), AccessError);
            } else if (isHost) {
              const view = tensor.view() as Uint8Array;
              fill(holder);
              view.fill(value);
              views.push({ view, holder, access: "read-write" });
            } else {
              fill(holder);
              cl.queue.fill(tensor as OpenCLTensor, value % 256);
              cl.queue.finish();
            }
            break;
          case "read":
            if (!isHost) break;
            if (may(all, holder, "read")) {
              const view = (tensor as HostTensor<"u8">).view({ access: "read" });
              assertEquals(view, expected.subarray(holder.start * BLOCK, holder.end * BLOCK));
              views.push({ view, holder, access: "read" });
            } else assertThrows(() => (tensor as HostTensor).view({ access: "read" }), AccessError);
            break;
          case "foreign write": // by who has got the loan, as far as samepage has lent nothing of that
            if (!may(all, holder, "read-write")) break;
            fill(holder);
            eye.fill(value, holder.start * BLOCK, holder.end * BLOCK);
            break;
          case "end":
            if (holder !== all[0]) end(holder);
            break;
          case "release":
            if (holder.taker === undefined) release(holder);
        }
        assertEquals(eye, expected);
        for (const { view, holder, access } of views) {
          if (view.length > 0) assert(may(all, holder, access), "a view reaches bytes that its tensor may not use");
        }
      }
    }),
    { numRuns: 400 },
  );
  assert(takenFromWriters > 20, `${takenFromWriters}`);
  assertEquals(ledger.alive, before);
});
