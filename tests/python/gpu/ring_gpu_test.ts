/** A ring of 10,000 laps in which a kernel of ours and PyTorch take turns, without a wait of the host. */
import { COUNT, inOrder, type Ran, ringOfPyTorch, run, unordered } from "./ring.ts"; // first: it taps the libraries
import { assert, assertEquals } from "@std/assert";
import type { CudaTensor } from "@samepage/interop/cuda";
import { type Both, made, take, test } from "./gpu.ts";

const LAPS = 10_000;

function tell(what: string, laps: number, { wrong, blocking, lap }: Ran): void {
  const waits = Array.from(blocking, ([name, count]) => `${count} × ${name}`).join(", ") || "0";
  console.log(`ring: ${what}, ${laps} laps: ${lap.toFixed(1)} µs a lap; ${wrong} words wrong; host waits: ${waits}`);
}

function ours({ cuda }: Both): CudaTensor {
  const words = cuda.allocate({ shape: [COUNT], dtype: "i32" });
  cuda.stream.fill(words, 0);
  return words;
}

test("ring: ours and PyTorch's turns on memory of ours", ["torch"], async (both) => {
  using ring = ringOfPyTorch(both.python);
  using words = ours(both);
  const ran = await run(both.cuda, ring, words, inOrder(both.python, ring), LAPS);
  tell("memory of ours", LAPS, ran);
  assertEquals([ran.wrong, [...ran.blocking]], [0, []]);
  const last = new Int32Array(COUNT);
  both.cuda.stream.read(words, last);
  const turns = 2 * (LAPS + 1);
  assertEquals(last.findIndex((word, i) => word !== turns * (2 * i + 1)), -1);
});

test("ring: ours and PyTorch's turns on memory of PyTorch's", ["torch"], async (both) => {
  using ring = ringOfPyTorch(both.python);
  using array = made(both.python, `torch.zeros(${COUNT}, dtype=torch.int32, device='cuda')`);
  using words = take(both, array);
  const ran = await run(both.cuda, ring, words, inOrder(both.python, ring), LAPS);
  tell("memory of PyTorch's", LAPS, ran);
  assertEquals([ran.wrong, [...ran.blocking]], [0, []]);
});

test("ring: without the waits, words are wrong", ["torch"], async (both) => {
  using ring = ringOfPyTorch(both.python);
  using words = ours(both);
  const ran = await run(both.cuda, ring, words, unordered(ring), 1_000);
  tell("without the waits", 1_000, ran);
  assert(ran.wrong > 0, "no word was wrong, though nothing ordered the turns: the check sees nothing");
});
