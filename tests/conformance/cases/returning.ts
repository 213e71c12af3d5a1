import { assert, assertEquals } from "@std/assert";
import { AccessError, InteropError, NoRouteError } from "../../../src/core/errors.ts";
import {
  across,
  assertFree,
  type Case,
  filled,
  frameOf,
  infoOf,
  needsParts,
  needsPlanes,
  NotHere,
  partOf,
  unitOf,
} from "../case.ts";
import type { Tensor } from "../../../src/core/tensors/tensor.ts";
import { assertSame, random, until } from "../bytes.ts";
import { gate, type Opening } from "../../gate.ts";

/** Bytes on their way back are mapped as something else than they were: elsewhere, or with more bytes around them. */
export const RETURNING: readonly Case[] = [
  {
    name: "returning-then-mapped-elsewhere",
    async run(subject) {
      const { source: from, elsewhere } = subject;
      if (elsewhere === undefined) throw new NotHere("there is no second context to map to");
      const { source, bytes } = await filled(from);
      using _ = source;
      for (const access of ["read", "read-write"] as const) {
        using opening = gate();
        const first = across(subject, source, { access });
        first.disposeAfter(opening.fence);
        await using second = await mapAround(opening, () => across(subject, source, { access }, elsewhere));
        assertSame(await elsewhere.read(second), bytes, `mapped for "${access}"`);
      }
      assert(await until(() => source.grant.state === "live"), "the bytes never came back");
      assertFree(source);
    },
  },
  {
    name: "returning-part-then-whole",
    async run(subject) {
      const { source: from, target: to } = subject;
      needsParts(from);
      const { source, bytes } = await filled(from);
      using _ = source;
      const end = Math.ceil(10_001 / unitOf(source));
      for (const access of ["read", "read-write"] as const) {
        using opening = gate();
        const part = partOf(source, 1, end, access);
        const first = across(subject, part);
        first.usedBy(opening.fence);
        part.disposeAfter(opening.fence);
        assertEquals(first.grant.state, "returning");
        {
          await using second = await mapAround(opening, () => across(subject, source, { access }));
          assertSame(await to.read(second), bytes, `all of it, mapped for "${access}" behind a part`);
        }
        assert(await until(() => source.grant.state === "live"), "the bytes never came back");
      }
      assertFree(source);
    },
  },
  {
    name: "returned-and-written-beside-a-map-that-stays",
    async run(subject) {
      const { source: from, target: to } = subject;
      needsParts(from);
      const { source } = await filled(from);
      using _ = source;
      const middle = Math.ceil(10_001 / unitOf(source));
      const [length] = source.layout.shape;
      using head = partOf(source, 0, middle, "read");
      const whole = across(subject, source, { access: "read" });
      let stays: Tensor | undefined;
      refusalOf(() => stays = across(subject, head)); // of an image there is no part
      if (stays !== undefined) await to.read(stays);
      whole[Symbol.dispose]();
      using tail = partOf(source, middle, length, "read-write");
      const bytes = random(tail.layout.byteLength);
      await from.write(tail, bytes);
      let mapped: Tensor | undefined;
      const refusal = refusalOf(() => mapped = across(subject, tail));
      if (refusal === undefined) {
        assertSame(await to.read(mapped!), bytes, "what was written after the first map had ended");
        mapped![Symbol.dispose]();
      }
      assertSame(await from.read(tail), bytes, "the same, at its source");
      stays?.[Symbol.dispose]();
      await using again = across(subject, tail);
      assertSame(await to.read(again), bytes, "the same, once no map is left");
    },
  },
  {
    name: "returning-plane-then-frame",
    async run(subject) {
      needsPlanes(subject);
      const { source: from, target: to } = subject;
      using source = frameOf(subject, infoOf(subject, { width: 64, height: 48 }));
      const bytes = source.planes.map((plane) => random(plane.layout.byteLength));
      for (const [i, plane] of source.planes.entries()) await from.write(plane, bytes[i]);
      for (const access of ["read", "read-write"] as const) {
        using opening = gate();
        across(subject, source.planes[1], { access }).disposeAfter(opening.fence);
        await using second = await mapAround(opening, () => across(subject, source, { access }));
        for (const [i, plane] of second.planes.entries()) {
          assertSame(await to.read(plane), bytes[i], `plane ${i}, mapped for "${access}"`);
        }
      }
    },
  },
];

/** A map is refused, with what to do; undefined where it is not. */
function refusalOf(map: () => unknown): NoRouteError | undefined {
  try {
    map();
  } catch (error) {
    assert(error instanceof NoRouteError, `${error}`);
    assert(error.refused.some(({ remedy }) => remedy !== undefined), "a refusal without a remedy");
    return error;
  }
}

/** Maps before the gate is open; where the host would have to wait for that, which is refused, as soon as it is. */
async function mapAround<M>(opening: Opening, map: () => M): Promise<M> {
  let early: M | undefined;
  try {
    early = map();
  } catch (error) {
    // Each plane of a frame of several blocks says so.
    const parts = (error instanceof InteropError ? error.errors : undefined) ?? [error];
    if (!parts.every((part) => part instanceof AccessError)) throw error;
  }
  await opening.complete();
  return early ?? map();
}
