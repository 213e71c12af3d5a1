/** The suite over the template for memory without commands, which it accepts, and over copies with a fault, which it rejects. */
import "./edges.ts"; // first: it makes native calls fail
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { temporaryFolder } from "../package/project.ts";
import { CASES, casesOf } from "./cases/mod.ts";
import { EdgeRun, type Row } from "./rows.ts";
import { shm } from "./shm.ts";
import { FOLDER, PREFIX, type ShmContext } from "./template/memory/backend.ts";

const TEMPLATE = new URL("./template/memory/backend.ts", import.meta.url);

/** A fault: what stands in the template, what a careless copy says instead, and the case that finds it with a word of it. */
interface Fault {
  readonly right: string;
  readonly wrong: string;
  readonly found: string;
  readonly says: string;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  "never unmaps": {
    right: "() => unmapPages(handle, byteLength)",
    wrong: "() => {}",
    found: "hundred-allocations",
    says: `more bytes mapped of ${FOLDER}/${PREFIX}`,
  },
  "never unlinks": {
    right: 'if (libc().unlink(path) !== 0) throw libcError("unlink");',
    wrong: "",
    found: "hundred-allocations",
    says: `1 more files ${FOLDER}/${PREFIX}`,
  },
  "never closes an fd": {
    right: 'owned("shm.fd", undo, () => closeFd(fd))',
    wrong: 'owned("shm.fd", undo, () => {})',
    found: "hundred-allocations",
    says: `1 more fds of ${FOLDER}/${PREFIX}`,
  },
  "does not look at what ftruncate returns": {
    right: 'if (libc().ftruncate(fd, BigInt(byteLength)) !== 0) throw libcError("ftruncate")',
    wrong: "libc().ftruncate(fd, BigInt(byteLength))",
    found: "fault-at-every-allocation",
    says: "failures that went unsaid",
  },
  "forgets what it has made where a later step fails": {
    right: 'allOrNothing("allocating", (undo) =>',
    wrong:
      '((_: string, make: (undo: Undo) => { handle: Address; address: Address; release(): void }) => make([]))("", (undo) =>',
    found: "fault-at-every-allocation",
    says: "call 1 of libc.ftruncate",
  },
  "never unmaps what is attached": {
    right: "() => unmapPages(address, byteLength)",
    wrong: "() => {}",
    found: "fault-at-every-attach",
    says: "more bytes mapped of /memfd:",
  },
  "keeps the fd of an attach that fails": {
    right: `    owned("shm.fd", undo, () => closeFd(kept));
    const { identity, byteLength: size } = statusOf(kept);`,
    wrong: `    const { identity, byteLength: size } = statusOf(kept);
    owned("shm.fd", undo, () => closeFd(kept));`,
    found: "fault-at-every-attach",
    says: "1 more fds of /memfd:",
  },
  "makes two blocks of a file that is attached twice": {
    right: 'kind: "file", handle: identity',
    wrong: "handle: identity",
    found: "attached-twice",
    says: "one native object is two allocations",
  },
  "attaches for reading and writing, whatever is asked": {
    right: '"attached shared memory", access }',
    wrong: '"attached shared memory" }',
    found: "attached-for-reading",
    says: "read-write",
  },
  "calls no owner": {
    right: "attaching(options, (access) => {",
    wrong: "attaching({ ...options, owner: () => {} }, (access) => {",
    found: "attach-that-fails",
    says: "calls of the owner",
  },
  "forgets the maker's work": {
    right: "attaching(options, (access) => {",
    wrong: "attaching({ access: options.access, owner: options.owner } as AttachOptions, (access) => {",
    found: "attached-after-work",
    says: "calls of the owners before their work is over",
  },
  "keeps the fd of an opening that fails": {
    right: `    owned("shm.folder", undo, () => closeFd(fd));
    statusOf(fd);`,
    wrong: `    statusOf(fd);
    owned("shm.folder", undo, () => closeFd(fd));`,
    found: "fault-at-opening",
    says: "call 1 of libc.statx",
  },
  "has no hostAddress": {
    right: "  /** Writes all of its bytes. */",
    wrong: "  protected override get hostAddress(): bigint | undefined { return undefined; }",
    found: "host-address-known",
    says: "has no host address",
  },
  "has another address for what it maps": {
    right: "import: ({ value }) => ({ handle: value as Address }),",
    wrong: `import({ value, byteLength }) {
      const { handle, release } = allocated(byteLength);
      const [own, theirs] = [bytesAt(handle, byteLength), bytesAt(value, byteLength)];
      const takeBack = (step: number) => step === 0 ? command(() => theirs.set(own)) : undefined;
      return { handle, release, bring: () => command(() => own.set(theirs)), takeBack };
    },`,
    found: "aliasing-source-to-target",
    says: "it is called an alias",
  },
};

/** A copy of the template with a fault in it, loaded. */
async function copyWith({ right, wrong }: Fault): Promise<new () => ShmContext> {
  const source = await Deno.readTextFile(TEMPLATE);
  assertEquals(source.split(right).length, 2, `the template has this once: ${right}`);
  const copy = source.replace(right, () => wrong)
    .replaceAll(/from "(\.[^"]+)"/g, (_, path: string) => `from "${new URL(path, TEMPLATE)}"`);
  await using folder = await temporaryFolder();
  const file = join(folder.path, "backend.ts");
  await Deno.writeTextFile(file, copy);
  return (await import(`file://${file}`)).ShmContext;
}

/** The rows of its edges, up to the first that fails. */
async function rowsOf(cases?: typeof CASES, Context?: new () => ShmContext): Promise<Row[]> {
  const rows: Row[] = [];
  for (const candidate of shm(Context)) {
    using run = new EdgeRun(candidate, "bare");
    for (const one of casesOf(candidate, "bare", cases)) {
      const row = await run.row(one);
      rows.push(row);
      if (row.result === "fail") return rows;
    }
  }
  return rows;
}

Deno.test("conformance accepts the template for memory without commands", async () => {
  const rows = await rowsOf();
  assertEquals(
    rows.filter(({ result }) => result === "fail").map((row) => `${row.edge} ${row.case}: ${row.reason}`),
    [],
  );
  assert(rows.filter(({ result }) => result === "pass").length > 30, `${rows.length} rows`);
});

for (const [name, fault] of Object.entries(FAULTS)) {
  Deno.test(`conformance rejects a copy of it that ${name}`, async () => {
    const Context = await copyWith(fault);
    try {
      const last = (await rowsOf(CASES.filter((one) => one.name === fault.found), Context)).at(-1)!;
      assertEquals([last.case, last.result], [fault.found, "fail"]);
      assertStringIncludes(last.reason!, fault.says);
    } finally {
      for (const { name } of Deno.readDirSync(FOLDER)) {
        if (name.startsWith(PREFIX)) Deno.removeSync(`${FOLDER}/${name}`);
      }
    }
  });
}
