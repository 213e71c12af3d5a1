import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { AccessError, NoRouteError } from "../../../src/core/errors.ts";
import type { Tensor } from "../../../src/core/tensors/tensor.ts";
import { host, type HostTensor } from "../../../src/host/mod.ts";
import { Counted } from "../../faults/tap.ts";
import { across, assertFree, type Case, filled, NotHere, partOf, SIZE, unitOf } from "../case.ts";
import { assertSame, random } from "../bytes.ts";
import type { Subject } from "../subject.ts";

/** Law 3: one writer or many readers, and no holder gets more than was lent. */
export const ACCESS: readonly Case[] = [
  {
    name: "access-enforced",
    async run(subject) {
      const { source: from, target: to } = subject;
      const { source, bytes } = await filled(from);
      using _ = source;
      {
        await using mapped = across(subject, source, { access: "read" });
        assertEquals(mapped.access, "read");
        await assertRejects(() => to.write(mapped, bytes), AccessError);
        assertThrows(() => mapped.slice(mapped.layout, { access: "write" }), AccessError);
        assertSame(await to.read(mapped), bytes, "the bytes of a map for reading");
      }
      using readable = source.borrow("read");
      assertThrows(() => across(subject, readable, { access: "write" }), AccessError);
      assertThrows(() => across(subject, readable, { access: "read-write" }), AccessError);
      using mapped = across(subject, readable);
      assertEquals(mapped.access, "read", "access defaults to the source's own");
    },
  },
  {
    name: "write-fetches-nothing",
    async run(subject) {
      const { source: from, target: to } = subject;
      const { source } = await filled(from);
      using _ = source;
      const bytes = random(SIZE);
      const moved = (access: "read" | "write" | "read-write") => {
        using mapped = across(subject, source, { access });
        return mapped.route.bytesMoved;
      };
      {
        await using mapped = across(subject, source, { access: "write" });
        await assertRejects(() => to.read(mapped), AccessError);
        await to.write(mapped, bytes);
      }
      assertSame(await from.read(source), bytes, "what was written");
      const { steps } = subject.graph.explain(source, to.target, { copy: "allow" });
      const oneWay = SIZE * steps.filter(({ transfer }) => transfer !== "alias").length;
      assertEquals([moved("read"), moved("write"), moved("read-write")], [oneWay, oneWay, 2 * oneWay], "bytes moved");
    },
  },
  {
    name: "grant-tree",
    async run(subject) {
      const { source } = await filled(subject.source);
      using _ = source;
      const mapped = across(subject, source);
      let lender = mapped.grant;
      for (const _ of mapped.route.steps) lender = lender.parent!;
      assert(lender === source.grant, "the map's grant was not lent by the source's");
      assertEquals([source.grant.state, mapped.grant.state], ["lent", "live"]);
      const part = subject.target.wholeOnly ? mapped.borrow("read") : partOf(mapped, 0, 100, "read");
      const length = subject.target.wholeOnly ? SIZE : 100 * unitOf(mapped);
      assertEquals([part.grant.parent, mapped.grant.state], [mapped.grant, "lent"]);
      assertEquals([part.grant.start, part.grant.end], [source.grant.start, source.grant.start + length]);
      part[Symbol.dispose]();
      assertEquals([part.grant.state, mapped.grant.state], ["ended", "live"]);
      await mapped[Symbol.asyncDispose]();
      assertEquals(mapped.grant.state, "ended");
      assertFree(source);
    },
  },
  {
    name: "source-unusable-while-written",
    async run(subject) {
      const { source: from } = subject;
      const { source } = await filled(from);
      using _ = source;
      for (const access of ["read-write", "write"] as const) {
        const mapped = across(subject, source, { access });
        const error = assertThrows(() => source.handle, AccessError);
        // By what it is called, on a route of several steps the last: "opencl (…) map of host tensor …".
        const [own] = mapped.name.split(" of ");
        assertStringIncludes(error.message, `lent to its ${own} for`, "the borrower is not named");
        await assertRejects(() => from.read(source), AccessError);
        await assertRejects(() => from.write(source, new Uint8Array(SIZE)), AccessError);
        await mapped[Symbol.asyncDispose]();
        await from.read(source);
      }
    },
  },
  {
    name: "readers-share",
    async run(subject) {
      const { source: from, target: to } = subject;
      const { source, bytes } = await filled(from);
      using _ = source;
      const readers = [across(subject, source, { access: "read" }), across(subject, source, { access: "read" })];
      if (subject.elsewhere !== undefined) {
        readers.push(across(subject, source, { access: "read" }, subject.elsewhere));
      }
      for (const [i, reader] of readers.entries()) {
        const end = i < 2 ? to : subject.elsewhere!;
        assertSame(await end.read(reader), bytes, `reader ${i}`);
      }
      if (subject.sourceRests) await assertRejects(() => from.read(source), AccessError);
      else assertSame(await from.read(source), bytes, "the source while it is read");
      await assertRejects(() => from.write(source, bytes), AccessError);
      for (const reader of readers) {
        assertThrows(() => across(subject, source), AccessError);
        await reader[Symbol.asyncDispose]();
      }
      assertFree(source);
    },
  },
  {
    name: "conflicting-maps",
    async run(subject) {
      const { source } = await filled(subject.source);
      using _ = source;
      for (const [first, second] of [["read-write", "read"], ["write", "write"], ["read", "write"]] as const) {
        await using _first = across(subject, source, { access: first });
        using counted = new Counted();
        assertThrows(() => across(subject, source, { access: second }), AccessError);
        assertThrows(() => source.slice(source.layout, { access: second }), AccessError);
        assertEquals(counted.calls, 0, "native calls before the refusal");
      }
      assertFree(source);
    },
  },
  {
    name: "map-of-a-mapped-tensor",
    async run(subject) {
      const { source: from, target: to } = subject;
      const { source } = await filled(from);
      using _ = source;
      let bytes = random(SIZE);
      {
        await using mapped = across(subject, source);
        {
          await using again = subject.graph.map(mapped, to.target);
          assertThrows(() => mapped.handle, AccessError);
          await to.write(again, bytes);
        }
        assertSame(await to.read(mapped), bytes, "what was written through a map to the same target");
        const back = mapBack(subject, mapped);
        if (back !== undefined) {
          assertThrows(() => mapped.handle, AccessError);
          assertSame(await from.read(back), bytes, "the bytes at the end of the route there and back");
          await from.write(back, bytes = random(SIZE));
          await back[Symbol.asyncDispose]();
          assertSame(await to.read(mapped), bytes, "what was written at the end of the route there and back");
        }
      }
      assertSame(await from.read(source), bytes, "the source's bytes");
      assertFree(source);
    },
  },
  {
    name: "stale-view",
    async run(subject) {
      const { source: from, target: to } = subject;
      if (from.target !== host && to.target !== host) throw new NotHere("neither end is the CPU's memory");
      const { source } = await filled(from);
      using _ = source;
      if (from.target === host) await assertSourceViews(subject, source as HostTensor);
      else await assertTargetViews(across(subject, source) as HostTensor);
    },
  },
];

/** To the source's kind of memory again, where the graph has a route. */
function mapBack({ graph, source }: Subject, mapped: Tensor): Tensor | undefined {
  try {
    return graph.map(mapped, source.target, { copy: "allow" });
  } catch (error) {
    if (error instanceof NoRouteError) return undefined;
    throw error;
  }
}

async function assertSourceViews(subject: Subject, source: HostTensor): Promise<void> {
  const [writable, readable] = [source.view(), source.view({ access: "read" })];
  {
    await using _ = across(subject, source, { access: "read" });
    assertEquals([writable.length, readable.length], [0, SIZE], "views beside a map for reading");
    assertEquals(source.view({ access: "read" }).length, SIZE);
    assertThrows(() => source.view(), AccessError);
  }
  {
    await using _ = across(subject, source);
    assertEquals(readable.length, 0, "a view beside a map for writing");
    assertThrows(() => source.view({ access: "read" }), AccessError);
  }
  assertEquals([writable.length, readable.length], [0, 0], "old views after the unmap");
  assertEquals(source.view().length, SIZE);
}

async function assertTargetViews(mapped: HostTensor): Promise<void> {
  const view = mapped.view();
  assertEquals(view.length, SIZE);
  await mapped[Symbol.asyncDispose]();
  assertEquals(view.length, 0, "a view after the unmap");
  assertThrows(() => mapped.view());
}
