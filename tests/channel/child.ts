/**
 * The other process of tests: `child.ts PATH increment`, `child.ts PATH overwrite`, `child.ts PATH sleep`, or
 * `child.ts PATH 10000` to send so many tensors.
 *
 * @module
 */
import { host, MapperGraph, Tensor } from "../../mod.ts";
import { connect } from "../../src/channel/mod.ts";
import { HostTensor } from "../../src/host/mod.ts";
import { dmabuf } from "../../src/dmabuf/mod.ts";

const [path, what] = Deno.args;
using peer = connect(path, { contexts: [host, dmabuf] });

if (what === "increment") {
  using tensor = await peer.receive();
  if (!(tensor instanceof Tensor)) throw new Error("it is not a tensor");
  {
    using graph = new MapperGraph([host, dmabuf]);
    using mapped = graph.map(tensor, host);
    mapped.bytes()[5]++;
  }
  await peer.send(tensor);
} else if (what === "overwrite") {
  using tensor = await peer.receive();
  if (!(tensor instanceof HostTensor)) throw new Error("it is not a tensor of the host's");
  console.log(tensor.access, tensor.bytes()[5]);
  tensor.bytes()[5] = 99;
  console.log("written");
} else if (what === "sleep") {
  await new Promise((resolve) => setTimeout(resolve, 60_000));
} else {
  let before = 0;
  for (let i = 0; i < Number(what); i++) {
    using tensor = host.allocate({ shape: [4096], dtype: "u8", sharable: true });
    tensor.view().fill(i);
    await peer.send(tensor);
    if (i === 2000) before = Deno.memoryUsage().rss;
  }
  console.log(Deno.memoryUsage().rss - before);
}
