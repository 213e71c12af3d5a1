/** Every native call for Python fails once: what comes of it is typed, and no reference stays. */
import { assert, assertEquals } from "@std/assert";
import { host, ledger } from "../../mod.ts";
import { Python, type PythonObject } from "../../src/python/mod.ts";
import { until } from "../conformance/bytes.ts";
import { installTap } from "./tap.ts";
import { sweep } from "./sweep.ts";

installTap();
const { lacking } = await import("../python/help.ts");
const missing = lacking("numpy");

const seen = new Set<string>();

function test(name: string, operation: (python: Python, held: PythonObject) => unknown): void {
  Deno.test({
    name: `faults: python: ${name}${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      const python = Python.open();
      using held = python.run<PythonObject>("import numpy, sys; held = numpy.ones(4, 'f4'); held");
      const references = () => python.run("sys.getrefcount(held)");
      await operation(python, held);
      const before = references();
      const intact = () => assertEquals(references(), before, "references");
      const faults = await sweep(() => operation(python, held), intact, ["libc.madvise"]);
      for (const { call } of faults) seen.add(call);
      assert(await until(() => ledger.alive["native.flag"] === undefined), "a flag stays");
    },
  });
}

test("passing values and reading them", (python, held) => {
  const value = [true, 1, 0.5, 2n ** 70n, "text", null, new Uint8Array(2), { a: held }];
  const [, , , , , , , { a }] = python.run<[...unknown[], { a: PythonObject }] & PythonObject[]>("value", {
    value,
  }) as unknown as [1, 1, 1, 1, 1, 1, 1, { a: PythonObject }];
  a[Symbol.dispose]();
});

test("calling, and an attribute", (python, held) => {
  using module = python.import("operator");
  module.call("truth", 1);
  held.get("ndim");
  held.toString();
});

test("a call on another thread", async (python, held) => {
  await python.runAsync("1", { value: held });
});

test("an exception", (python, held) => {
  try {
    python.run("value.no", { value: held });
  } catch (error) {
    if ((error as { type?: string }).type !== "AttributeError" && !/does not say why/.test(String(error))) throw error;
    if (/does not say why/.test(String(error))) throw error;
  }
});

test("lending a tensor", (python) => {
  using tensor = host.allocate({ shape: [4], dtype: "f32" });
  python.toArray(tensor, "numpy")[Symbol.dispose]();
});

test("taking an array", (python, held) => {
  python.fromArray(held, { contexts: [host] })[Symbol.dispose]();
});

test("taking a buffer", (python) => {
  using bytes = python.run<PythonObject>("memoryview(bytearray(4))");
  python.fromArray(bytes, { contexts: [host] })[Symbol.dispose]();
});

Deno.test({
  name: "faults: python: every function that can fail has failed",
  ignore: missing !== undefined,
  async fn() {
    const { PYTHON } = await import("./python_failures.ts");
    const able = Object.entries(PYTHON).filter(([, failure]) => failure !== undefined).map(([name]) =>
      `python.${name}`
    );
    assertEquals(able.filter((name) => !seen.has(name)), []);
  },
});
