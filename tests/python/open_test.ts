/** Python.open() in processes of their own: each has one interpreter. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileOf } from "../../src/core/native/loaded.ts";
import { openingOf } from "../../src/core/native/library.ts";
import { runModule } from "../process.ts";
import { lacking, PACKAGES } from "./help.ts";

const missing = lacking();
/** The file of the library that is here. */
const file = missing === undefined ? fileOf(openingOf("python")!.path!, "Py_GetVersion")! : "";

function test(name: string, code: string, expected: readonly string[], env: Record<string, string> = {}): void {
  Deno.test({
    name: `Python.open() ${name}${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      const head = `
import { InteropError } from "@samepage/interop";
import { Python } from "@samepage/interop/python";
const fails = (act) => { try { act(); return "nothing"; } catch (error) { return error.constructor.name + ": " + error.message; } };
`;
      const { code: exit, signal, stdout, stderr } = await runModule(head + code, { env });
      assertEquals([exit, signal], [0, null], stderr);
      const lines = stdout.trimEnd().split("\n");
      for (const [i, line] of expected.entries()) assertStringIncludes(lines[i] ?? "", line);
      assertEquals(lines.length, expected.length, stdout);
    },
  });
}

test(
  "returns the same for a second call, and refuses another library or home",
  `
const python = Python.open();
console.log(python === Python.open(), python === Python.open({ library: python.library, home: python.home }));
console.log(fails(() => Python.open({ library: "libpython3.9.so.1.0" })));
console.log(fails(() => Python.open({ home: "/tmp" })));
Python.open({ path: ["/nonexistent/folder"] });
console.log(python.run("import sys; sys.path[0]"));
`,
  ["true true", "ArgumentError: library", "ArgumentError: home", "/nonexistent/folder"],
);

test(
  "says in a Worker that there is no Python",
  `
const code = 'import { Python } from "@samepage/interop/python"; try { Python.open() } catch (e) { postMessage(e.name + ": " + e.message) }';
const file = Deno.makeTempFileSync({ dir: new URL(".", import.meta.url).pathname, suffix: ".ts" });
Deno.writeTextFileSync(file, code);
const worker = new Worker("file://" + file, { type: "module" });
await new Promise((resolve) => worker.onmessage = ({ data }) => { console.log(data); resolve(); });
worker.terminate();
Deno.removeSync(file);
`,
  ["InteropError: Python cannot be opened in a Worker"],
);

test(
  "refuses a home without Python's modules before Python would end the process",
  `
console.log(fails(() => Python.open({ library: ${JSON.stringify(file)}, home: "/tmp" })));
console.log(fails(() => Python.open({ home: "/nonexistent" })));
console.log(fails(() => Python.open({ library: "libc.so.6" })));
console.log(Python.open().run("6 * 7"));
`,
  ["InteropError: The modules of Python", "LibraryNotFoundError", "LibraryNotFoundError", "42"],
);

test(
  "uses a venv by its pyvenv.cfg",
  `
const python = Python.open({ home: Deno.env.get("VENV") });
console.log(python.home === Deno.env.get("VENV"), python.run("import sys; sys.prefix != sys.base_prefix"));
console.log(python.run("import marker; marker.here"));
`,
  ["true true", "7"],
  venv(),
);

test(
  "refuses a venv of another version",
  `console.log(fails(() => Python.open({ library: ${JSON.stringify(file)}, home: Deno.env.get("VENV") })));`,
  ["ArgumentError: home"],
  venv("3.8.1"),
);

test(
  "leaves the handlers of signals alone, and prints at once",
  `
const caught = () => /SigCgt:.*/.exec(Deno.readTextFileSync("/proc/self/status"))[0];
const before = caught();
const python = Python.open();
console.log(caught() === before);
python.run("print('from Python')");
console.log("from JavaScript");
void python.runAsync("import time; time.sleep(60)");
setTimeout(() => Deno.exit(0), 50);
`,
  ["true", "from Python", "from JavaScript"],
  { PYTHONUNBUFFERED: "" },
);

test(
  "finds NumPy in a folder of path, and takes the same interpreter in another isolate of the process",
  `
const python = Python.open({ path: [${JSON.stringify(PACKAGES)}] });
const { ok } = await new Promise((resolve) => resolve({ ok: python.run("import sys; sys.path[0]") }));
console.log(ok === ${JSON.stringify(PACKAGES)});
`,
  ["true"],
);

test(
  "takes an interpreter whose GIL other code of the thread keeps, but for other threads",
  `
const library = ${JSON.stringify(file)};
const { symbols } = Deno.dlopen(library, {
  Py_InitializeEx: { parameters: ["i32"], result: "void" },
  PyRun_SimpleString: { parameters: ["buffer"], result: "i32" },
});
symbols.Py_InitializeEx(0);
const python = Python.open({ library });
console.log(python.run("1 + 1"));
console.log(await python.runAsync("1").catch((error) => error.message));
console.log(symbols.PyRun_SimpleString(new TextEncoder().encode("theirs = 3\\0")), python.run("theirs"));
`,
  ["2", "Other code of this thread keeps Python's GIL", "0 3"],
);

/** A folder with what makes it a venv. */
function venv(version?: string): Record<string, string> {
  if (missing !== undefined) return {};
  const folder = Deno.makeTempDirSync({ prefix: "samepage-venv-" });
  const [, base, minor] = /^(.*)\/lib\/.*libpython3\.(\d+)\./.exec(file)!;
  const text = `home = ${base}/bin\ninclude-system-site-packages = false\nversion = ${version ?? `3.${minor}.0`}\n`;
  Deno.writeTextFileSync(`${folder}/pyvenv.cfg`, text);
  const packages = `${folder}/lib/python3.${minor}/site-packages`;
  Deno.mkdirSync(packages, { recursive: true });
  Deno.writeTextFileSync(`${packages}/marker.py`, "here = 7\n");
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  return { VENV: folder };
}
