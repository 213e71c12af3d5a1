import { assert, assertEquals, assertThrows } from "@std/assert";
import { NoRouteError } from "../../../src/core/errors.ts";
import type { Tensor } from "../../../src/core/tensors/tensor.ts";
import { across, type Case, filled, SIZE } from "../case.ts";
import { assertSame, firstDifference, random, until } from "../bytes.ts";
import type { End, Subject } from "../subject.ts";

/**
 * What is written at one end is seen at the other. Where the edge says "alias", it is seen while both ends are mapped,
 * though nothing was called but the write itself, submitted and flushed; otherwise by the map and the unmap.
 */
export const ALIASING: readonly Case[] = [
  {
    name: "aliasing-source-to-target",
    async run(subject) {
      const { source: from, target: to } = subject;
      const { source, bytes } = await filled(from);
      using _ = source;
      using mapped = across(subject, source);
      assertLabel(subject, source, mapped);
      assertSame(await to.read(mapped), bytes, "the target's bytes after the map");
      if (!aliases(mapped)) return;
      // The target has read these bytes once: what it keeps in a cache would be the old ones.
      const later = random(bytes.length);
      const written = from.raw.write(source, later);
      await assertSeen(to, mapped, later);
      await written();
    },
  },
  {
    name: "aliasing-target-to-source",
    async run(subject) {
      const { source: from, target: to } = subject;
      const { source } = await filled(from);
      using _ = source;
      const bytes = random(SIZE);
      {
        await using mapped = across(subject, source);
        assertLabel(subject, source, mapped);
        if (aliases(mapped)) {
          const written = to.raw.write(mapped, bytes);
          await assertSeen(from, source, bytes);
          await written();
        } else {
          await to.write(mapped, bytes);
        }
      }
      assertSame(await from.read(source), bytes, "the source's bytes after the unmap");
    },
  },
  {
    name: "copies-only-if-asked",
    async run(subject) {
      const { source } = await filled(subject.source);
      using _ = source;
      const { graph, target: { target }, expected } = subject;
      if (expected === "copy") {
        const error = assertThrows(() => graph.map(source, target), NoRouteError);
        assert(
          error.refused.some((refusal) => refusal.remedy?.includes("copy")),
          `no word of copying: ${error.message}`,
        );
        assertEquals(graph.explain(source, target).open, false);
      } else {
        using mapped = graph.map(source, target);
        assert(mapped.route.steps.every((step) => step.transfer !== "copy"), mapped.route.toString());
      }
    },
  },
];

function aliases(mapped: Tensor): boolean {
  return mapped.route.steps.every(({ transfer }) => transfer === "alias");
}

/** What the edge says of itself: to `explain`, in the tensor's route, in bytes, and as it is expected of it. */
function assertLabel({ graph, target, expected }: Subject, source: Tensor, mapped: Tensor): void {
  for (const { transfer, evidence } of mapped.route.steps) {
    if (expected === "as proven") {
      assert(transfer !== "copy", "an edge that has to alias or migrate copies");
      if (transfer === "alias") assert(evidence !== undefined, "an alias without evidence");
    } else {
      assertEquals(transfer, expected, "what the edge says of itself, and what its subject expects");
    }
  }
  const { byteLength } = source.layout;
  if (aliases(mapped)) assertEquals(mapped.route.bytesMoved, 0, "bytes moved by an alias");
  else assert(mapped.route.bytesMoved >= byteLength, `${mapped.route.bytesMoved} of ${byteLength} bytes moved`);
  assert(graph.explain(mapped, target.target).open, "no route from a tensor to where it is");
}

/** Milliseconds after which an end does not see what the other has written: it was, so no thread is waited for. */
const SEEN_MS = 2000;

/** An end sees bytes without any call: the CPU by looking again and again, a device by reading. */
async function assertSeen({ raw }: End, tensor: Tensor, bytes: Uint8Array): Promise<void> {
  const seen = raw.look === undefined
    ? until(async () => firstDifference(await raw.read(tensor), bytes) < 0, SEEN_MS)
    : until(() => firstDifference(raw.look!(tensor), bytes) < 0, SEEN_MS);
  assert(await seen, "it is called an alias, and one end does not see what the other has written");
}
