import { assert, assertEquals } from "@std/assert";
import { nameOf, portsOf } from "../../../src/core/graph/context.ts";
import { ledger } from "../../../src/core/life/ledger.ts";
import type { Tensor } from "../../../src/core/tensors/tensor.ts";
import { host } from "../../../src/host/mod.ts";
import { close, sweep } from "../../faults/sweep.ts";
import { across, type Case, filled, infoOf, NotHere, SIZE } from "../case.ts";
import { assertSame, bytesAt, until } from "../bytes.ts";
import { collect } from "../../gc.ts";
import { assertHeld, held, heldSince, mappedBytes, moreOf } from "../held.ts";
import type { End, Subject } from "../subject.ts";
import { attachersOf } from "./attach.ts";

/** So many allocations, and the bytes of each. */
const [COUNT, LARGE] = [100, 1 << 20];

/** A heap grows in one round and not in the next; a leak is there in both. */
const ROUNDS = 2;

/** Bytes of addresses that may come to be mapped meanwhile: a thread's stack, an arena of malloc's. */
const MAX_MAPPED = 32 << 20;

/** What an API makes without a map: its contexts, its memory, and what it takes over. */
export const LEAKS: readonly Case[] = [
  {
    name: "host-address-known",
    async run(subject) {
      const ends = [subject.source, subject.target].filter(isSeenByHost);
      if (ends.length === 0) throw new NotHere("neither end gives its memory to the host in place");
      for (const end of ends) {
        const { source: tensor, bytes } = await filled(end);
        using _ = tensor;
        assertSame(bytesOf(end, tensor), bytes, `the bytes at the host address of ${tensor.name}`);
      }
      if (subject.source.target !== host || !ends.includes(subject.target)) return;
      const { source } = await filled(subject.source);
      using _ = source;
      await using mapped = across(subject, source);
      if (mapped.route.steps.some(({ transfer }) => transfer !== "alias")) return;
      const { address } = source.described.range;
      assertEquals(mapped.described.range.address, address, `the host address of ${mapped.name}, mapped in place`);
    },
  },
  {
    name: "hundred-allocations",
    async run(subject) {
      for (const end of makersOf(subject)) await allocationsLeaveNothing(subject, end);
    },
  },
  {
    name: "fault-at-every-allocation",
    alone: true,
    async run(subject) {
      const operations = makersOf(subject).flatMap((end) => {
        const shape = end.shapeOf?.(SIZE) ?? [SIZE];
        const tensor = () => end.allocate({ shape, dtype: "u8" })[Symbol.dispose]();
        const info = infoOf(subject, { width: 64, height: 48 });
        const frame = () => end.allocateFrame!(info)[Symbol.dispose]();
        return end.allocateFrame === undefined ? [tensor] : [tensor, frame];
      });
      const { silent = [], silentAtAllocating = [] } = subject;
      await sweepAll(subject, operations, [...silent, ...silentAtAllocating]);
    },
  },
  {
    name: "fault-at-every-attach",
    alone: true,
    async run(subject) {
      const all = attachersOf(subject).map((end) => end.foreign!());
      const operations = all.map((theirs) => () => {
        let calls = 0;
        try {
          theirs.attach({ owner: () => void calls++ })[Symbol.dispose]();
        } finally {
          assertEquals(calls, 1, "calls of the owner");
        }
      });
      await sweepAll(subject, operations, [...subject.silent ?? [], ...subject.silentAtAttaching ?? []], all);
    },
  },
  {
    name: "fault-at-opening",
    alone: true,
    opens: true,
    async run(subject) {
      const { openContext, silent = [], silentAtOpening = [] } = subject;
      if (openContext === undefined) {
        const ends = [subject.source, subject.target].some(({ target: { context } }) => context.resource !== undefined);
        assert(!ends, "its subject has no openContext, which may be left out only where contexts are always there");
        throw new NotHere("its contexts are always there");
      }
      await sweepAll(subject, [() => openContext()[Symbol.dispose]()], [...silent, ...silentAtOpening]);
    },
  },
];

/** After a few more, by which pools have their size. Names tell what stays; of memory without one, the addresses do. */
async function allocationsLeaveNothing({ quiet, alive = () => 0 }: Subject, end: End): Promise<void> {
  const shape = end.shapeOf?.(SIZE) ?? [LARGE];
  const run = (count: number) => {
    for (let i = 0; i < count; i++) end.allocate({ shape, dtype: "u8" })[Symbol.dispose]();
    quiet?.();
  };
  run(COUNT / 10);
  let left: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const [before, addresses, objects] = [{ ...held(), ...ledger.alive }, mappedBytes(), alive()];
    const look = async () => {
      const more = [...moreOf(before, ledger.alive), ...await heldSince(before)];
      const [mapped, made] = [mappedBytes() - addresses, alive() - objects];
      if (mapped > MAX_MAPPED) more.push(`${mapped} more bytes of addresses`);
      if (made > 0) more.push(`${made} more native objects`);
      return more;
    };
    run(COUNT);
    if ((await look()).length === 0) return;
    await collect(); // what an API of the tests' own allocates in JavaScript
    left = await look();
    if (left.length === 0) return;
  }
  assert(false, `${COUNT} allocations of ${nameOf(end.target)} leave ${left.join(", ")}, again and again`);
}

/** Makes each native call of some operations fail once. They leave nothing: no object, no fd, no mapping, no file. */
async function sweepAll(
  subject: Subject,
  operations: readonly (() => void)[],
  silent: readonly string[] = subject.silent ?? [],
  made: readonly Disposable[] = [],
): Promise<void> {
  const alive = () => {
    subject.quiet?.();
    return subject.alive?.() ?? 0;
  };
  for (const operation of operations) {
    operation(); // what is opened at the first use stays
    operation();
    const [before, most] = [held(), alive()];
    await sweep(operation, async () => {
      assert(await until(() => alive() <= most), `${alive()} native objects, and ${most} before`);
      await assertHeld(before);
    }, silent);
  }
  close(...made, subject);
}

/** The ends that make memory of their own; the host's is that of every API (tests/faults/host_test.ts). */
function makersOf({ source, target }: Subject): End[] {
  return [source, target].filter((end) => !end.onlyMapped && end.target !== host);
}

/** True where a kind of memory says that the host uses it in place. */
function isSeenByHost({ target, onlyMapped, hidden }: End): boolean {
  const offers = portsOf(target)?.exports ?? [];
  const seen = offers.some(({ kind, transfer }) => kind === "host-pointer" && transfer === undefined);
  return seen && !onlyMapped && !hidden;
}

function bytesOf({ target }: End, tensor: Tensor): Uint8Array {
  const { address } = tensor.described.range;
  const what =
    `${tensor.name} has no host address, though ${nameOf(target)} gives it to the host in place: routes that ` +
    "go on from it are not proven, and migrate (hostAddress, see docs/contributing/new-backend.md)";
  assert(address !== undefined, what);
  return bytesAt(address, tensor.layout.byteLength);
}
