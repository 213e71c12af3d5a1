import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import type { Fence } from "../../src/core/device/fence.ts";
import type { Memory, MemoryTarget } from "../../src/core/contract.ts";
import { host } from "../../src/host/context.ts";
import { AccessError, ArgumentError, DisposedError, InteropError, LayoutError } from "../../src/core/errors.ts";
import { PermanentContext } from "../../src/core/graph/context.ts";
import { imageInfo, planeLayouts } from "../../src/core/layout/frame_info.ts";
import { layout } from "../../src/core/layout/layout.ts";
import type { Block, Fate } from "../../src/core/memory/allocation.ts";
import { type AdoptedPlane, adoptFrame, type Adoption, adoptTensor, attaching } from "../../src/core/tensors/adopt.ts";
import { Frame } from "../../src/core/tensors/frame.ts";
import type { Mapped } from "../../src/core/tensors/mapped.ts";
import { Metadata } from "../../src/core/tensors/metadata.ts";
import { Tensor, type TensorInit } from "../../src/core/tensors/tensor.ts";
import { FakeWork } from "./fakes.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

class Plane extends Tensor {}

/** Memory whose tensors are made of strings and numbers; the plane `"broken"` cannot be made. */
class Kind extends PermanentContext<Plane> implements MemoryTarget<Plane> {
  readonly ports: Memory<Plane>;

  /** @param later true if a frame makes its planes when they are first asked for */
  constructor(later = false) {
    super("test");
    this.ports = {
      exports: [],
      imports: [],
      tensor(init: TensorInit<unknown>) {
        if (init.handle === "broken") throw new TypeError("no such plane");
        return new Plane(init);
      },
      ...(later ? { addressOf: () => undefined } : {}),
    };
  }

  override is(value: Mapped): value is Plane {
    return value instanceof Plane;
  }
}

const info = imageInfo({ format: "I420", width: 4, height: 2 });
const block = (byteLength: number, address?: bigint): Omit<Block, "free"> => ({
  ...{ kind: "test.block", byteLength },
  ...(address === undefined ? {} : { address }),
});

/** I420 of 4 × 2 pixels in one block, or in one block for the luma and one for the chroma. */
function planes(blocks: 1 | 2, handles = ["y", "u", "v"]): AdoptedPlane[] {
  const tight = planeLayouts(info);
  const [luma, chroma] = [block(blocks === 1 ? 12 : 8), block(4)];
  return tight.map(({ shape, dtype, byteOffset }, i) => ({
    handle: handles[i],
    layout: layout({ shape, dtype }),
    block: blocks === 1 || i === 0 ? luma : chroma,
    start: blocks === 1 || i === 0 ? byteOffset : byteOffset - 8,
  }));
}

/** A frame of an object, and the fates that its owner was released with. */
function adopted(blocks: 1 | 2, about: Adoption & { work?: Fence; handles?: string[]; later?: boolean } = {}) {
  const { work, handles, later, ...rest } = about;
  const fates: Fate[] = [];
  const release = (fate: Fate) => void fates.push(fate);
  const make = () => adoptFrame(new Kind(later), { handle: 0x77n, release, work }, info, planes(blocks, handles), rest);
  return { fates, make };
}

Deno.test(
  "adoptFrame() of memory with addressOf() makes planes once, when they are asked for, and they end with the frame",
  withEmptyLedger(() => {
    const { make, fates } = adopted(1, { later: true });
    const [asked, late] = [make(), make()];
    const [plane] = asked.planes;
    assertStrictEquals(asked.planes[0], plane);
    assertEquals(asked.planes.map(({ grant }) => grant.start), [0, 8, 10]);
    for (const frame of [asked, late]) frame[Symbol.dispose]();
    assertEquals(fates, ["unused", "unused"]);
    assertThrows(() => plane.handle, DisposedError);
    for (const { resource } of late.planes) assertEquals(resource.state, "freed");
    assertThrows(() => late.planes[0].handle, DisposedError);
    assertThrows(() => late.planes[0].slice(late.planes[0].layout), DisposedError);
  }),
);

for (const blocks of [1, 2] as const) {
  const where = blocks === 1 ? "one block" : "two blocks";

  Deno.test(
    `adoptFrame() releases an object of ${where} once, when its frame ends`,
    withEmptyLedger(() => {
      const metadata = new Metadata();
      const { make, fates } = adopted(blocks, { access: "read", metadata });
      const frame = make();
      assertEquals([frame.handle, frame.info, frame.access], [0x77n, info, "read"]);
      assertStrictEquals(frame.metadata, metadata);
      assertEquals(frame.planes.map(({ rawHandle }) => rawHandle), ["y", "u", "v"]);
      assertEquals(frame.planes.map(({ grant }) => grant.start), blocks === 1 ? [0, 8, 10] : [0, 0, 2]);
      const count = new Set(frame.grants.map(({ allocation }) => allocation)).size;
      assertEquals(count, blocks);
      assertEquals(fates, []);
      frame[Symbol.dispose]();
      frame[Symbol.dispose]();
      assertEquals(fates, ["unused"]);
    }),
  );

  Deno.test(
    `adoptFrame() releases an object of ${where} once, where its last plane cannot be made`,
    withEmptyLedger(() => {
      const { make, fates } = adopted(blocks, { handles: ["y", "u", "broken"] });
      assertThrows(make, TypeError, "no such plane");
      assertEquals(fates, ["unused"]);
    }),
  );

  Deno.test(
    `adoptFrame() waits for the work of an object of ${where} before it releases that`,
    withEmptyLedger(async () => {
      const work = new FakeWork();
      const { make, fates } = adopted(blocks, { work: work.fence });
      const frame = make();
      const ended = frame[Symbol.asyncDispose]();
      await new Promise((resolve) => setTimeout(resolve, 5));
      assertEquals(fates, []);
      work.end();
      await ended;
      assertEquals(fates, ["unused"]);
    }),
  );

  Deno.test(
    `Frame.handle of an object of ${where} is refused while it is lent or on the way back, and after its end`,
    withEmptyLedger(() => {
      const { make } = adopted(blocks);
      const frame = make();
      {
        using lent = frame.borrow("read-write");
        assertEquals(lent.handle, 0x77n);
        assertThrows(() => frame.handle, AccessError);
      }
      assertEquals(frame.handle, 0x77n);
      const work = new FakeWork();
      frame.borrow("read-write").disposeAfter(work.fence);
      assertThrows(() => frame.handle, AccessError, "on their way back");
      work.end();
      assertEquals(frame.handle, 0x77n);
      frame[Symbol.dispose]();
      assertThrows(() => frame.handle, DisposedError);
      assertEquals(frame.rawHandle, 0x77n);
    }),
  );
}

Deno.test(
  "adoptFrame() of one kind and handle twice shares the bytes, and releases both when both are over",
  withEmptyLedger(() => {
    const fates: string[] = [];
    const on = new Kind();
    const make = (name: string) =>
      adoptFrame(on, { kind: "object", handle: 5n, release: () => void fates.push(name) }, info, planes(1));
    const [one, two] = [make("one"), make("two")];
    assertStrictEquals(one.grants[0].allocation, two.grants[0].allocation);
    one[Symbol.dispose]();
    assertEquals(fates, []);
    two[Symbol.dispose]();
    assertEquals(fates.sort(), ["one", "two"]);
    using again = make("again");
    assert(again.grants[0].allocation !== two.grants[0].allocation);
  }),
);

Deno.test(
  "adoptTensor() finds the memory of a known address, and refuses a block that is longer",
  withEmptyLedger(() => {
    const on = new Kind();
    let released = 0;
    const make = (address: bigint, byteLength: number) =>
      adoptTensor(on, { handle: address, release: () => void released++ }, {
        ...{ handle: "here", layout: layout({ shape: [byteLength], dtype: "u8" }) },
        block: block(byteLength, address),
      });
    using whole = make(0x1000n, 64);
    {
      using part = make(0x1010n, 16);
      assertStrictEquals(part.grant.allocation, whole.grant.allocation);
      assertEquals([part.grant.start, part.grant.end], [16, 32]);
      using _lent = whole.borrow("read-write");
      assertThrows(() => part.handle, AccessError);
    }
    const error = assertThrows(() => make(0x1020n, 64), ArgumentError, "bytes 32 to 96 of memory known with 64");
    assertEquals([error.argument, released], ["block", 1]);
  }),
);

Deno.test(
  "adoptTensor() over known memory ends while a promise has the bytes, and a view was moved away",
  withEmptyLedger(async () => {
    const fates: Fate[] = [];
    const owner = { handle: 5n, isReference: true, release: (fate: Fate) => void fates.push(fate) };
    const first = host.allocate({ shape: [64], dtype: "u8" });
    const at = first.handle;
    const plane = { handle: at, layout: first.layout, block: block(64, at) };
    const again = adoptTensor(new Kind(), owner, plane);
    warningsOf(() => first.grant.allocation.markEscaped("was moved away"));
    await first.lend(() => again[Symbol.dispose](), { access: "read" });
    assertEquals(fates, []);
    first[Symbol.dispose]();
    assertEquals(fates, ["escaped"]);
  }, { quarantined: 64 }),
);

for (const blocks of [1, 2] as const) {
  const where = blocks === 1 ? "one block" : "two blocks";

  Deno.test(
    `adoptFrame() over known memory of ${where} gives a reference back at its own end`,
    withEmptyLedger(() => {
      const given: number[] = [];
      const adopt = (i: number) => {
        const owner = { kind: "test.again", isReference: true, handle: 5n, release: () => void given.push(i) };
        return adoptFrame(new Kind(), owner, info, planes(blocks));
      };
      const first = adopt(0);
      for (let i = 1; i <= 3; i++) {
        adopt(i)[Symbol.dispose]();
        assertEquals(given.splice(0), [i]);
      }
      using last = adopt(4);
      first[Symbol.dispose]();
      assertEquals(given, []); // the memory that the last frame uses came with it
      last[Symbol.dispose]();
      assertEquals(given.sort(), [0, 4]);
    }),
  );

  for (const why of ["escaped", "unseen"] as const) {
    Deno.test(
      `adoptFrame() over known memory of ${where} keeps a reference where a view is ${why}`,
      withEmptyLedger(() => {
        const fates: Fate[] = [];
        const release = (fate: Fate) => void fates.push(fate);
        const owner = { kind: "test.again", isReference: true, handle: 5n, release };
        const [first, again] = [1, 2].map(() => adoptFrame(new Kind(), owner, info, planes(blocks)));
        const { allocation } = again.planes[0].grant;
        if (why === "unseen") allocation.unseen = true;
        else warningsOf(() => allocation.markEscaped("was moved away"));
        again[Symbol.dispose]();
        assertEquals(fates, []);
        first[Symbol.dispose]();
        const fate = why === "escaped" ? "escaped" : "unused";
        assertEquals(fates, [fate, fate]);
      }, { quarantined: why === "unseen" ? 0 : blocks === 1 ? 12 : 8 }),
    );
  }
}

Deno.test(
  "Frame.handle of a frame of several objects is refused",
  withEmptyLedger(() => {
    const on = new Kind();
    const tensors = planes(1).map((plane) => adoptTensor(on, { handle: 1n, release() {} }, plane));
    using frame = Frame.of(tensors, info);
    assertEquals(frame.rawHandle, undefined);
    const error = assertThrows(() => frame.handle, ArgumentError, "has no handle of its own");
    assertEquals(error.argument, "frame");
  }),
);

Deno.test(
  "adoptFrame() keeps the blocks of one handle apart, and finds each again",
  withEmptyLedger(() => {
    const kind = new Kind();
    const fates: Fate[] = [];
    const owner = { kind: "test.object", handle: 0x77n, release: (fate: Fate) => void fates.push(fate) };
    const [frame, again] = [1, 2].map(() => adoptFrame(kind, owner, info, planes(2)));
    const blocksOf = (of: Frame<Plane>) => of.planes.map(({ grant: { allocation, start } }) => ({ allocation, start }));
    assertEquals(new Set(blocksOf(frame).map(({ allocation }) => allocation)).size, 2);
    assertEquals(blocksOf(frame).map(({ start }) => start), [0, 0, 2]);
    for (const [i, { allocation }] of blocksOf(again).entries()) {
      assertStrictEquals(allocation, blocksOf(frame)[i].allocation);
    }
    frame[Symbol.dispose]();
    again[Symbol.dispose]();
    assertEquals(fates, ["unused", "unused"]);
  }),
);

Deno.test(
  "adoptFrame() releases an object without planes, and says what is wrong",
  withEmptyLedger(() => {
    const fates: Fate[] = [];
    const owner = { handle: 0x77n, release: (fate: Fate) => void fates.push(fate) };
    assertThrows(() => adoptFrame(new Kind(), owner, info, []), ArgumentError, "planes");
    assertEquals(fates, ["unused"]);
  }),
);

Deno.test(
  "adoptTensor() refuses a block that is longer than the one known by the same handle",
  withEmptyLedger(() => {
    const on = new Kind();
    let released = 0;
    const make = (byteLength: number) =>
      adoptTensor(on, { kind: "test.length", handle: 1n, release: () => void released++ }, {
        ...{ handle: "here", layout: layout({ shape: [byteLength], dtype: "u8" }), block: block(byteLength) },
      });
    using _short = make(16);
    assertThrows(() => make(17), ArgumentError, "bytes 0 to 17 of memory known with 16");
    assertEquals(released, 1);
  }),
);

Deno.test(
  "adoptFrame() refuses planes of one block that its description does not have",
  withEmptyLedger(() => {
    const fates: Fate[] = [];
    const owner = { handle: 1n, release: (fate: Fate) => void fates.push(fate) };
    assertThrows(() => adoptFrame(new Kind(), owner, info, planes(1).slice(0, 2)), LayoutError, "planes");
    assertEquals(fates, ["unused"]);
  }),
);

Deno.test(
  "adoptFrame() checks the planes of each frame, also after a frame of the same description and layouts",
  withEmptyLedger(() => {
    const owner = { handle: 1n, release: () => {} };
    const adopt = (planes: readonly AdoptedPlane[], as = info) => adoptFrame(new Kind(), owner, as, planes);
    const good = planes(1);
    for (let i = 0; i < 2; i++) adopt(good)[Symbol.dispose]();
    const [y, u, v] = good;
    const other = { ...v, layout: layout({ shape: [1, 1], dtype: "u8" }) };
    for (const bad of [[y, u], [y, u, other], [y, v, u, v], [u, y, v]]) {
      assertThrows(() => adopt(bad), LayoutError, "planes");
    }
    assertThrows(() => adopt(good, imageInfo({ format: "I420", width: 2, height: 2 })), LayoutError, "planes");
    adopt(good)[Symbol.dispose]();
  }),
);

Deno.test(
  "adoptFrame() that fails at once still waits for the work of its object",
  withEmptyLedger(async () => {
    const work = new FakeWork();
    const fates: Fate[] = [];
    const owner = { handle: 1n, work: work.fence, release: (fate: Fate) => void fates.push(fate) };
    assertThrows(() => adoptFrame(new Kind(), owner, info, []), ArgumentError, "planes");
    assertEquals(fates, []);
    work.end();
    while (fates.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    assertEquals(fates, ["unused"]);
  }),
);

Deno.test(
  "adoptFrame() of memory with addressOf(): planes wait for what was in flight, lent or on its way back before they came",
  withEmptyLedger(async () => {
    const make = () => {
      const owner = { kind: "test.late", handle: 3n, release() {} };
      return adoptFrame(new Kind(true), owner, info, planes(1));
    };
    const [ofMaker, ofProgram, ofPeer, back] = Array.from({ length: 4 }, () => new FakeWork());
    using made = adopted(1, { later: true, work: ofMaker.fence }).make();
    assertEquals(made.planes[2].work, [ofMaker.fence]);
    ofMaker.end();
    using frame = make();
    using peer = make();
    frame.usedBy(ofProgram.fence);
    peer.planes[1].usedBy(ofPeer.fence);
    const borrowed = peer.planes[0].slice(peer.planes[0].layout);
    assertThrows(() => frame.planes[0].handle, AccessError, "are lent to");
    using late = make();
    assertEquals(late.planes[1].handle, "u"); // luma alone is lent
    const found = new Set(frame.planes[1].work.map(({ line }) => line));
    assertEquals(found, new Set([ofProgram.fence.line, ofPeer.fence.line]));
    ofProgram.end();
    ofPeer.end();
    borrowed.disposeAfter(back.fence);
    using latest = make();
    assertThrows(() => latest.planes[0].handle, AccessError, "on their way back");
    const finished = latest.planes[0].finished();
    back.end();
    await finished;
    assertEquals(latest.planes[0].handle, "y");
  }),
);

Deno.test(
  "adoptFrame() of memory with addressOf(): planes asked for while its end waits for work end with it, and once",
  withEmptyLedger(async () => {
    const work = new FakeWork();
    const { make, fates } = adopted(1, { later: true, work: work.fence });
    const frame = make();
    const ended = frame[Symbol.asyncDispose]();
    const [plane] = frame.planes;
    assertThrows(() => plane.handle, DisposedError);
    assertEquals(fates, []);
    work.end();
    await ended;
    assertEquals([fates, plane.resource.state], [["unused"], "freed"]);
  }),
);

Deno.test(
  "attaching() calls the owner once: after the tensor's memory and the maker's work, and where it fails",
  withEmptyLedger(async () => {
    const ended: string[] = [];
    const owner = () => void ended.push("owner");
    const on = new Kind();
    const [plane] = planes(1);
    const make = () => adoptTensor(on, { handle: 1n, release: (fate) => void ended.push(fate) }, plane);
    const work = new FakeWork();
    const tensor = attaching({ owner, after: work.fence }, make);
    const end = tensor[Symbol.asyncDispose]();
    await new Promise((resolve) => setTimeout(resolve, 5));
    assertEquals(ended, []);
    work.end();
    await end;
    tensor[Symbol.dispose]();
    assertEquals(ended, ["unused", "owner"]);
    assertThrows(() => attaching({ owner }, fail), TypeError, "no such memory");
    assertEquals(ended.splice(0), ["unused", "owner", "owner"]);
    assertThrows(() => attaching({ owner, after: any(1) }, make), ArgumentError, "after");
    assertThrows(() => attaching({ owner, access: any("none") }, make), ArgumentError, "access");
    assertEquals(ended.splice(0), ["owner", "owner"]);
    assertThrows(() => attaching({ owner: any(1) }, make), ArgumentError, "owner: expected a function");
    assertThrows(() => attaching(any({ owners: owner }), make), ArgumentError, "owners");
    assertEquals(ended, []);
  }),
);

Deno.test(
  "attaching() that fails calls the owner once the maker's work is over, and at once where it is already",
  withEmptyLedger(async () => {
    let calls = 0;
    const work = new FakeWork();
    const attach = () => attaching({ owner: () => void calls++, after: work.fence }, fail);
    assertThrows(attach, TypeError, "no such memory");
    await new Promise((resolve) => setTimeout(resolve, 5));
    assertEquals(calls, 0);
    work.end();
    while (calls === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    assertThrows(attach, TypeError, "no such memory");
    assertEquals(calls, 2);
  }),
);

Deno.test(
  "attaching() throws what an owner throws, and does not call it again",
  withEmptyLedger(() => {
    let calls = 0;
    const owner = () => {
      calls++;
      throw new RangeError("theirs");
    };
    const tensor = attaching({ owner }, () => attachedAt(0, 8));
    assertThrows(() => tensor[Symbol.dispose](), RangeError, "theirs");
    tensor[Symbol.dispose]();
    assertEquals(calls, 1);
    const over = new FakeWork();
    over.end();
    for (const after of [undefined, over.fence]) {
      const error = assertThrows(() => attaching({ owner, ...(after && { after }) }, fail), InteropError);
      assertEquals(error.errors?.map(String), ["TypeError: no such memory", "RangeError: theirs"]);
    }
    assertEquals(calls, 3);
  }),
);

for (const block of [0, 1]) {
  for (const why of ["escaped", "unseen"] as const) {
    Deno.test(
      `attaching() does not call the owner of two blocks where a view of block ${block} is ${why}`,
      withEmptyLedger(() => {
        let calls = 0;
        const frame = attaching({ owner: () => void calls++ }, adopted(2).make);
        const { allocation } = frame.planes[block === 0 ? 0 : 2].grant;
        if (why === "unseen") allocation.unseen = true;
        else warningsOf(() => allocation.markEscaped("was moved away"));
        frame[Symbol.dispose]();
        assertEquals(calls, 0);
      }, { quarantined: why === "unseen" ? 0 : block === 0 ? 8 : 4 }),
    );
  }
}

Deno.test(
  "attaching() to the same bytes again: an owner waits for the other tensors over its bytes, and for no more",
  withEmptyLedger(() => {
    const ended: string[] = [];
    const attach = (name: string, start: number, end: number) =>
      attaching({ owner: () => void ended.push(name) }, () => attachedAt(start, end));
    using own = attachedAt(0, 64); // samepage's: it was not attached
    const [front, back, middle] = [attach("front", 0, 16), attach("back", 16, 32), attach("middle", 8, 24)];
    assertStrictEquals(front.grant.allocation, own.grant.allocation);
    const unowned = attaching({}, () => attachedAt(15, 16));
    back[Symbol.dispose]();
    front[Symbol.dispose]();
    assertEquals(ended, []);
    middle[Symbol.dispose]();
    assertEquals(ended.splice(0), ["back"]); // "unowned" still uses bytes of the other two
    unowned[Symbol.dispose]();
    assertEquals(ended.sort(), ["front", "middle"]);
  }),
);

Deno.test(
  "attaching() to a frame and to a plane's bytes: the frame's owner waits for the plane, and the other way round",
  withEmptyLedger(() => {
    for (const frameFirst of [true, false]) {
      const ended: string[] = [];
      const frame = attaching({ owner: () => void ended.push("frame") }, framed);
      const plane = attaching({ owner: () => void ended.push("plane") }, () => {
        const owner = { kind: "test.framed, block 1", handle: 9n, release() {} };
        return adoptTensor(new Kind(), owner, { ...planes(2)[1], start: 0 });
      });
      assertStrictEquals(plane.grant.allocation, frame.planes[1].grant.allocation);
      const [first, second] = frameFirst ? [frame, plane] : [plane, frame];
      first[Symbol.dispose]();
      assertEquals(ended, []);
      second[Symbol.dispose]();
      assertEquals(ended.sort(), ["frame", "plane"]);
    }
  }),
);

Deno.test(
  "attaching() calls each owner once where one disposes another tensor over the same bytes",
  withEmptyLedger(() => {
    const ended: string[] = [];
    const other = attaching({ owner: () => void ended.push("other") }, () => attachedAt(0, 8));
    const tensor = attaching({
      owner: () => {
        ended.push("tensor");
        other[Symbol.dispose]();
      },
    }, () => attachedAt(8, 16));
    const overBoth = attaching({ owner: () => other[Symbol.dispose]() }, () => attachedAt(0, 16));
    overBoth[Symbol.dispose]();
    tensor[Symbol.dispose]();
    assertEquals(ended.sort(), ["other", "tensor"]);
  }),
);

Deno.test(
  "attaching() never calls an owner whose bytes a view of a later tensor over them still shows",
  withEmptyLedger(() => {
    let calls = 0;
    const first = attaching({ owner: () => void calls++ }, () => attachedAt(0, 8));
    const second = attaching({}, () => attachedAt(0, 8));
    first[Symbol.dispose]();
    warningsOf(() => second.grant.allocation.markEscaped("was moved away"));
    second[Symbol.dispose]();
    assertEquals(calls, 0);
  }, { quarantined: 64 }),
);

Deno.test(
  "attaching() to the same bytes again: an owner that had to wait is called after the memory of the other tensor",
  withEmptyLedger(() => {
    const ended: string[] = [];
    const attach = (name: string) =>
      attaching({ owner: () => void ended.push(name) }, () => attachedAt(0, 8, () => void ended.push("memory")));
    const [first, second] = [attach("first"), attach("second")];
    first[Symbol.dispose]();
    second[Symbol.dispose]();
    assertEquals([ended.slice(0, 2), ended.slice(2).sort()], [["memory", "memory"], ["first", "second"]]);
  }),
);

/** A tensor over bytes `start` to `end` of one block of 64 bytes. */
function attachedAt(start: number, end: number, release = () => {}): Plane {
  return adoptTensor(new Kind(), { handle: 1n, kind: "test.attached", release }, {
    ...{ handle: "bytes", layout: layout({ shape: [end - start], dtype: "u8" }), start, block: block(64) },
  });
}

/** A frame of an object with two blocks, which are found again by its handle. */
function framed(): Frame<Plane> {
  return adoptFrame(new Kind(), { kind: "test.framed", handle: 9n, release() {} }, info, planes(2));
}

function fail(): never {
  throw new TypeError("no such memory");
}

/** A value of a wrong type. */
function any(value: unknown): never {
  return value as never;
}
