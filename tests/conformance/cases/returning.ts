import { assert, assertEquals } from "@std/assert";
import { AccessError } from "../../../src/core/errors.ts";
import { imageInfo } from "../../../src/core/layout/frame_info.ts";
import { across, assertFree, type Case, filled, frameOf, needsParts, NotHere, partOf, unitOf } from "../case.ts";
import { assertSame, random, until } from "../bytes.ts";
import type { Gate } from "../subject.ts";

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
        using gate = subject.gate();
        const first = across(subject, source, { access });
        first.disposeAfter(gate.fence);
        await using second = mapAround(gate, () => across(subject, source, { access }, elsewhere));
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
        using gate = subject.gate();
        const part = partOf(source, 1, end, access);
        const first = across(subject, part);
        first.usedBy(gate.fence);
        part.disposeAfter(gate.fence);
        assertEquals(first.grant.state, "returning");
        {
          await using second = mapAround(gate, () => across(subject, source, { access }));
          assertSame(await to.read(second), bytes, `all of it, mapped for "${access}" behind a part`);
        }
        assert(await until(() => source.grant.state === "live"), "the bytes never came back");
      }
      assertFree(source);
    },
  },
  {
    name: "returning-plane-then-frame",
    async run(subject) {
      const { source: from, target: to } = subject;
      using source = frameOf(subject, imageInfo({ format: "NV12", width: 64, height: 48 }));
      const bytes = source.planes.map((plane) => random(plane.layout.byteLength));
      for (const [i, plane] of source.planes.entries()) await from.write(plane, bytes[i]);
      for (const access of ["read", "read-write"] as const) {
        using gate = subject.gate();
        across(subject, source.planes[1], { access }).disposeAfter(gate.fence);
        await using second = mapAround(gate, () => across(subject, source, { access }));
        for (const [i, plane] of second.planes.entries()) {
          assertSame(await to.read(plane), bytes[i], `plane ${i}, mapped for "${access}"`);
        }
      }
    },
  },
];

/** Maps before the gate is open; where the host would have to wait for that, which is refused, as soon as it is. */
function mapAround<M>(gate: Gate, map: () => M): M {
  let early: M | undefined;
  try {
    early = map();
  } catch (error) {
    if (!(error instanceof AccessError)) throw error;
  }
  gate.open();
  return early ?? map();
}
