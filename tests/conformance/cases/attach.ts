import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { AccessError, DisposedError } from "../../../src/core/errors.ts";
import { Frame } from "../../../src/core/tensors/frame.ts";
import type { Mapped } from "../../../src/core/tensors/mapped.ts";
import type { Tensor } from "../../../src/core/tensors/tensor.ts";
import { host } from "../../../src/host/mod.ts";
import { assertSame, random, until } from "../bytes.ts";
import { type Case, NotHere } from "../case.ts";
import type { End, Foreign, Subject } from "../subject.ts";

/** Memory that other code made: it is used as the options of `attach` allow, and its owner is called once. */
export const ATTACH: readonly Case[] = [
  {
    name: "attached-twice",
    async run(subject) {
      for (const end of attachersOf(subject)) {
        using theirs = end.foreign!();
        for (const first of [0, 1]) {
          const [one, two] = [new Attached(theirs), new Attached(theirs)];
          assertPeers(one.tensor, two.tensor);
          const bytes = random(one.tensor.layout.byteLength);
          await end.write(one.tensor, bytes);
          assertSame(await end.read(two.tensor), bytes, "the bytes that the other tensor wrote");
          const [ended, other] = first === 0 ? [one, two] : [two, one];
          for (let i = 0; i < 2; i++) ended.mapped[Symbol.dispose]();
          assertEquals([ended.calls, other.calls], [0, 0], "calls of the owners while one tensor has the bytes");
          assertSame(await end.read(other.tensor), bytes, "the bytes of the tensor that is left");
          await other.mapped[Symbol.asyncDispose]();
          assertEquals([ended.calls, other.calls], [1, 1], "calls of the owners");
        }
      }
    },
  },
  {
    name: "attached-for-reading",
    async run(subject) {
      for (const end of attachersOf(subject)) {
        using theirs = end.foreign!();
        using mapped = theirs.attach({ access: "read" });
        const tensor = tensorOf(mapped);
        assertEquals([mapped.access, tensor.access], ["read", "read"]);
        await assertRejects(() => end.write(tensor, new Uint8Array(tensor.layout.byteLength)), AccessError);
        for (const access of ["write", "read-write"] as const) assertThrows(() => tensor.borrow(access), AccessError);
        await end.read(tensor);
      }
    },
  },
  {
    name: "attached-after-work",
    async run(subject) {
      for (const end of attachersOf(subject)) {
        using theirs = end.foreign!();
        const { promise, resolve } = Promise.withResolvers<void>();
        const after = host.signal(promise);
        const attached = new Attached(theirs, { after });
        const read = end.read(attached.tensor).then(() => "read", (error) => error.name);
        const ended = attached.mapped[Symbol.asyncDispose]();
        let failed = 0;
        assertThrows(() => theirs.misfit({ after, owner: () => void failed++ }));
        await new Promise((resolve) => setTimeout(resolve, 5));
        assertEquals([attached.calls, failed], [0, 0], "calls of the owners before their work is over");
        assert(
          await Promise.race([read, "waiting"]) !== "read",
          "the bytes were read before the maker's work was over",
        );
        resolve();
        await Promise.all([ended, read]);
        assert(await until(() => failed === 1), "the owner was not called after an attach that failed");
        assertEquals([attached.calls, failed], [1, 1], "calls of the owners");
      }
    },
  },
  {
    name: "attach-that-fails",
    run(subject) {
      for (const end of attachersOf(subject)) {
        using theirs = end.foreign!();
        let failed = 0;
        assertThrows(() => theirs.misfit({ owner: () => void failed++ }));
        assertEquals(failed, 1, "calls of the owner after an attach that failed");
        const attached = new Attached(theirs);
        assertThrows(() => theirs.misfit({ owner: () => void failed++ }));
        assertEquals([attached.calls, failed], [0, 2], "calls of the owners of two tensors, one of which failed");
        attached.mapped[Symbol.dispose]();
        assertEquals(attached.calls, 1);
      }
    },
  },
  {
    name: "attached-ends-before-its-owner",
    async run(subject) {
      for (const end of attachersOf(subject)) {
        using theirs = end.foreign!();
        const order: string[] = [];
        const mapped = theirs.attach({ owner: () => void order.push("owner") });
        const part = tensorOf(mapped).borrow("read");
        part.resource.undo.push(() => void order.push("part"));
        await mapped[Symbol.asyncDispose]();
        assertThrows(() => part.handle, DisposedError);
        assertEquals(order, ["part", "owner"]);
      }
    },
  },
  {
    name: "attached-context-disposed-first",
    alone: true,
    run(subject) {
      const ends = attachersOf(subject).filter(({ target: { context } }) => context.resource !== undefined);
      if (ends.length === 0) throw new NotHere("the contexts are always there");
      for (const end of ends) {
        const theirs = end.foreign!();
        const attached: Attached = new Attached(theirs, {}, () => theirs[Symbol.dispose]());
        end.target.context[Symbol.dispose]();
        assertEquals(attached.calls, 1, "calls of the owner at the end of the context");
        assertThrows(() => attached.tensor.handle, DisposedError);
        attached.mapped[Symbol.dispose]();
        let failed = 0;
        assertThrows(() => theirs.attach({ owner: () => void failed++ }), DisposedError);
        assertEquals([attached.calls, failed], [1, 1]);
      }
    },
  },
];

/** What is attached, and how often its owner was called. */
class Attached {
  readonly mapped: Mapped & Disposable & AsyncDisposable;
  calls = 0;

  constructor(theirs: Foreign, options: Parameters<Foreign["attach"]>[0] = {}, then?: () => void) {
    const owner = () => {
      this.calls++;
      then?.();
    };
    this.mapped = theirs.attach({ ...options, owner });
  }

  get tensor(): Tensor {
    return tensorOf(this.mapped);
  }
}

function tensorOf(mapped: Mapped): Tensor {
  return (mapped instanceof Frame ? mapped.planes[0] : mapped) as Tensor;
}

/** The ends whose API attaches. */
export function attachersOf({ source, target }: Subject): End[] {
  const ends = [source, target].filter((end) => end.foreign !== undefined);
  if (ends.length === 0) throw new NotHere("neither end attaches to memory that other code made");
  return ends;
}

/** Law 3 holds between two tensors over one native object. */
function assertPeers(one: Tensor, two: Tensor): void {
  assertStrictEquals(one.grant.allocation, two.grant.allocation, "one native object is two allocations");
  using _lent = one.borrow("read-write");
  assertThrows(() => two.handle, AccessError);
  assertThrows(() => two.assertUsable("read"), AccessError);
}
