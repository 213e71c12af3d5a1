import { assert, assertEquals } from "@std/assert";
import { runModule } from "./subprocess.ts";

const LIST = `
import { ledger } from "@samepage/interop";
import { OpenCLContext, openclDevices } from "@samepage/interop/opencl";
for (const action of [() => openclDevices(), () => OpenCLContext.open()]) {
  try {
    console.log(JSON.stringify(action()));
  } catch (error) {
    console.log(JSON.stringify([error.name, error.message, error.attempts ?? error.flag ?? error.argument]));
  }
}
console.log(JSON.stringify(ledger.alive));
`;

async function listed(env: Record<string, string>, flags?: string[]) {
  const { code, stdout, stderr } = await runModule(LIST, { env, ...(flags === undefined ? {} : { flags }) });
  assertEquals([code, stderr], [0, ""]);
  return stdout.trim().split("\n").map((line) => JSON.parse(line));
}

Deno.test("a loader without a driver has no devices", async () => {
  const [devices, opened, alive] = await listed({ OCL_ICD_VENDORS: "/nonexistent" });
  if (devices[0] !== "LibraryNotFoundError") assertEquals(devices, []);
  assertEquals(opened[0], devices[0] ?? "ArgumentError");
  assert(opened[1].includes("apt install"), opened[1]);
  assertEquals(alive, {});
});

Deno.test("no loader: LibraryNotFoundError with the attempts and a remedy", async () => {
  const [devices, opened] = await listed({ SAMEPAGE_LIB_OPENCL: "/nonexistent/libOpenCL.so" });
  for (const [name, message, attempts] of [devices, opened]) {
    assertEquals(name, "LibraryNotFoundError");
    assert(message.includes("SAMEPAGE_LIB_OPENCL names it"), message);
    assertEquals(attempts.length, 1);
    assertEquals(attempts[0].path, "/nonexistent/libOpenCL.so");
    assert(attempts[0].message.includes("cannot open shared object file"), attempts[0].message);
  }
});

Deno.test("a library that is no OpenCL: LibraryNotFoundError", async () => {
  const [[name, , attempts]] = await listed({ SAMEPAGE_LIB_OPENCL: "libc.so.6" });
  assertEquals(name, "LibraryNotFoundError");
  assert(attempts[0].message.includes("symbol"), attempts[0].message);
});

Deno.test("without --allow-ffi: PermissionError with the flag", async () => {
  const [devices] = await listed({}, ["--no-prompt"]);
  assertEquals(devices[0], "PermissionError");
  assertEquals(devices[2], "--allow-ffi");
});

Deno.test("importing opens no library", async () => {
  const { code, stderr } = await runModule(`import "@samepage/interop/opencl"; import "@samepage/interop";`, {
    flags: ["--no-prompt"],
  });
  assertEquals([code, stderr], [0, ""]);
});
