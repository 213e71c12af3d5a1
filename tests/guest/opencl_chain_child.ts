/**
 * The other process of the chain: it receives memory, has OpenCL count in it where it lies, and sends it back.
 *
 * `opencl_chain_child.ts PATH`. It says each step, and goes on at a line of its input, so that the first process can look in
 * between: "mapped" before the kernel runs, "ran" before the map ends.
 *
 * @module
 */
import { host, MapperGraph } from "../../mod.ts";
import { linesOf } from "../../bench/harness/lines.ts";
import { connect } from "../../src/channel/mod.ts";
import { dmabuf, DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { OpenCLContext } from "../../src/opencl/mod.ts";

const SOURCE = `
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void plus(global uint *x, uint length, uint term) { for (uint i = 0; i < length; i++) x[i] += term; }`;

const words = linesOf(Deno.stdin.readable);
const say = async (what: string, more: Record<string, unknown> = {}) => {
  console.log(JSON.stringify({ what, ...more }));
  if ((await words.next()).value !== "go on") throw new Error(`after "${what}": the first process has ended`);
};

const [path] = Deno.args;
using peer = connect(path, { contexts: [dmabuf] });
using received = await peer.receive();
if (!(received instanceof DmaBufTensor)) throw new Error("it is not a tensor in a dma-buf");
const inode = `${received.handle.identity}`;
using cl = OpenCLContext.open({ platform: "Portable" });
using graph = new MapperGraph([host, dmabuf, cl]);
using program = cl.program(SOURCE);
using plus = program.kernel("plus");
{
  using onDevice = graph.map(received, cl);
  const { route } = onDevice;
  const steps = route.steps.map(({ edge, transfer, evidence }) => ({ edge, transfer, evidence }));
  await say("mapped", { steps, inode });
  const [length] = onDevice.layout.shape;
  plus.run({ items: [1] }, [onDevice, length, 1000]);
  cl.queue.finish();
  await say("ran", { bytesMoved: route.bytesMoved, bytesCopied: cl.bytesCopied });
}
await peer.send(received, { access: "read-write" });
