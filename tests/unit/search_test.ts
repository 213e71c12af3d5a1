import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Context, Target } from "../../src/core/graph/context.ts";
import type { Refusal } from "../../src/core/errors.ts";
import { layout } from "../../src/core/layout/layout.ts";
import { edgeOf, isStep, type Mapper, type ProbedStep } from "../../src/core/graph/mapper.ts";
import { Described } from "../../src/core/tensors/described.ts";
import type { Transfer } from "../../src/core/graph/route.ts";
import { Edges, type Query, search } from "../../src/core/graph/search.ts";
import { fakeAllocation, fakeContext, FakeWork } from "./fakes.ts";
import { withEmptyLedger } from "./ledger.ts";

const KINDS = ["a", "b", "c", "d"];
const FORMS = 3;
const WAITS = [new FakeWork().fence];

/** What a mapper returns for one form of description. */
interface Answer {
  readonly refuses: boolean;
  readonly transfer: Transfer;
  /** When the host has to wait: never, always, or where there is something to wait for. */
  readonly hostWait: "never" | "always" | "pending";
  /** The form of what it makes. */
  readonly form: number;
}

interface Edge {
  readonly from: string;
  readonly to: string;
  /** One for each form. */
  readonly answers: readonly Answer[];
}

const anyAnswer: fc.Arbitrary<Answer> = fc.record({
  refuses: fc.integer({ min: 0, max: 9 }).map((n) => n < 2),
  transfer: fc.constantFrom<Transfer>("alias", "alias", "alias", "migrate", "copy"),
  hostWait: fc.constantFrom("never", "never", "always", "pending"),
  form: fc.nat(FORMS - 1),
});

const anyEdge: fc.Arbitrary<Edge> = fc.record({
  from: fc.constantFrom(...KINDS),
  to: fc.constantFrom(...KINDS),
  answers: fc.array(anyAnswer, { minLength: FORMS, maxLength: FORMS }),
});

const anyCase = fc.record({
  edges: fc.array(anyEdge, { maxLength: 6 }),
  twoContexts: fc.boolean(),
  form: fc.nat(FORMS - 1),
  goal: fc.nat(7),
  copies: fc.boolean(),
  waits: fc.boolean(),
});

/** How a form is described: as an address, a layout, or an image's modifier. */
type Spelling = (target: Target, form: number) => Described;

const formOf = (at: Described) =>
  Number(at.info?.type === "image" ? at.info.modifier : at.planes[0].address ?? at.planes[0].layout.byteOffset);

function mapperOf(edge: Edge, spell: Spelling): Mapper {
  return {
    from: edge.from,
    to: edge.to,
    probe(source, target, _access, waits): ProbedStep | Refusal {
      const answer = edge.answers[formOf(source)];
      const name = `${edge.from}→${edge.to}`;
      if (answer.refuses) {
        return { edge: name, reason: `not form ${formOf(source)} from ${edge.answers.indexOf(answer)}` };
      }
      const { transfer, form } = answer;
      const hostWait = answer.hostWait === "always" || answer.hostWait === "pending" && waits.length > 0;
      return { edge: name, transfer, hostWait, bytesMoved: transfer === "alias" ? 0 : 8, result: spell(target, form) };
    },
    map: () => {
      throw new Error("nothing is mapped in these tests");
    },
  };
}

interface Walk {
  /** Copies, migrations, host waits, steps. */
  readonly figures: readonly number[];
  /** Each step's place in the table. */
  readonly order: readonly number[];
}

const difference = (a: readonly number[], b: readonly number[]) => {
  const at = a.findIndex((n, i) => n !== b[i]);
  return at < 0 ? 0 : a[at] - b[at];
};
const compare = (a: Walk, b: Walk) => difference(a.figures, b.figures) || difference(a.order, b.order);

/** Every walk that visits no (target, form, waiting or not) twice; the best of those that reach the goal. */
function bruteForce(query: Query, mappers: readonly Mapper[], targets: readonly Target[]): Walk | undefined {
  let best: Walk | undefined;
  const visit = (at: Described, waits: Query["waits"], walk: Walk, seen: ReadonlySet<string>) => {
    if (at.target === query.goal) {
      if (best === undefined || compare(walk, best) < 0) best = walk;
      return;
    }
    // Figures only grow.
    if (best !== undefined && difference(walk.figures, best.figures) > 0) return;
    const here = `${targets.indexOf(at.target)} ${formOf(at)} ${waits.length}`;
    if (seen.has(here)) return;
    mappers.forEach((mapper, row) => {
      targets.forEach((target, column) => {
        if (mapper.from !== at.target.kind || mapper.to !== target.kind || target === at.target) return;
        const step = mapper.probe(at, target, query.access, waits);
        if (!isStep(step) || step.transfer === "copy" && !query.copies) return;
        const counts = [step.transfer === "copy", step.transfer === "migrate", step.hostWait, true];
        visit(step.result, step.hostWait ? [] : waits, {
          figures: walk.figures.map((figure, i) => figure + Number(counts[i])),
          order: [...walk.order, row * targets.length + column],
        }, new Set([...seen, here]));
      });
    });
  };
  visit(query.source, query.waits, { figures: [0, 0, 0, 0], order: [] }, new Set());
  return best;
}

function checkAgainstBruteForce(spell: Spelling, contexts: readonly Context[]): void {
  fc.assert(
    fc.property(anyCase, (given) => {
      const targets = contexts.slice(0, given.twoContexts ? 2 : 1).flatMap((context) => context.targets);
      // With two contexts an edge leads to two targets, and the walks are many more.
      const mappers = given.edges.slice(0, given.twoContexts ? 4 : 6).map((edge) => mapperOf(edge, spell));
      const query: Query = {
        source: spell(targets[0], given.form),
        goal: targets[given.goal % targets.length],
        access: "read-write",
        waits: given.waits ? WAITS : [],
        copies: given.copies,
      };
      const { steps, refused } = search(query, new Edges(mappers), targets);
      const expected = bruteForce(query, mappers, targets);
      assertEquals(steps === undefined, expected === undefined);
      assertEquals(
        new Set(refused.map((r) => `${r.edge}|${r.reason}`)).size,
        refused.length,
        "a refusal was told twice",
      );
      if (steps === undefined) return;
      const count = (what: (step: ProbedStep) => boolean) => steps.filter(({ step }) => what(step)).length;
      const found: Walk = {
        figures: [
          count((step) => step.transfer === "copy"),
          count((step) => step.transfer === "migrate"),
          count((step) => step.hostWait),
          steps.length,
        ],
        order: steps.map(({ mapper, target }) => mappers.indexOf(mapper) * targets.length + targets.indexOf(target)),
      };
      assertEquals(found, expected);
    }),
    { numRuns: 3000 },
  );
}

const plane = { layout: layout({ shape: [8], dtype: "u8" }), allocation: fakeAllocation(8), start: 0 };
const contexts = [fakeContext("one", KINDS), fakeContext("two", KINDS)];
const access = "read-write";

const spellings: Record<string, Spelling> = {
  "the layout": (target, form) =>
    new Described(target, access, [{ ...plane, layout: layout({ shape: [8], dtype: "u8", byteOffset: form }) }]),
  "the address": (target, form) => new Described(target, access, [{ ...plane, address: BigInt(form) }]),
  "the image": (target, form) =>
    new Described(target, access, [plane], {
      type: "image",
      format: "RGBA",
      width: 2,
      height: 1,
      fourcc: 0,
      modifier: BigInt(form),
    }),
};

for (const [what, spell] of Object.entries(spellings)) {
  Deno.test(
    `the best route, against every walk, where ${what} tells descriptions apart`,
    withEmptyLedger(() => checkAgainstBruteForce(spell, contexts)),
  );
}

const always = (answer: Partial<Answer>): readonly Answer[] =>
  Array(FORMS).fill({ refuses: false, transfer: "alias", hostWait: "never", form: 0, ...answer });
const from = (edges: readonly Edge[]) => edges.map((edge) => mapperOf(edge, spellings["the layout"]));
const [a, , c] = contexts[0].targets;
const source = spellings["the layout"](a, 0);
const query: Query = { source, goal: c, access, waits: [], copies: false };

Deno.test("a migration is avoided by any number of steps, a copy by any number of migrations", () => {
  const mappers = from([
    { from: "a", to: "c", answers: always({ transfer: "migrate" }) },
    { from: "a", to: "b", answers: always({}) },
    { from: "b", to: "c", answers: always({}) },
  ]);
  assertEquals(search(query, new Edges(mappers), contexts[0].targets).steps?.map((h) => edgeOf(h.mapper)), [
    "a→b",
    "b→c",
  ]);
  const copying = from([
    { from: "a", to: "c", answers: always({ transfer: "copy" }) },
    { from: "a", to: "b", answers: always({ transfer: "migrate", hostWait: "always" }) },
    { from: "b", to: "c", answers: always({ transfer: "migrate", hostWait: "always" }) },
  ]);
  const found = search({ ...query, copies: true }, new Edges(copying), contexts[0].targets);
  assertEquals(found.steps?.map((h) => edgeOf(h.mapper)), ["a→b", "b→c"]);
});

Deno.test("memory with work and memory without are different questions", () => {
  // The detour comes to b first, but has not waited; the direct route has, and needs a step less.
  const mappers = from([
    { from: "a", to: "d", answers: always({}) },
    { from: "d", to: "b", answers: always({}) },
    { from: "a", to: "b", answers: always({ hostWait: "always" }) },
    { from: "b", to: "c", answers: always({ hostWait: "pending" }) },
  ]);
  const found = search({ ...query, waits: WAITS }, new Edges(mappers), contexts[0].targets);
  assertEquals(found.steps?.map((h) => edgeOf(h.mapper)), ["a→b", "b→c"]);
});

Deno.test("the table decides between equal routes", () => {
  const twice: Edge = { from: "a", to: "c", answers: always({}) };
  const mappers = from([twice, twice]);
  assertEquals(search(query, new Edges(mappers), contexts[0].targets).steps?.[0].mapper, mappers[0]);
});

Deno.test("a copy that was not asked for is refused, with how to ask for it", () => {
  const mappers = from([{ from: "a", to: "c", answers: always({ transfer: "copy" }) }]);
  const { steps, refused } = search(query, new Edges(mappers), contexts[0].targets);
  assertEquals(steps, undefined);
  assertEquals(refused, [
    { edge: "a→c", reason: "it would copy 8 bytes to one.", remedy: 'Pass { copy: "allow" } to allow it.' },
  ]);
});

Deno.test("a refusal is reported where it closed a better route than the one found, or where no route is open", () => {
  const onward: Edge = { from: "b", to: "c", answers: always({}) };
  const told = (edges: readonly Edge[]) =>
    search(query, new Edges(from(edges)), contexts[0].targets).refused.map(({ edge }) => edge);
  const closed = { refuses: true };
  const direct: Edge = { from: "a", to: "c", answers: always(closed) };
  const detour: Edge = { from: "a", to: "b", answers: always({}) };
  assertEquals(told([direct, detour, onward]), ["a→c"]); // a step would do
  assertEquals(
    told([{ ...direct, answers: always({ transfer: "migrate" }) }, detour, { ...onward, answers: always(closed) }]),
    [
      "b→c",
    ],
  ); // two steps, and no migration
  assertEquals(
    told([{ ...direct, answers: always({ hostWait: "always" }) }, {
      ...detour,
      answers: always({ hostWait: "always" }),
    }, {
      ...onward,
      answers: always(closed),
    }]),
    [],
  ); // a detour, and it would wait too
  assertEquals(told([direct, { ...detour, answers: always(closed) }, onward]), ["a→c", "a→b"]);
  const longer = [{ from: "b", to: "d", answers: always(closed) }, {
    from: "d",
    to: "c",
    answers: always({}),
  }] as const;
  assertEquals(told([detour, ...longer, onward]), []); // a route over d would have a step more
});

Deno.test("an edge from which no route leads on is not asked", () => {
  const mappers = from([
    { from: "a", to: "b", answers: always({}) },
    { from: "b", to: "d", answers: always({ refuses: true }) },
    { from: "d", to: "b", answers: always({}) },
  ]);
  assertEquals(search(query, new Edges(mappers), contexts[0].targets), { steps: undefined, refused: [] });
});

Deno.test("a route that never comes to an end is given up", () => {
  // Each copy is a new block, so no description is met twice.
  const fresh = (edge: string, target: Target): ProbedStep => ({
    edge,
    transfer: "copy",
    hostWait: false,
    bytesMoved: 8,
    result: new Described(target, access, [{ ...plane, address: BigInt(++blocks) }]),
  });
  let blocks = 0;
  const mappers = [["a", "b"], ["b", "a"]].map(([from, to]): Mapper => ({
    from,
    to,
    probe: (_, target) => fresh(`${from}→${to}`, target),
    map: () => {
      throw new Error("nothing is mapped in these tests");
    },
  }));
  const { steps } = search({ ...query, copies: true }, new Edges(mappers), contexts[0].targets);
  assertEquals(steps, undefined);
  assert(blocks < 1000);
});
