// Tickets whose checksums are right, and whose fields are not: a stranger can make those, too.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError } from "../../mod.ts";
import { layout } from "../../src/core/layout/layout.ts";
import { type EnvelopeKind, sealed } from "../../src/envelope/envelope.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { packTicket, unpackTicket } from "../../src/ucx/ticket.ts";
import { ucxTest } from "./help.ts";

/** All 20,000 take two seconds: SAMEPAGE_TICKETS=20000. */
const COUNT = Number(Deno.env.get("SAMEPAGE_TICKETS") ?? 1_000);

/** A key of one domain, which needs no bytes. */
const KEY = Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0, 0);

const TENSORS = [{ layout: layout({ shape: [4, 3], dtype: "f32" }), address: 4096n, key: KEY }];
const TICKET = { access: "read", worker: new Uint8Array(50).fill(1), tensors: TENSORS } as const;
const HEADER = {
  kind: "ucx.share",
  access: "read",
  worker: 50,
  tensors: [{ dtype: "f32", shape: [4, 3], address: "4096", key: 10 }],
};

const VALUES = [null, true, -1, 0, 1.5, 1e300, 2 ** 53, 49, 51, 65_537, "", "read-write", "u8", "-1", "0", "0x10"]
  .concat([
    "18446744073709551615",
    "99999999999999999999",
    [] as never,
    {} as never,
    [-1] as never,
    [2 ** 40, 2 ** 40] as never,
  ])
  .concat([[[]] as never, Array(100).fill(2) as never, "4096 ", "\u0000", "__proto__"]);

function reseal(header: unknown, parts = [TICKET.worker, TENSORS[0].key]): Uint8Array<ArrayBuffer> {
  return sealed({ version: 1 } as EnvelopeKind<unknown>, header, parts);
}

/** A copy with one value changed, added or taken away, somewhere. */
function mutated(value: unknown, random: (most: number) => number): unknown {
  if (typeof value !== "object" || value === null || random(4) === 0) return VALUES[random(VALUES.length)];
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...value] : { ...value };
  const keys = Object.keys(copy);
  const key = keys[random(keys.length)];
  if (random(8) === 0) delete (copy as Record<string, unknown>)[key];
  else (copy as Record<string, unknown>)[key] = mutated((copy as Record<string, unknown>)[key], random);
  return copy;
}

Deno.test("packTicket() and unpackTicket() keep a ticket", () => {
  assertEquals(unpackTicket(packTicket(TICKET)), TICKET);
  assertEquals(packTicket(TICKET), reseal(HEADER));
});

Deno.test(`unpackTicket() refuses ${COUNT} mutated tickets, or reads what is whole`, () => {
  let state = 12_345;
  const random = (most: number) => (state = Math.imul(state, 1_103_515_245) + 12_345 >>> 0) / 2 ** 32 * most | 0;
  let refused = 0;
  for (let i = 0; i < COUNT; i++) {
    const header = mutated(HEADER, random);
    try {
      const { worker, tensors } = unpackTicket(reseal(header));
      assertEquals([worker.length, tensors.map(({ key }) => key.length)], [50, [10]], JSON.stringify(header));
      for (const { layout, address } of tensors) {
        assert(address > 0n && address + BigInt(layout.byteLength) <= 2n ** 64n);
      }
    } catch (error) {
      if (!(error instanceof ArgumentError) || error.api !== "ucx" || error.argument !== "ticket") throw error;
      refused++;
    }
  }
  assert(refused > COUNT / 2);
});

Deno.test("unpackTicket() refuses parts that are longer or shorter than the header says", () => {
  for (const parts of [[TICKET.worker], [TENSORS[0].key], [TICKET.worker, TICKET.worker], []]) {
    assertThrows(() => unpackTicket(reseal(HEADER, parts)), ArgumentError, "not as long as it says");
  }
});

ucxTest("connect() refuses a GPU's memory where UCX has no transport for it", () => {
  using ucx = UcxContext.open({ transports: ["tcp"] });
  const ticket = packTicket({ ...TICKET, tensors: [{ ...TENSORS[0], key: KEY.with(8, 1) }] });
  const { argument } = assertThrows(() => ucx.connect(ticket), ArgumentError, "without a transport for a GPU's memory");
  assertEquals(argument, "ticket");
});

Deno.test("unpackTicket() refuses addresses and keys that would have UCX end the process", () => {
  const shared = (key: Uint8Array<ArrayBuffer>) => ({ ...TICKET, tensors: [{ ...TENSORS[0], key }] });
  for (
    const [ticket, message] of [
      [{ ...TICKET, worker: Uint8Array.of(0x2f, 1) }, "of version 15"],
      [shared(KEY.slice(0, 8)), "a key has 8 bytes"],
      [shared(KEY.slice(0, 9)), "shorter than it says"],
      [shared(KEY.with(9, 1)), "shorter than it says"],
      [shared(KEY.with(0, 3)), "shorter than it says"],
      [shared(KEY.with(8, 2)), "neither the CPU's nor CUDA's"],
    ] as const
  ) {
    assertThrows(() => unpackTicket(packTicket(ticket)), ArgumentError, message);
  }
});
