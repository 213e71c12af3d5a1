// An import of Vulkan's memory into OpenCL or CUDA, and its release. It has a process of its own: beside the memory and the
// kernels of the rings, CUDA takes longer for it.

import { portsOf } from "../src/core/graph/context.ts";
import { externalC } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { atMost } from "./harness/goal.ts";
import type { Operation } from "./harness/operation.ts";
import { forGood, shared } from "./harness/sharing.ts";
import { here } from "./harness/way.ts";

/** An import by the ports of one of the players, and its release; the fd is duplicated for it. */
function importing(player: 0 | 1): () => Operation {
  return () => {
    const on = shared(1);
    const { tensor } = on.words(1 << 20, forGood());
    const [from, to] = [portsOf(tensor.target)!, on.players[player].context.ports];
    const { byteLength } = tensor.grant.allocation.block;
    return {
      run(count) {
        for (let i = 0; i < count; i++) {
          using port = from.export!(tensor, "opaque-fd", byteLength, "read-write", false).port;
          to.import!(port, "read-write").release!();
        }
      },
    };
  };
}

for (const [player, api, name] of [[0, "opencl", "OpenCL"], [1, "cuda", "CUDA"]] as const) {
  figure({
    id: `external-import-${api}`,
    title: `import 4 MiB of Vulkan's and release it, ${name}`,
    on: "vulkan",
    goal: atMost(1.1),
    ways: [externalC(1, `import_${api}`), here("samepage", importing(player))],
  });
}
