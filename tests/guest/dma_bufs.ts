import { host, ledger, MapperGraph } from "../../mod.ts";
import type { Context } from "../../src/core/graph/context.ts";
import { dmabuf } from "../../src/dmabuf/mod.ts";
import { VaapiContext } from "../../src/vaapi/mod.ts";
import { assertAlive } from "../alive.ts";
import { until } from "../conformance/bytes.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { behave, NODE } from "../vaapi/driver.ts";
import { guestTest } from "./needs.ts";

/** A test with a context that stands on dma-bufs, and its graph. It fails if an object outlives it. */
export function dmaBufTest<C extends Context & Disposable>(
  name: string,
  open: () => C,
  fn: (context: C, graph: MapperGraph) => unknown,
): void {
  guestTest(name, async () => {
    behave();
    VaapiContext.open({ node: NODE })[Symbol.dispose](); // what libraries open once, and keep
    dmabuf.allocate({ shape: [1], dtype: "u8" })[Symbol.dispose]();
    open()[Symbol.dispose]();
    const [alive, fds] = [ledger.alive, openFds()];
    {
      using context = open();
      using graph = new MapperGraph([host, dmabuf, context]);
      await fn(context, graph);
    }
    await until(() => ledger.alive["native.flag"] === undefined);
    await assertAlive(alive, "alive after the test");
    assertOpenFds(fds);
  });
}
