import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import type { Access } from "../../src/core/memory/access.ts";
import { Allocation } from "../../src/core/memory/allocation.ts";
import { AccessError, DisposedError } from "../../src/core/errors.ts";
import { Grant } from "../../src/core/memory/grant.ts";
import type { Resource } from "../../src/core/life/resource.ts";
import { withEmptyLedger } from "./ledger.ts";

const BYTES = 12;
const ACCESSES: readonly Access[] = ["read", "write", "read-write"];

function allocationOf(byteLength: number): Allocation {
  const allocation = new Allocation({ kind: "test.block", byteLength, free: () => {} });
  allocation.join();
  return allocation;
}

/** What the model knows of a grant: who stands for the same bytes as it does, and who lent them. */
interface Node {
  readonly grant: Grant;
  readonly access: Access;
  readonly start: number;
  readonly end: number;
  /** The peers of an allocation, or a grant and its facets: what any of them lends is judged together. */
  readonly family: object;
  /** The family that lent it. */
  readonly lender: object | undefined;
  ended: boolean;
  returning: boolean;
}

type Verdict = "ended" | "exceeds" | "lent" | "yes" | "returning";

const contains = (node: Node, byte: number) => node.start <= byte && byte < node.end;
const covers = (held: Access, wanted: Access) => held === "read-write" || held === wanted;

/** Law 3, byte by byte. */
function judge(nodes: readonly Node[], node: Node, access: Access, start: number, end: number): Verdict {
  if (node.ended) return "ended";
  if (!covers(node.access, access)) return "exceeds";
  let verdict: Verdict = "yes";
  for (let byte = start; byte < end; byte++) {
    for (const other of nodes) {
      if (other.ended || other.lender !== node.family || !contains(other, byte)) continue;
      if (access === "read" && other.access === "read") continue;
      if (!other.returning) return "lent";
      verdict = "returning";
    }
  }
  return verdict;
}

function answer(grant: Grant, access: Access, start: number, end: number): Verdict {
  try {
    return grant.conflicts(access, start, end).length > 0 ? "returning" : "yes";
  } catch (error) {
    if (error instanceof DisposedError) return "ended";
    assert(error instanceof AccessError);
    return error.message.includes("are lent to") ? "lent" : "exceeds";
  }
}

/** A resource that is on its way back, and not over. */
const RETURNING = { state: "returning", onTheWayBack: true, settleIfOver() {}, assertLive() {} } as unknown as Resource;

const anyOp = fc.record({
  what: fc.constantFrom(
    ...["lend", "lend", "lend", "lend", "facet", "peer", "peer", "peer", "end", "end", "return"] as const,
    ...["hand over", "hand over", "hand over"] as const,
  ),
  whom: fc.nat(1000),
  access: fc.constantFrom(...ACCESSES),
  from: fc.oneof(fc.constant(0), fc.nat(BYTES - 1)),
  count: fc.oneof(fc.constant(BYTES), fc.integer({ min: 1, max: BYTES })),
});

Deno.test(
  "who may use which bytes, against a judge that looks at every byte",
  withEmptyLedger(() => {
    fc.assert(
      fc.property(fc.array(anyOp, { maxLength: 25 }), (ops) => {
        const allocation = allocationOf(BYTES);
        const roots = {};
        const nodes: Node[] = [];
        const add = (grant: Grant, family: object, lender: object | undefined) => {
          const { access, start, end } = grant;
          nodes.push({ grant, access, start, end, family, lender, ended: false, returning: false });
        };
        const addPeer = (grant: Grant) => {
          const { access, start, end } = grant;
          const loans = nodes.filter((node) =>
            node.grant.isForeign && !node.ended && node.start <= start && end <= node.end && covers(node.access, access)
          );
          const loan = loans.find((node) => node.grant === grant.loan);
          assertEquals(loan === undefined, loans.length === 0);
          assert(loans.every(({ lender }) => lender !== loan!.family), "another loan of these bytes lies further in");
          add(grant, loan?.family ?? roots, loan?.lender);
        };
        add(Grant.root(allocation, 0, BYTES, "read-write", "root"), roots, undefined);
        for (const op of ops) {
          const node = nodes[op.whom % nodes.length];
          const start = node.start + op.from % (node.end - node.start);
          const end = Math.min(node.end, start + op.count);
          if (op.what === "peer") {
            addPeer(Grant.root(allocation, op.from, Math.min(BYTES, op.from + op.count), op.access, "peer"));
          } else if (op.what === "facet" && !node.ended) {
            add(node.grant.facet(start, end, "facet"), node.family, undefined);
          } else if (op.what === "return" && node.lender !== undefined) {
            node.grant.resource = RETURNING;
            node.returning = true;
          } else if (op.what === "hand over" && node.lender !== undefined && node.grant.loan === undefined) {
            node.grant.isForeign = true;
          } else if (op.what === "end") {
            // As resources end: what was lent goes first.
            for (const other of [...nodes].reverse()) {
              if (other !== node && !other.grant.isWithin(node.grant)) {
                continue;
              }
              other.grant.finish();
              other.ended = true;
            }
          } else if (op.what === "lend" && judge(nodes, node, op.access, start, end) === "yes") {
            add(node.grant.lend(op.access, start, end, "borrower"), {}, node.family);
          }
          for (const each of nodes) {
            for (const access of ACCESSES) {
              for (const [s, e] of [[each.start, each.end], [Math.max(start, each.start), Math.min(end, each.end)]]) {
                if (s < e) assertEquals(answer(each.grant, access, s, e), judge(nodes, each, access, s, e));
              }
            }
          }
        }
        for (const { grant } of nodes) grant.finish();
        assertEquals([...allocation.lends], []);
        allocation.leave();
      }),
      { numRuns: 1500 },
    );
  }),
);

Deno.test(
  "one writer or many readers for each byte, whatever was lent",
  withEmptyLedger(() => {
    fc.assert(
      fc.property(fc.array(anyOp, { maxLength: 25 }), (ops) => {
        const allocation = allocationOf(BYTES);
        const grants: { grant: Grant; family: object }[] = [
          { grant: Grant.root(allocation, 0, BYTES, "read-write", "root"), family: allocation },
        ];
        for (const op of ops) {
          const { grant, family } = grants[op.whom % grants.length];
          const start = grant.start + op.from % (grant.end - grant.start);
          const end = Math.min(grant.end, start + op.count);
          if (grant.state === "ended") continue;
          if (op.what === "facet") grants.push({ grant: grant.facet(start, end, "facet"), family });
          else if (op.what === "hand over" && grant.parent !== undefined) grant.isForeign = true;
          else if (op.what === "peer") {
            const peer = Grant.root(allocation, start, end, op.access, "peer");
            const loan = grants.find(({ grant }) => grant === peer.loan);
            grants.push({ grant: peer, family: loan?.family ?? allocation });
          } else if (op.what === "end" && grant.parent !== undefined) {
            for (const other of grants) if (other.grant.isWithin(grant)) other.grant.finish();
          } else if (answer(grant, op.access, start, end) === "yes") {
            grants.push({ grant: grant.lend(op.access, start, end, "borrower"), family: {} });
          }
          for (let byte = 0; byte < BYTES; byte++) {
            const holders = grants.filter(({ grant }) => grant.start <= byte && byte < grant.end);
            const mayNow = (access: Access) =>
              new Set(
                holders.filter(({ grant }) => answer(grant, access, byte, byte + 1) === "yes").map((h) => h.family),
              );
            const writers = mayNow("write");
            assert(writers.size <= 1, `${writers.size} writers of byte ${byte}`);
            if (writers.size === 1) {
              assert(mayNow("read").isSubsetOf(writers), `a reader beside the writer of byte ${byte}`);
            }
          }
        }
        for (const { grant } of grants) {
          grant.finish();
        }
        allocation.leave();
      }),
      { numRuns: 1000 },
    );
  }),
);

Deno.test(
  "a refusal names the user, the borrower, the bytes, and what to do",
  withEmptyLedger(() => {
    const allocation = allocationOf(BYTES);
    const root = Grant.root(allocation, 0, BYTES, "read-write", "the photo");
    const lent = root.lend("write", 4, 8, "the blur");
    assertEquals([root.state, lent.state], ["lent", "live"]);
    const error = assertThrows(() => root.conflicts("read"), AccessError);
    assertEquals(
      error.message,
      'the photo cannot be used for "read": bytes 4 to 8 are lent to the blur for "write". Dispose the blur first.',
    );
    assertEquals(root.conflicts("write", 8, 12), []);
    lent.finish();
    lent.finish();
    assertEquals([root.state, lent.state], ["live", "ended"]);
    assertThrows(() => lent.conflicts("read"), DisposedError, "the blur was disposed");
    const reader = root.lend("read", 0, BYTES, "a reader");
    assertEquals(assertThrows(() => reader.conflicts("write"), AccessError).argument, "access");
    const hints = (["write", "read-write"] as const).map((access) =>
      assertThrows(() => root.conflicts(access), AccessError).hint
    );
    assertEquals(hints, [
      "Dispose a reader first.",
      'Dispose a reader first. Until then they can be read: { access: "read" }.',
    ]);
    reader.finish();
    allocation.leave();
  }),
);

Deno.test(
  "bytes on their way back are answered, not refused",
  withEmptyLedger(() => {
    const allocation = allocationOf(BYTES);
    const root = Grant.root(allocation, 0, BYTES, "read-write", "root");
    const lent = root.lend("read-write", 0, 4, "borrower");
    lent.resource = RETURNING;
    assertEquals(lent.state, "returning");
    assertEquals(root.conflicts("write"), [lent]);
    assertEquals(root.conflicts("write", 4, 8), []);
    lent.finish();
    allocation.leave();
  }),
);

Deno.test(
  "grants: a copy of what was lent is judged with those who wrap the copy's bytes",
  withEmptyLedger(() => {
    const [original, copy] = [allocationOf(BYTES), allocationOf(4096)];
    const lent = Grant.root(original, 0, BYTES, "read-write", "the original").lend("read-write", 0, BYTES, "the copy");
    const shown = lent.elsewhere(copy);
    assertEquals([shown.start, shown.end, shown.isWithin(lent.parent!)], [0, 4096, true]);
    const peer = Grant.root(copy, 0, 16, "read-write", "a wrap");
    for (const one of [shown, peer]) {
      one.resource = { work: { line: {} } } as Resource;
      one.beginWork();
    }
    assertEquals([shown.busyPeers, peer.busyPeers], [[peer], [shown]]);
    const kernel = shown.lend("read-write", 0, BYTES, "a map");
    assertThrows(() => peer.conflicts("read"), AccessError, "are lent to a map");
    kernel.finish();
    assertEquals(peer.conflicts("read"), []);
    shown.finish();
    assertEquals(peer.busyPeers, []);
    for (const allocation of [original, copy]) allocation.leave();
  }),
);

Deno.test(
  "Grant.busyPeers of what came back from a loan are the planes of others that came back from it, too",
  withEmptyLedger(() => {
    const allocation = allocationOf(BYTES);
    const lent = Grant.root(allocation, 0, BYTES, "read-write", "a tensor").lend("read-write", 0, BYTES, "a loan");
    lent.parent!.resource = { assertLive() {} } as Resource;
    lent.isForeign = true;
    const [frame, array] = ["a frame", "an array"].map((name) => Grant.root(allocation, 0, BYTES, "read-write", name));
    const plane = frame.facet(0, 4, "a plane");
    plane.resource = { work: { line: {} } } as Resource;
    plane.beginWork();
    assertEquals([array.busyPeers, frame.busyPeers], [[plane], []]);
    plane.finish();
    assertEquals(array.busyPeers, []);
    allocation.leave();
  }),
);

Deno.test(
  "Grant.overlaps() is true of two that have a byte in common, in one block",
  withEmptyLedger(() => {
    const [allocation, another] = [allocationOf(BYTES), allocationOf(BYTES)];
    const of = (block: Allocation, start: number, end: number) => Grant.root(block, start, end, "read", "a tensor");
    const middle = of(allocation, 4, 8);
    const others = [[0, 4], [8, 12], [0, 5], [7, 12], [5, 6], [0, 12]] as const;
    assertEquals(others.map(([start, end]) => middle.overlaps(of(allocation, start, end))), [
      ...[false, false],
      ...[true, true, true, true],
    ]);
    assertEquals(others.map(([start, end]) => of(allocation, start, end).overlaps(middle)), [
      ...[false, false],
      ...[true, true, true, true],
    ]);
    assertEquals(middle.overlaps(of(another, 4, 8)), false);
    for (const each of [allocation, another]) each.leave();
  }),
);

Deno.test(
  "Grant.busyPeers are the other owners with work, and the planes of theirs, that have a byte in common",
  withEmptyLedger(() => {
    const allocation = allocationOf(BYTES);
    const frame = Grant.root(allocation, 0, BYTES, "read-write", "a frame");
    const planes = [[0, 4], [4, 8], [8, 12]].map(([start, end]) => frame.facet(start, end, `plane ${start}`));
    for (const one of [frame, ...planes]) one.resource = { work: { line: {} } } as Resource;
    const peersOf = (start: number, end: number) => {
      const grant = Grant.root(allocation, start, end, "read-write", "a peer");
      const { busyPeers } = grant;
      grant.finish();
      return busyPeers.toSorted((one, other) =>
        other.end - other.start - (one.end - one.start) || one.start - other.start
      );
    };
    assertEquals(peersOf(4, 8), [frame, planes[1]]);
    assertEquals(peersOf(3, 9), [frame, ...planes]);
    assertEquals(peersOf(7, 9), [frame, planes[1], planes[2]]);
    allocation.indivisible = true;
    assertEquals(peersOf(4, 8), [frame, ...planes]);
    frame.finish();
    allocation.leave();
  }),
);
