import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Allocation } from "../../src/core/memory/allocation.ts";
import { AccessError, InteropError } from "../../src/core/errors.ts";
import type { Call } from "../../src/core/contract.ts";
import { Grant } from "../../src/core/memory/grant.ts";
import { Resource, type ResourceState } from "../../src/core/life/resource.ts";
import { command, fakeAllocation, FakeDriver, type FakeLane, fakes, FakeWork, misuses } from "./fakes.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

const STATES: readonly ResourceState[] = ["live", "closing", "returning", "freed"];
const STEPS = 2;
const other = new FakeDriver("other");

/** One thing that happens; each number picks from what is there. */
interface Op {
  readonly what: "make" | "step" | "work" | "hold" | "letGo" | "workEnds" | "end" | "settle" | "wait";
  readonly which: number;
  readonly more: number;
  readonly how: "dispose" | "disposeAsync" | "disposeAfter" | "finalize";
  readonly kind: FakeWork["kind"];
  readonly fails: boolean;
  readonly foreign: boolean;
}

const anyOp: fc.Arbitrary<Op> = fc.record({
  what: fc.constantFrom<Op["what"]>(
    ...["make", "make", "step", "work", "work", "hold", "letGo", "workEnds", "end", "end", "settle", "wait"] as const,
  ),
  which: fc.nat(1000),
  more: fc.nat(1000),
  how: fc.constantFrom("dispose", "dispose", "disposeAsync", "disposeAfter", "finalize"),
  kind: fc.constantFrom("device", "device", "gated"),
  fails: fc.integer({ min: 0, max: 9 }).map((n) => n < 2),
  foreign: fc.boolean(),
});

/** Work in flight: a program's, or a command that gives bytes back. */
interface Flight {
  readonly kind: FakeWork["kind"];
  readonly over: boolean;
  readonly lane: FakeLane;
  end(): void;
}

/** What the model knows of a resource. */
interface Node {
  readonly resource: Resource;
  readonly grant: Grant;
  readonly allocation: Allocation;
  readonly owners: readonly Node[];
  readonly intermediate: Node | undefined;
  readonly works: { work: Flight; foreign: boolean }[];
  readonly holds: (() => void)[];
  released: number;
  gaveBack: boolean;
  followed: boolean;
  state: ResourceState;
}

/** All that there is in one run, and what must hold of it at any time. */
class World {
  readonly nodes: Node[] = [];
  readonly failures: Error[] = [];
  readonly thrown: unknown[] = [];
  readonly pending: Promise<unknown>[] = [];
  readonly works: Flight[] = [];
  /** What the core did wrong while it ran our code: it keeps what is thrown there. */
  readonly violations: unknown[] = [];

  failure(): Error {
    const failure = new Error(`failure ${this.failures.length};`);
    this.failures.push(failure);
    return failure;
  }

  must(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.violations.push(error);
    }
  }

  work(op: Op): FakeWork {
    const work = new FakeWork(op.kind, op.fails ? this.failure() : undefined, op.foreign ? other : fakes);
    this.works.push(work);
    return work;
  }

  dependents(node: Node): Node[] {
    return this.nodes.filter((each) => each.owners.includes(node));
  }

  /** What ends with a node: what depends on it, and the intermediates of all those that nothing else is ending. */
  closure(node: Node, found: Set<Node> = new Set()): Set<Node> {
    if (found.has(node)) return found;
    found.add(node);
    for (const each of this.dependents(node)) this.closure(each, found);
    if (node.intermediate?.resource.state === "live") this.closure(node.intermediate, found);
    return found;
  }

  make(op: Op, owners: readonly Node[], intermediate?: Node): Node {
    const name = `r${this.nodes.length}`;
    const root = owners.length === 0;
    const allocation = root ? fakeAllocation(8) : owners[0].allocation;
    const grant = root ? Grant.root(allocation, 0, 8, "read", name) : owners[0].grant.lend("read", 0, 8, name);
    const stepFails = op.fails && op.more % 3 === 0 ? op.more % STEPS : -1;
    const backFails = op.fails && op.more % 3 === 1;
    const step = (n: number) => () => {
      this.must(() => {
        this.mayRelease(node);
        assertEquals(node.released, STEPS - 1 - n, `${name}: each step is released once, the newest first`);
      });
      node.released++;
      if (root && n === 0) allocation.leave();
      if (n === stepFails) throw this.failure();
    };
    const line = fakes.line(`the way back of ${name}`);
    const back = (fails: boolean): Call<FakeLane> => {
      if (backFails) throw this.failure();
      const made = command(() => {
        if (fails) throw this.failure();
      });
      const call = (lane: FakeLane) => {
        this.must(() => this.mayRunBehind(node, lane));
        const mark = line.submitted + 1;
        const work: Flight = {
          ...{ kind: "device", lane, end: () => lane.run() },
          get over() {
            return lane.over >= mark;
          },
        };
        this.works.push(work);
        node.works.push({ work, foreign: false });
        return made.call(lane);
      };
      return { fn: "back", call };
    };
    const giveBack = {
      line,
      step: (n: number) => {
        if (n === 0) {
          this.must(() => this.mayReturn(node));
          return back(op.fails && op.more % 3 === 2);
        }
        if (n > 1 || op.which % 2 === 0) return undefined;
        this.must(() => this.mayFollow(node));
        return back(false);
      },
    };
    const resource = new Resource({
      name,
      grants: [grant],
      undo: Array.from({ length: STEPS }, (_, n) => step(n)),
      owners: owners.map((owner) => owner.resource),
      ...(op.more % 2 === 0 ? {} : { giveBack }),
    });
    if (intermediate !== undefined) resource.own(intermediate.resource);
    const node: Node = {
      ...{ resource, grant, allocation, owners, intermediate },
      ...{ works: [], holds: [], released: 0, gaveBack: false, followed: false, state: "live" },
    };
    this.nodes.push(node);
    return node;
  }

  mayReturn(node: Node): void {
    const { name } = node.resource;
    assert(!node.gaveBack, `${name} was given back twice`);
    node.gaveBack = true;
    assertEquals(node.resource.state, "returning");
    assertEquals(node.holds, [], `${name} was given back while a lend is in flight`);
    assertEquals(this.dependents(node).filter((each) => each.resource.state !== "freed"), []);
    assert(
      node.works.every(({ work, foreign }) => !foreign || work.over),
      `${name} was given back before foreign work`,
    );
  }

  mayRunBehind(node: Node, { waits }: FakeLane): void {
    const waited = new Set(waits.map(({ of }) => of));
    const stray = node.works.filter(({ work }) => !work.over && !waited.has(work.lane));
    assertEquals(stray.length, 0, `${node.resource.name} was given back beside its work`);
  }

  mayFollow(node: Node): void {
    const { name, state } = node.resource;
    assert(node.gaveBack && !node.followed, `${name}: the second half of the way back comes once, after the first`);
    node.followed = true;
    assertEquals(state, "returning");
    assert(node.works.every(({ work }) => work.over), `${name}: the second half comes while work is in flight`);
  }

  mayRelease(node: Node): void {
    const { name, state } = node.resource;
    assertEquals(state, "returning", `${name} is released in this state`);
    assert(node.works.every(({ work }) => work.over), `${name} is released while work is in flight`);
    assertEquals(node.holds, [], `${name} is released while a lend is in flight`);
    assertEquals(
      this.dependents(node).filter((each) => each.released < STEPS),
      [],
      `${name} is released before dependents`,
    );
  }

  /** Whatever happened: states only move forward, and grants end with their holders. */
  check(): void {
    if (this.violations.length > 0) throw this.violations[0];
    for (const node of this.nodes) {
      const { state, name } = node.resource;
      assert(STATES.indexOf(state) >= STATES.indexOf(node.state), `${name} went from ${node.state} to ${state}`);
      node.state = state;
      assertEquals(
        node.grant.state === "ended",
        state === "freed",
        `${name} is ${state}, its grant ${node.grant.state}`,
      );
      assertEquals(node.released === STEPS, state === "freed");
      if (state === "live") assert(node.owners.every((owner) => owner.resource.state === "live"));
    }
  }

  took(error: unknown): void {
    if (error instanceof AccessError) {
      assert(this.works.some((work) => work.kind === "gated" && !work.over), "nothing waits for a gate");
    } else if (error instanceof InteropError && error.errors !== undefined) this.thrown.push(...error.errors);
    else this.thrown.push(error);
  }

  try(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.took(error);
    }
  }

  /** What a node is an intermediate of, at last; the node itself if it is no intermediate. */
  madeFor(node: Node): Node {
    const next = this.nodes.find(({ intermediate }) => intermediate === node);
    return next === undefined ? node : this.madeFor(next);
  }

  end(node: Node, op: Op): void {
    const { resource } = node;
    const wasLive = resource.state === "live";
    // A finalizer of a forgotten intermediate ends what that was made for.
    const ended = op.how === "finalize" ? this.madeFor(node) : node;
    const closure = [...this.closure(ended)];
    if (op.how === "dispose") {
      this.try(() => resource.dispose());
      const stuck = closure.some(({ holds, works }) =>
        holds.length > 0 || works.some(({ work }) => work.kind === "gated" && !work.over)
      );
      if (wasLive && !stuck) assertEquals(closure.filter((each) => each.resource.state !== "freed"), []);
    } else if (op.how === "disposeAsync") {
      this.pending.push(resource.disposeAsync().catch((error) => this.took(error)));
    } else if (op.how === "finalize") resource.finalize();
    else if (wasLive) {
      const work = this.work(op);
      node.works.push({ work, foreign: op.foreign });
      resource.disposeAfter(work.fence);
    }
    if (op.how === "finalize" && ended.holds.length > 0) return; // it ends once it is let go
    assert(closure.every((each) => each.resource.state !== "live") || ended.intermediate !== undefined);
  }

  async run(op: Op): Promise<void> {
    const live = this.nodes.filter(({ resource }) => resource.state === "live");
    const node = live[op.which % live.length];
    const held = this.nodes.filter(({ holds }) => holds.length > 0);
    if (op.what === "make" || node === undefined) {
      const second = live[op.more % live.length];
      this.make(
        op,
        op.which % 4 === 0 || node === undefined ? [] : node === second || op.fails ? [node] : [node, second],
      );
    } else if (op.what === "step") {
      // As the graph does it: every step depends on it, and has the one before as owner and as intermediate. The last of a
      // chain depends on the chain's source too, which may be an intermediate itself.
      const graph = live[op.more % live.length];
      const owners = (from: Node) => graph === from ? [from] : [from, graph];
      let at = this.make(op, owners(node));
      const before: Node[] = [];
      for (let i = 0; i <= op.more % 3; i++) {
        const next = this.make({ ...op, more: op.which + i }, [at, ...before, ...owners(graph)], at);
        if (op.foreign) before.push(at);
        at = next;
      }
    } else if (op.what === "work") {
      const work = this.work(op);
      node.works.push({ work, foreign: op.foreign });
      node.resource.usedBy(work.fence);
    } else if (op.what === "hold") node.holds.push(node.resource.hold());
    else if (op.what === "letGo" && held.length > 0) held[op.which % held.length].holds.pop()!();
    else if (op.what === "workEnds" && this.works.length > 0) this.works[op.which % this.works.length].end();
    else if (op.what === "end") this.end(node, op);
    else if (op.what === "settle") {
      const returning = this.nodes.filter(({ resource }) => resource.state === "returning");
      if (returning.length > 0) this.try(() => returning[op.which % returning.length].resource.settle());
    } else if (op.what === "wait") await new Promise((resolve) => setTimeout(resolve));
    this.check();
  }

  /** Lets everything come to its end; it has to. */
  async finish(): Promise<void> {
    for (let i = 0; this.nodes.some(({ resource }) => resource.state !== "freed"); i++) {
      assert(
        i < 100,
        `never freed: ${this.nodes.filter((n) => n.resource.state !== "freed").map((n) => n.resource.name)}`,
      );
      for (const { holds } of this.nodes) for (const letGo of holds.splice(0)) letGo();
      for (const work of this.works) work.end();
      for (const { resource } of this.nodes) this.try(() => resource.dispose());
      await new Promise((resolve) => setTimeout(resolve, i));
      this.check();
    }
    await Promise.all(this.pending);
  }
}

Deno.test({
  name: "the end of life, in any order of events",
  fn: withEmptyLedger(async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyOp, { maxLength: 40 }), async (ops) => {
        const world = new World();
        misuses.length = 0;
        const warnings = await warningsOf(async () => {
          for (const op of ops) await world.run(op);
          await world.finish();
        });
        const told = (failure: Error) =>
          world.thrown.filter((error) => error === failure).length +
          warnings.filter((warning) => warning.includes(failure.message)).length;
        for (const failure of world.failures) assertEquals(told(failure), 1, `${failure.message} was told this often`);
        assertEquals(world.thrown.length, new Set(world.thrown).size);
        assertEquals(misuses, []);
        for (const { allocation } of world.nodes) assertEquals([...allocation.lends], []);
      }),
      { numRuns: 1500 },
    );
  }),
});
