/**
 * A begin and an end of the CPU's access, beside C's, in the same boot: reported, and not judged, because a guest has
 * bad moments.
 */
import { assert } from "@std/assert";
import { dmabuf } from "../../src/dmabuf/mod.ts";
import { guestTest } from "./needs.ts";

const ROUNDS = 5_000;

guestTest("what a begin and an end of the CPU's access cost, beside C", async () => {
  using tensor = dmabuf.allocate({ shape: [4096], dtype: "u8" });
  const inC = await pairInC(tensor.handle.fd);
  const buffer = tensor.handle;
  let least = Infinity;
  for (let lap = 0; lap < 10; lap++) {
    const from = performance.now();
    for (let i = 0; i < ROUNDS; i++) {
      buffer.begin("read-write");
      buffer.end("read-write");
    }
    least = Math.min(least, (performance.now() - from) * 1e6 / ROUNDS);
  }
  console.log(`a pair: ${least.toFixed(0)} ns, in C ${inC} ns`);
  assert(inC > 0 && least > 0);
});

/** Another process has the fd only by inheriting it, and samepage's are closed for it: it opens it through /proc. */
async function pairInC(fd: number): Promise<number> {
  const folder = await Deno.makeTempDir();
  const program = `${folder}/sync_pair`;
  const source = new URL("sync_pair.c", import.meta.url).pathname;
  const built = await new Deno.Command("cc", { args: ["-O2", "-o", program, source] }).output();
  assert(built.success, new TextDecoder().decode(built.stderr));
  const copy = inherited(fd);
  const { success, stdout } = await new Deno.Command(program, { args: [`${copy}`, `${ROUNDS}`] }).output();
  assert(success, "the C program failed");
  return Number(new TextDecoder().decode(stdout));
}

function inherited(fd: number): number {
  const { dup } = Deno.dlopen("libc.so.6", { dup: { parameters: ["i32"], result: "i32" } }).symbols;
  return dup(fd);
}
