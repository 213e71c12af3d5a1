/** Memory and events of this process in another one: Deno's, and Python's with CuPy. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, NativeCallError, region } from "@samepage/interop";
import { runModule } from "../process.ts";
import { gpuTest, withCuda } from "./help.ts";
import { pythonLacks } from "./python.ts";

const N = 4096;
const SHAPE = { shape: [N], dtype: "u8" } as const;

/** What the other process makes of each byte. */
const KEY = 0xa5;

const NO_CUPY = pythonLacks("cupy");

/** Runs a Deno process that has CUDA, and the context `cuda`; returns what it printed. */
async function elsewhere(text: string, env: Record<string, string>): Promise<string> {
  const source = `import { CudaContext } from "./src/cuda/mod.ts";
    const given = (name) => Uint8Array.fromHex(Deno.env.get(name));
    using cuda = CudaContext.open();
    ${text}`;
  const { code, stdout, stderr, late } = await runModule(source, { env });
  assert(code === 0 && !late, `${code}: ${stderr}`);
  return stdout.trim();
}

async function python(text: string, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command("python3", { args: ["-c", text, ...args] }).output();
  const decoder = new TextDecoder();
  assertEquals(code, 0, decoder.decode(stderr));
  return decoder.decode(stdout).trim();
}

gpuTest("another process opens our memory by its envelope, sees it and changes it", () =>
  withCuda(async (cuda) => {
    using whole = cuda.allocate({ shape: [64, N], dtype: "u8" });
    cuda.stream.fill(whole, 1);
    using tensor = whole.slice(region(whole.layout, [3, 0], [2, N]));
    const bytes = crypto.getRandomValues(new Uint8Array(2 * N));
    cuda.stream.write(tensor, bytes);
    const { bytes: envelope, handle, byteOffset, byteLength } = cuda.exportMemory(tensor);
    assertEquals([handle.length, byteOffset], [64, 3 * N]);
    assert(byteLength >= 64 * N);
    const seen = await elsewhere(
      `using tensor = cuda.openMemory(given("ENVELOPE"));
       using again = cuda.openMemory(given("ENVELOPE")); // a peer of the first
       if (tensor.memory !== "imported" || again.handle !== tensor.handle) throw new Error(tensor.name);
       const bytes = new Uint8Array(${2 * N});
       cuda.stream.read(again, bytes);
       console.log(bytes.toHex());
       cuda.stream.write(tensor, bytes.map((byte) => byte ^ ${KEY}));`,
      { ENVELOPE: envelope.toHex() },
    );
    assertEquals(Uint8Array.fromHex(seen), bytes);
    const after = new Uint8Array(2 * N);
    cuda.stream.read(tensor, after);
    assertEquals(after, bytes.map((byte) => byte ^ KEY));
    const around = new Uint8Array(N);
    using before = whole.slice(region(whole.layout, [2, 0], [1, N]));
    cuda.stream.read(before, around);
    assert(around.every((byte) => byte === 1));
  }));

gpuTest(
  "CuPy opens our handle, sees the same bytes and changes them",
  () =>
    withCuda(async (cuda) => {
      using tensor = cuda.allocate(SHAPE);
      const bytes = crypto.getRandomValues(new Uint8Array(N));
      cuda.stream.write(tensor, bytes);
      const { handle, byteOffset } = cuda.exportMemory(tensor);
      const seen = await python(
        `
import sys, numpy, cupy
pointer = cupy.cuda.runtime.ipcOpenMemHandle(bytes.fromhex(sys.argv[1]))
memory = cupy.cuda.UnownedMemory(pointer + int(sys.argv[2]), ${N}, None)
array = cupy.ndarray((${N},), cupy.uint8, cupy.cuda.MemoryPointer(memory, 0))
seen = cupy.asnumpy(array)
print(seen.tobytes().hex())
array.set(seen ^ numpy.uint8(${KEY}))
cupy.cuda.runtime.deviceSynchronize()
cupy.cuda.runtime.ipcCloseMemHandle(pointer)
`,
        [handle.toHex(), String(byteOffset)],
      );
      assertEquals(Uint8Array.fromHex(seen), bytes);
      const after = new Uint8Array(N);
      cuda.stream.read(tensor, after);
      assertEquals(after, bytes.map((byte) => byte ^ KEY));
    }),
  1,
  NO_CUPY,
);

gpuTest(
  "we open CuPy's handle, see the same bytes and change them",
  () =>
    withCuda(async (cuda) => {
      const child = new Deno.Command("python3", {
        args: [
          "-c",
          `
import sys, numpy, cupy
pointer = cupy.cuda.runtime.malloc(${N})
memory = cupy.cuda.UnownedMemory(pointer, ${N}, None)
array = cupy.ndarray((${N},), cupy.uint8, cupy.cuda.MemoryPointer(memory, 0))
array.set(numpy.arange(${N}, dtype=numpy.uint32).astype(numpy.uint8))
cupy.cuda.runtime.deviceSynchronize()
print(bytes(cupy.cuda.runtime.ipcGetMemHandle(pointer)).hex(), flush=True)
sys.stdin.readline()
print(cupy.asnumpy(array).tobytes().hex(), flush=True)
`,
        ],
        stdin: "piped",
        stdout: "piped",
      }).spawn();
      const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      const line = async () => {
        let text = "";
        while (!text.includes("\n")) {
          const { value, done } = await lines.read();
          if (done) break;
          text += value;
        }
        return Uint8Array.fromHex(text.trim());
      };
      const handle = await line();
      {
        using tensor = cuda.openMemory({ handle, layout: SHAPE });
        const bytes = new Uint8Array(N);
        cuda.stream.read(tensor, bytes);
        assertEquals(bytes, Uint8Array.from(bytes, (_, i) => i));
        cuda.stream.fill(tensor, 42);
        cuda.stream.finish();
      }
      const stdin = child.stdin.getWriter();
      await stdin.write(new TextEncoder().encode("\n"));
      assert((await line()).every((byte) => byte === 42));
      await stdin.close();
      await lines.cancel();
      await child.status;
    }),
  1,
  NO_CUPY,
);

gpuTest(
  "a handle of this process, of another device, or of another kind of memory is refused",
  () =>
    withCuda((cuda) => {
      using tensor = cuda.allocate(SHAPE);
      const { bytes, handle } = cuda.exportMemory(tensor);
      assertThrows(() => cuda.openMemory(bytes), ArgumentError, "same process");
      assertThrows(() => cuda.openMemory({ handle, layout: SHAPE }), NativeCallError, "cudaIpcOpenMemHandle");
      const altered = bytes.slice();
      altered[altered.length - 20] ^= 1;
      assertThrows(() => cuda.openMemory(altered), ArgumentError, "changed");
      using pinned = cuda.pinned.allocate(SHAPE);
      using managed = cuda.managed.allocate(SHAPE);
      using virtual = cuda.virtual.allocate(SHAPE);
      using pooled = cuda.stream.allocate(SHAPE);
      for (const other of [pinned, managed, virtual, pooled]) {
        assertThrows(() => cuda.exportMemory(other), ArgumentError, "", other.name);
      }
    }),
);

gpuTest(
  "hostile and stale handles are typed errors in another process, and it goes on",
  () =>
    withCuda(async (cuda) => {
      const tensor = cuda.allocate(SHAPE);
      const { bytes, handle } = cuda.exportMemory(tensor);
      tensor[Symbol.dispose]();
      const told = await elsewhere(
        `const said = (open) => {
         try { open()[Symbol.dispose](); return "opened"; } catch (error) { return error.constructor.name; }
       };
       const layout = { shape: [${N}], dtype: "u8" };
       const flipped = given("HANDLE").map((byte) => ~byte);
       console.log(JSON.stringify([
         said(() => cuda.openMemory(given("ENVELOPE"))),
         said(() => cuda.openMemory({ handle: new Uint8Array(64), layout })),
         said(() => cuda.openMemory({ handle: flipped, layout })),
         said(() => cuda.openMemory({ handle: crypto.getRandomValues(new Uint8Array(64)), layout })),
         said(() => cuda.openEvent({ handle: crypto.getRandomValues(new Uint8Array(64)) })),
         said(() => cuda.allocate(layout)), // CUDA still works
       ]));`,
        { ENVELOPE: bytes.toHex(), HANDLE: handle.toHex() },
      );
      assertEquals(JSON.parse(told), [...Array(5).fill("NativeCallError"), "opened"]);
    }),
);

gpuTest("memory that is said to be longer than it is, is not opened", () =>
  withCuda(async (cuda) => {
    using tensor = cuda.allocate(SHAPE);
    const { handle } = cuda.exportMemory(tensor);
    const told = await elsewhere(
      `try {
         cuda.openMemory({ handle: given("HANDLE"), layout: { shape: [2 ** 40], dtype: "u8" } });
       } catch (error) {
         console.log(error.constructor.name);
       }`,
      { HANDLE: handle.toHex() },
    );
    assertEquals(told, "LayoutError");
  }));

gpuTest(
  "another process waits for our event, on its device, and we for what it records",
  () =>
    withCuda(async (cuda) => {
      using tensor = cuda.allocate({ shape: [64 << 20], dtype: "u8" });
      using event = cuda.exportEvent();
      assertThrows(() => cuda.openEvent(event.bytes!), ArgumentError, "same process");
      for (let i = 0; i < 200; i++) cuda.stream.fill(tensor, i);
      const recorded = event.record();
      const { bytes } = cuda.exportMemory(tensor);
      const seen = await elsewhere(
        `using event = cuda.openEvent(given("EVENT"));
       using tensor = cuda.openMemory(given("ENVELOPE"));
       const fence = event.fence();
       cuda.stream.waitFor(fence);
       const bytes = new Uint8Array(tensor.layout.byteLength);
       cuda.stream.read(tensor, bytes);
       console.log(bytes.every((byte) => byte === 199));
       cuda.stream.fill(tensor, 7);
       const done = event.record();
       await done.wait();`,
        { EVENT: event.bytes!.toHex(), ENVELOPE: bytes.toHex() },
      );
      assertEquals(seen, "true");
      await recorded.wait();
      const after = event.fence();
      after.waitSync();
      const now = new Uint8Array(64 << 20);
      cuda.stream.read(tensor, now);
      assert(now.every((byte) => byte === 7));
    }),
);
