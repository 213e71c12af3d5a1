// What the doctor says of Python: which one it has found, what that can import, and whose memory its arrays may be.

import { assertEquals, assertMatch } from "@std/assert";
import { temporaryFolder } from "../package/project.ts";
import { Python } from "@samepage/interop/python";
import { lacking } from "../python/help.ts";
import { reported } from "./run.ts";

async function pythonIn(env: Record<string, string>) {
  const { apis } = await reported(["--no-proof"], { env, flags: ["--allow-ffi", "--allow-env"] });
  return apis.find(({ api }) => api === "python")!;
}

const missing = lacking();

Deno.test({
  name: `doctor: the venv's Python, and the libraries of arrays in it${missing ? ` (not here: ${missing})` : ""}`,
  ignore: missing !== undefined,
  async fn() {
    await using folder = await temporaryFolder();
    const lib = "lib/python3.";
    const minor = Python.open().version.split(".")[1];
    await Deno.writeTextFile(`${folder.path}/pyvenv.cfg`, `home = /usr/bin\nversion = 3.${minor}.0\n`);
    for (const name of ["numpy", "torch", "yaml"]) {
      const module = `${folder.path}/${lib}${minor}/site-packages/${name}`;
      await Deno.mkdir(module, { recursive: true });
      await Deno.writeTextFile(`${module}/__init__.py`, "raise SystemExit # it is not imported\n");
    }
    const { library, findings, devices: [{ name, traits }] } = await pythonIn({ VIRTUAL_ENV: folder.path });
    assertMatch(library.version!, new RegExp(`^3\\.${minor}\\.`));
    assertEquals([findings, name], [[], `Python ${library.version} at ${folder.path}`]);
    assertEquals(traits.map(({ label, text }) => `${label}: ${text}`), [
      "arrays: numpy (the host's), torch (the host's, and CUDA's)",
      "buffers: bytes, memoryview, array.array: the host's",
    ]);
  },
});

Deno.test("doctor: without Python all else is there, and the remedy says how to get it", async () => {
  const { library, findings, devices } = await pythonIn({ SAMEPAGE_LIB_PYTHON: "/nonexistent/libpython3.11.so.1.0" });
  assertEquals([library.opened, devices], [undefined, []]);
  assertMatch(findings[0].remedy ?? "", /libpython3|SAMEPAGE_LIB_PYTHON/);
});
