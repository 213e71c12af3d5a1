import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { DisposedError } from "../../../src/core/errors.ts";
import type { Tensor } from "../../../src/core/tensors/tensor.ts";
import { across, assertFree, type Case, filled, NotHere, SIZE, sourceOf, warningsOf } from "../case.ts";
import { assertSame, until } from "../bytes.ts";
import { collect } from "../../gc.ts";
import type { Subject } from "../subject.ts";

/** Law 4: every object has one owner, and ends once, whatever ends first. */
export const LIFETIME: readonly Case[] = [
  {
    name: "parent-kept-alive",
    async run(subject) {
      const warnings = await warningsOf(async () => {
        const { mapped, source, bytes } = await forgetSource(subject);
        await collect();
        assert(source.deref() !== undefined, "the source was collected while it was mapped");
        assertSame(await subject.target.read(mapped), bytes, "the bytes of a source that nobody holds");
        const own = sourceOf(mapped);
        await mapped[Symbol.asyncDispose]();
        own[Symbol.dispose]();
      });
      assertEquals(warnings, []);
    },
  },
  {
    name: "forgotten-map",
    async run(subject) {
      const { source, bytes } = await filled(subject.source);
      using _ = source;
      const warnings = await warningsOf(async () => {
        forgetMap(subject, source);
        const freed = until(async () => {
          await collect();
          return source.grant.state === "live";
        });
        assert(await freed, "a map that nobody holds was never given back");
      });
      assertEquals(warnings.length, 1, warnings.join("\n"));
      assertSame(await subject.source.read(source), bytes, "the source's bytes");
    },
  },
  {
    name: "parent-disposed-first",
    async run(subject) {
      const { source } = await filled(subject.source);
      const mapped = across(subject, source);
      const part = mapped.borrow("read");
      source[Symbol.dispose]();
      for (const child of [mapped, part]) {
        const error = assertThrows(() => child.handle, DisposedError);
        assertStringIncludes(error.message, "was disposed with", "the parent is not named");
        child[Symbol.dispose]();
      }
      assertThrows(() => across(subject, source), DisposedError);
    },
  },
  {
    name: "twice-dispose",
    async run(subject) {
      const { source } = await filled(subject.source);
      const mapped = across(subject, source);
      mapped[Symbol.dispose]();
      mapped[Symbol.dispose]();
      await mapped[Symbol.asyncDispose]();
      assertFree(source);
      const again = across(subject, source);
      const both = [again[Symbol.asyncDispose](), again[Symbol.asyncDispose]()];
      again[Symbol.dispose]();
      await Promise.all(both);
      assertThrows(() => again.handle, DisposedError);
      assertFree(source);
      source[Symbol.dispose]();
      source[Symbol.dispose]();
    },
  },
  {
    name: "graph-disposed-first",
    alone: true,
    async run(subject) {
      const { source: from, graph } = subject;
      const { source, bytes } = await filled(from);
      using _ = source;
      const mapped = across(subject, source);
      graph[Symbol.dispose]();
      assertThrows(() => mapped.handle, DisposedError);
      mapped[Symbol.dispose]();
      assertThrows(() => across(subject, source), DisposedError);
      assertSame(await from.read(source), bytes, "the source's bytes");
      assertFree(source);
    },
  },
  {
    name: "context-disposed-first",
    alone: true,
    async run(subject) {
      const { source: from, target: to } = subject;
      const context = [to, from].map((end) => end.target.context).find((one) => one.resource !== undefined);
      if (context === undefined) throw new NotHere("both contexts are always there");
      const { source, bytes } = await filled(from);
      using _ = source;
      const mapped = across(subject, source);
      context[Symbol.dispose]();
      assertThrows(() => mapped.handle, DisposedError);
      mapped[Symbol.dispose]();
      assertThrows(() => across(subject, source), DisposedError);
      if (context === from.target.context || context === from.within) return;
      assertSame(await from.read(source), bytes, "the source's bytes");
      assertFree(source);
    },
  },
];

async function forgetSource(
  subject: Subject,
): Promise<{ mapped: Tensor; source: WeakRef<Tensor>; bytes: Uint8Array }> {
  const { source, bytes } = await filled(subject.source, SIZE);
  return { mapped: across(subject, source), source: new WeakRef(source), bytes };
}

function forgetMap(subject: Subject, source: Tensor): void {
  across(subject, source);
}
