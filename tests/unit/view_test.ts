import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, DisposedError, InteropError } from "../../src/core/errors.ts";
import { imageInfo } from "../../src/core/layout/frame_info.ts";
import { layout, region } from "../../src/core/layout/layout.ts";
import { ledger } from "../../src/core/life/ledger.ts";
import { host } from "../../src/host/context.ts";
import { Frame } from "../../src/core/tensors/frame.ts";
import type { HostTensor } from "../../src/host/tensor.ts";
import { FakeWork } from "./fakes.ts";
import { collect } from "../gc.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

const moment = () => new Promise((resolve) => setTimeout(resolve, 5));
const bytes = (count = 64) => host.allocate({ shape: [count], dtype: "u8" });

/** Is this address still mapped? `mincore` would need another symbol; the kernel's own list says it as well. */
function isMapped(address: bigint): boolean {
  return Deno.readTextFileSync("/proc/self/maps").split("\n").filter((line) => line !== "").some((line) => {
    const [from, to] = line.split(" ")[0].split("-").map((hex) => BigInt(`0x${hex}`));
    return from <= address && address < to;
  });
}

Deno.test(
  "a view is the memory, the same while it is not revoked, and empty after the dispose",
  withEmptyLedger(() => {
    const tensor = host.allocate({ shape: [4], dtype: "u32" });
    const view = tensor.view();
    view[1] = 0x01020304;
    assertStrictEquals(tensor.view(), view);
    assertEquals([...tensor.bytes()].slice(4, 8), [4, 3, 2, 1]);
    const reading = tensor.view({ access: "read" });
    assertStrictEquals(tensor.view({ access: "read" }), reading);
    assertStrictEquals(tensor.view(), view);
    tensor[Symbol.dispose]();
    tensor[Symbol.dispose]();
    for (const stale of [view, reading]) assertEquals([stale.length, stale.buffer.detached], [0, true]);
    assertThrows(() => tensor.view(), DisposedError, "was disposed");
    assertThrows(() => tensor.handle, DisposedError);
  }),
);

Deno.test(
  "views of two kinds by turns are two buffers, not one each time",
  withEmptyLedger(() => {
    using tensor = bytes();
    for (let i = 0; i < 100; i++) tensor.view({ access: i % 2 === 0 ? "read" : "read-write" });
    assertEquals(tensor.grant.allocation.liveViews, 2);
  }),
);

Deno.test(
  "lending for writing takes all views away, for reading the writable ones",
  withEmptyLedger(() => {
    using tensor = bytes();
    const [writable, readable] = [tensor.view(), tensor.view({ access: "read" })];
    const reader = tensor.borrow("read");
    assertEquals([writable.length, readable.length], [0, 64]);
    assertThrows(() => tensor.view(), AccessError, 'lent to its slice [64] u8 for "read"');
    assertEquals(tensor.view({ access: "read" }).length, 64);
    reader[Symbol.dispose]();
    assertEquals(readable.length, 64);
    const writer = tensor.borrow("read-write");
    assertEquals(readable.length, 0);
    assertThrows(() => tensor.view({ access: "read" }), AccessError, "lent to");
    assertThrows(() => tensor.handle, AccessError);
    writer.view()[0] = 7;
    writer[Symbol.dispose]();
    assertEquals(tensor.view()[0], 7);
  }),
);

Deno.test(
  "parts that do not overlap can be lent for writing side by side, and take only their own views away",
  withEmptyLedger(() => {
    using tensor = bytes();
    const part = (start: number) => region(tensor.layout, [start], [16]);
    using first = tensor.slice(part(0));
    const view = first.view();
    using second = tensor.slice(part(16));
    second.view().fill(2);
    view.fill(1);
    assertThrows(() => tensor.slice(part(8)), AccessError, "bytes 0 to 16");
    assertThrows(() => tensor.view(), AccessError);
    using third = tensor.slice(part(32), { access: "read" });
    assertEquals(third.view()[0], 0);
    assertThrows(() => third.view({ access: "read-write" }), AccessError, 'was lent for "read"');
  }),
);

Deno.test(
  "the planes of a frame are lent one by one",
  withEmptyLedger(() => {
    using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 4, height: 2 }));
    const [luma, chroma] = frame.planes;
    const stale = luma.view();
    using lent = luma.borrow("read-write");
    assertEquals(stale.length, 0);
    chroma.bytes().fill(128);
    lent.bytes().fill(16);
    assertThrows(() => frame.borrow("read"), AccessError);
    assertThrows(() => luma.view(), AccessError);
  }),
);

Deno.test(
  "the parent disposed first: the child's views are gone, and it names the parent",
  withEmptyLedger(() => {
    const parent = bytes();
    const child = parent.borrow("read-write");
    const grandchild = child.borrow("read");
    const view = grandchild.view();
    parent[Symbol.dispose]();
    assertEquals(view.length, 0);
    assertThrows(() => grandchild.view(), DisposedError, `was disposed with ${child.name}`);
    assertThrows(() => child.view(), DisposedError, `was disposed with ${parent.name}`);
    child[Symbol.dispose]();
    grandchild[Symbol.dispose]();
  }),
);

Deno.test(
  "a lend holds the memory though its tensor is disposed, and ends with its promise",
  withEmptyLedger(async () => {
    const tensor = bytes();
    const stale = tensor.view();
    const { promise, resolve } = Promise.withResolvers<void>();
    let seen: Uint8Array | undefined;
    const lend = tensor.lend(async (view) => {
      seen = view;
      assertThrows(() => tensor.view(), AccessError, "lent to its promise (tensor.lend) for");
      await promise;
      view.fill(9);
      return view[63];
    });
    await moment();
    assertEquals(stale.length, 0);
    tensor[Symbol.dispose]();
    assertThrows(() => tensor.view(), DisposedError);
    assertEquals([tensor.resource.state, seen!.length], ["closing", 64]);
    resolve();
    assertEquals(await lend, 9);
    assertEquals(seen!.length, 0);
    await moment();
    assertEquals(tensor.resource.state, "freed");
  }),
);

Deno.test(
  "lends for reading live side by side, one for writing alone; an asynchronous dispose waits for them",
  withEmptyLedger(async () => {
    const tensor = bytes();
    const { promise, resolve } = Promise.withResolvers<void>();
    const readers = [1, 2].map(() => tensor.lend(async (view) => (await promise, view.length), { access: "read" }));
    await assertRejects(() => tensor.lend(() => {}), AccessError, "lent to its promise (tensor.lend) for");
    const disposed = tensor[Symbol.asyncDispose]();
    await moment();
    assertEquals(tensor.resource.state, "closing");
    resolve();
    assertEquals(await Promise.all(readers), [64, 64]);
    await disposed;
    assertEquals(tensor.resource.state, "freed");
  }),
);

Deno.test(
  "a lend that fails gives the memory back, and fails with what was thrown",
  withEmptyLedger(async () => {
    using tensor = bytes();
    const failure = new Error("the file is gone");
    for (
      const use of [() => Promise.reject(failure), () => {
        throw failure;
      }]
    ) {
      assertStrictEquals(await assertRejects(() => tensor.lend(use)), failure);
    }
    assertEquals(tensor.view().length, 64);
  }),
);

Deno.test(
  "a lend waits for the work that was submitted before",
  withEmptyLedger(async () => {
    await using tensor = bytes();
    const work = new FakeWork();
    tensor.usedBy(work.fence);
    assertThrows(() => tensor.view(), AccessError, "used by work that has not finished");
    const seen: boolean[] = [];
    const lend = tensor.lend(() => void seen.push(work.over));
    await moment();
    work.end();
    await lend;
    assertEquals(seen, [true]);
  }),
);

/** A tensor, and what shares its bytes; each is asked in turn while a part of the tensor is on its way back. */
const askers: Record<string, (tensor: HostTensor, undo: DisposableStack) => HostTensor | Frame<HostTensor>> = {
  "the tensor": (tensor) => tensor,
  "a peer": ({ address }, undo) => undo.use(host.wrap(address, { shape: [64], dtype: "u8" })),
  "a frame of it": (tensor) => Frame.of([tensor], imageInfo({ format: "GRAY8", width: 8, height: 8 })),
};

for (const [who, ask] of Object.entries(askers)) {
  Deno.test(
    `finished() of ${who} waits for what is on the way back, and throws what it failed with, once`,
    withEmptyLedger(async () => {
      for (const failure of [undefined, new InteropError("the kernel failed")]) {
        using undo = new DisposableStack();
        const tensor = undo.use(host.allocate({ shape: [8, 8], dtype: "u8" }));
        const asker = ask(tensor, undo);
        const work = new FakeWork("gated", failure);
        tensor.borrow("read-write").disposeAfter(work.fence);
        let settled = false;
        const finished = asker.finished().then(() => undefined, (error) => error).finally(() => settled = true);
        await moment();
        assertEquals(settled, false);
        work.end();
        assertStrictEquals(await finished, failure);
        assertEquals(tensor.view().length, 64);
        assertEquals(tensor.grant.lendsNothing, true);
      }
    }),
  );
}

Deno.test(
  "finished() waits for a borrower of a living slice, and for an asyncDispose under way",
  withEmptyLedger(async () => {
    using tensor = bytes();
    using slice = tensor.slice(region(tensor.layout, [0], [32]));
    const work = new FakeWork("gated");
    const child = slice.borrow("read-write");
    child.usedBy(work.fence);
    const disposed = child[Symbol.asyncDispose]();
    const order: string[] = [];
    const waits = [
      disposed.then(() => order.push("disposed")),
      slice.finished().then(() => order.push("slice")),
      tensor.finished().then(() => order.push("tensor")),
    ];
    await moment();
    assertEquals(order, []);
    work.end();
    await Promise.all(waits);
    assertEquals(slice.view().length, 32);
  }),
);

for (const dispose of ["dispose", "asyncDispose"] as const) {
  Deno.test(
    `${dispose}() does not throw what finished() has thrown, and throws what else failed`,
    withEmptyLedger(async () => {
      const [seen, other] = [new InteropError("the kernel failed"), new InteropError("another failed")];
      const end = async (whole: HostTensor | Frame<HostTensor>) => {
        if (dispose === "dispose") whole[Symbol.dispose]();
        else await whole[Symbol.asyncDispose]();
      };
      using tensor = host.allocate({ shape: [8, 8], dtype: "u8" });
      const frame = () => Frame.of([tensor.borrow("read-write")], imageInfo({ format: "GRAY8", width: 8, height: 8 }));
      for (const make of [() => tensor.borrow("read-write"), frame]) {
        const [first, second] = [make(), new FakeWork("device", seen)];
        first.usedBy(second.fence);
        second.end();
        assertStrictEquals(await assertRejects(() => first.finished()), seen);
        await end(first);
        assertEquals(tensor.view().length, 64);

        const [borrower, late] = [make(), new FakeWork("gated", other)];
        borrower.usedBy(second.fence);
        assertStrictEquals(await assertRejects(() => borrower.finished()), seen);
        await borrower.finished();
        borrower.usedBy(late.fence);
        late.end();
        assertStrictEquals(await assertRejects(() => end(borrower)), other);
      }
    }),
  );
}

Deno.test(
  "finished() leaves the failure of a map to the asyncDispose of it that is under way",
  withEmptyLedger(async () => {
    using tensor = bytes();
    const failure = new InteropError("the kernel failed");
    const work = new FakeWork("gated", failure);
    const child = tensor.borrow("read-write");
    child.usedBy(work.fence);
    const finished = tensor.finished();
    const rejected = assertRejects(() => child[Symbol.asyncDispose]());
    const behind = tensor.finished();
    work.end();
    assertStrictEquals(await rejected, failure);
    await Promise.all([finished, behind]);
    assertEquals(tensor.view().length, 64);
  }),
);

Deno.test(
  "finished() of a part waits for a reader of the whole that is on its way back, and not for one beside the part",
  withEmptyLedger(async () => {
    using tensor = bytes();
    using first = tensor.slice(region(tensor.layout, [0], [32]), { access: "read" });
    using last = tensor.slice(region(tensor.layout, [32], [32]), { access: "read" });
    const reader = tensor.slice(region(tensor.layout, [0], [16]), { access: "read" });
    const work = new FakeWork("gated");
    reader.disposeAfter(work.fence);
    await last.finished();
    let finished = false;
    const waited = first.finished().then(() => finished = true);
    await moment();
    assertEquals(finished, false);
    work.end();
    await waited;
  }),
);

Deno.test(
  "lend() waits for bytes on their way back, and takes those at once that have no work left",
  withEmptyLedger(async () => {
    await using tensor = bytes();
    const work = new FakeWork("gated");
    tensor.borrow("read-write").disposeAfter(work.fence);
    assertThrows(() => tensor.view(), AccessError, "Await tensor.finished() first");
    const seen: boolean[] = [];
    const lend = tensor.lend(() => void seen.push(work.over));
    await moment();
    assertEquals(seen, []);
    work.end();
    await lend;
    const over = new FakeWork();
    over.end();
    tensor.borrow("read-write").disposeAfter(over.fence);
    const atOnce = tensor.lend(() => void seen.push(true));
    assertEquals(seen, [true, true]);
    await atOnce;
  }),
);

Deno.test(
  "a file read in flight when the tensor is disposed writes into memory that is still there",
  withEmptyLedger(async () => {
    const path = await Deno.makeTempFile();
    const size = 1 << 22;
    await Deno.writeFile(path, new Uint8Array(size).fill(5));
    for (let i = 0; i < 5; i++) {
      const tensor = bytes(size);
      using file = await Deno.open(path);
      const lend = tensor.lend(async (view) => {
        const read = await file.read(view);
        return [read, view[0], view[read! - 1]];
      });
      await Promise.resolve();
      tensor[Symbol.dispose]();
      const [read, first, last] = await lend;
      assert(read! > 0);
      assertEquals([first, last], [5, 5]);
    }
    await moment();
    await Deno.remove(path);
  }),
);

const movers: Record<string, (buffer: ArrayBuffer) => unknown> = {
  "transfer()": (buffer) => buffer.transfer(),
  "structuredClone": (buffer) => structuredClone(buffer, { transfer: [buffer] }),
  "postMessage to a Worker": (buffer) => {
    const source = "data:application/javascript,onmessage = ({ data }) => { new Uint8Array(data).fill(1); close(); }";
    new Worker(source, { type: "module" }).postMessage(buffer, [buffer]);
  },
};
for (const [how, move] of Object.entries(movers)) {
  Deno.test(
    `a view moved away by ${how}: its memory is never unmapped, and a warning says so once`,
    withEmptyLedger(async () => {
      const before = ledger.quarantinedBytes;
      const tensor = bytes(8192);
      const { address } = tensor;
      const moved = move(tensor.view().buffer);
      move(tensor.view().buffer);
      const warnings = await warningsOf(() => tensor[Symbol.dispose]());
      assertEquals(warnings.length, 1);
      assert(warnings[0].includes("8192 bytes"));
      assertEquals(ledger.quarantinedBytes - before, 8192);
      assert(isMapped(address) && isMapped(address + 4096n));
      if (moved instanceof ArrayBuffer) new Uint8Array(moved).fill(3);
      await moment();
    }, { quarantined: 8192 }),
  );
}

Deno.test(
  "memory that was not moved away is unmapped",
  withEmptyLedger(() => {
    const tensor = bytes(1 << 20);
    const { address } = tensor;
    tensor.view().fill(1);
    assert(isMapped(address));
    tensor[Symbol.dispose]();
    assert(!isMapped(address));
  }),
);

Deno.test(
  "a moved view cannot be wrapped: samepage knows the memory",
  withEmptyLedger(async () => {
    const tensor = bytes();
    const moved = tensor.view().buffer.transfer();
    assertThrows(() => host.wrap(moved), ArgumentError);
    assertEquals(moved.byteLength, 64);
    await warningsOf(() => tensor[Symbol.dispose]());
  }, { quarantined: 64 }),
);

Deno.test(
  "a view keeps its tensor alive; when both are forgotten, the memory is given back with a warning",
  withEmptyLedger(async () => {
    let address = 0n;
    let view: Uint8Array | undefined;
    const forget = () => {
      const tensor = bytes();
      address = tensor.address;
      view = tensor.view();
    };
    const quarantined = ledger.quarantinedBytes;
    forget();
    const early = await warningsOf(collect);
    assertEquals(early, []);
    view!.fill(4);
    assertEquals(ledger.alive["host.block"], 1);
    const late = await warningsOf(async () => {
      view = undefined;
      await collect();
    });
    assertEquals(late.length, 1);
    assert(late[0].includes("was never disposed"));
    // The view might have been moved away unseen: the pages are given back, the addresses are not.
    assert(isMapped(address));
    assertEquals(ledger.quarantinedBytes - quarantined, 64);
  }, { quarantined: 64 }),
);

Deno.test(
  "a forgotten tensor that was never looked at is unmapped with a warning",
  withEmptyLedger(async () => {
    let address = 0n;
    const warnings = await warningsOf(async () => {
      (() => {
        address = bytes(1 << 20).address; // small ones share a mapping
      })();
      await collect();
    });
    assertEquals(warnings.length, 1);
    assert(!isMapped(address));
  }),
);

Deno.test(
  "a forgotten child is given back before its parent, which it kept alive",
  withEmptyLedger(async () => {
    const warnings = await warningsOf(async () => {
      const child: { it: HostTensor | undefined } = { it: undefined };
      (() => {
        child.it = bytes().borrow("read-write");
      })();
      await collect();
      assertEquals(child.it!.resource.state, "live");
      child.it = undefined;
      await collect();
    });
    assert(warnings.length >= 1 && warnings.length <= 2);
  }),
);

Deno.test(
  "what was disposed is not finalized",
  withEmptyLedger(async () => {
    const warnings = await warningsOf(async () => {
      (() => {
        const parent = bytes();
        parent.borrow("read").view();
        parent[Symbol.dispose]();
        using frame = host.allocateFrame(imageInfo({ format: "I420", width: 4, height: 4 }));
        frame.planes[1].view();
      })();
      await collect();
    });
    assertEquals(warnings, []);
  }),
);

Deno.test(
  "two wraps of the same bytes: what one lends is lent of both, and the last one frees",
  withEmptyLedger(() => {
    const owner = bytes(1 << 20); // small ones share a mapping
    const peer = host.wrap(owner.handle, { shape: [32], dtype: "u8", byteOffset: 16 });
    owner.view()[16] = 5;
    const view = peer.view();
    assertEquals(view[0], 5);
    const elsewhere = owner.slice(region(owner.layout, [0], [16]));
    assertEquals(view.length, 32);
    elsewhere[Symbol.dispose]();
    const child = owner.slice(region(owner.layout, [40], [16]));
    assertEquals(view.length, 0);
    assertThrows(() => peer.view(), AccessError, `${peer.name} cannot be used`);
    child[Symbol.dispose]();
    const { address } = owner;
    owner[Symbol.dispose]();
    assert(isMapped(address));
    assertEquals(peer.view()[0], 5);
    peer[Symbol.dispose]();
    assert(!isMapped(address));
  }),
);

Deno.test(
  "release gives the buffer back, and takes every view away",
  withEmptyLedger(() => {
    const buffer = new Uint8Array([1, 2, 3]);
    const tensor = host.wrap(buffer);
    assertEquals(buffer.length, 0);
    const view = tensor.view();
    view[0] = 9;
    const back = tensor.release();
    assertEquals([view.length, [...new Uint8Array(back)]], [0, [9, 2, 3]]);
    assertThrows(() => tensor.release(), DisposedError);
    const again = host.wrap(back);
    assertEquals(again.view()[0], 9);
    again[Symbol.dispose]();
    using allocated = bytes();
    assertThrows(() => allocated.release(), ArgumentError, "not made from a JavaScript buffer");
  }),
);

Deno.test(
  "release is refused while a promise or a peer has the memory, and then nothing has happened",
  withEmptyLedger(async () => {
    const tensor = host.wrap(new Uint8Array(64));
    const slice = tensor.slice(layout({ shape: [8], dtype: "u8" }));
    const { promise, resolve } = Promise.withResolvers<void>();
    const lend = slice.lend(() => promise);
    assertThrows(() => tensor.release(), AccessError, "held by a promise");
    resolve();
    await lend;
    const peer = host.wrap(tensor.address, { shape: [64], dtype: "u8" });
    assertThrows(() => tensor.release(), AccessError, "shared with another tensor");
    peer[Symbol.dispose]();
    assertEquals(tensor.release().byteLength, 64);
    assertThrows(() => slice.view(), DisposedError);
  }),
);

Deno.test(
  "a buffer released after one of its views escaped comes back as a copy",
  withEmptyLedger(async () => {
    const tensor = host.wrap(new Uint8Array([1, 2, 3]));
    const moved = new Uint8Array(tensor.view().buffer.transfer());
    let back = new ArrayBuffer(0);
    const warnings = await warningsOf(() => {
      back = tensor.release();
    });
    assertEquals(warnings.length, 1);
    moved.fill(7);
    assertEquals([...new Uint8Array(back)], [1, 2, 3]);
  }, { quarantined: 3 }),
);

Deno.test(
  "an error inside using is thrown as it is",
  withEmptyLedger(() => {
    const failure = new Error("mine");
    assertStrictEquals(
      assertThrows(() => {
        using tensor = bytes();
        tensor.view();
        throw failure;
      }),
      failure,
    );
  }),
);

Deno.test(
  "where the dispose fails too, the user's own error is the suppressed one",
  withEmptyLedger(() => {
    const mine = new Error("mine");
    const work = new FakeWork("device", new InteropError("the kernel failed"));
    const error = assertThrows(() => {
      using tensor = bytes();
      tensor.usedBy(work.fence);
      throw mine;
    }, SuppressedError);
    assertStrictEquals(error.error, work.failure);
    assertStrictEquals(error.suppressed, mine);
  }),
);

Deno.test(
  "bytes on their way back cannot be viewed, and come back with what went wrong, once",
  withEmptyLedger(async () => {
    using tensor = bytes();
    const child = tensor.borrow("read-write");
    const work = new FakeWork("gated", new InteropError("the kernel failed"));
    child.disposeAfter(work.fence);
    assertThrows(() => tensor.view(), AccessError, "on their way back");
    assertThrows(() => child.view(), DisposedError);
    work.end();
    await moment();
    assertThrows(() => tensor.view(), InteropError, "the kernel failed");
    assertEquals(tensor.view().length, 64);
  }),
);

Deno.test(
  "a forgotten tensor that took a view is given back, though its parent and a sibling live and have looked",
  withEmptyLedger(async () => {
    using parent = bytes();
    using sibling = parent.slice(region(parent.layout, [0], [16]), { access: "read" });
    for (const each of [parent, sibling]) each.view({ access: "read" });
    const warnings = await warningsOf(async () => {
      (() => {
        parent.slice(region(parent.layout, [16], [16]), { access: "read" }).view();
      })();
      await collect();
    });
    assertEquals(warnings.length, 1, warnings.join("\n"));
    assertEquals([...parent.grant.lends].length, 1);
  }, { quarantined: 64 }),
);

Deno.test(
  "a view whose tensor nobody holds lasts through collections of garbage, and is taken away when it must be",
  withEmptyLedger(async () => {
    const parent = bytes();
    parent.view();
    const view = (() => parent.slice(region(parent.layout, [16], [16])).view())();
    assertEquals(await warningsOf(collect), []);
    view[0] = 7;
    parent[Symbol.dispose]();
    assertEquals([view.length, view.buffer.detached], [0, true]);
    const warnings = await warningsOf(collect);
    assertEquals(warnings, []);
  }),
);
