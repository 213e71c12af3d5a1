import { host, ledger, MapperGraph } from "../../mod.ts";
import { VaapiContext } from "../../src/vaapi/mod.ts";
import { assertAlive } from "../alive.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { behave, buildDriver, NODE, useDriver } from "./driver.ts";

const missing = await buildDriver();
if (missing === undefined) useDriver();

/** What a test finds. */
export interface There {
  readonly va: VaapiContext;
  readonly graph: MapperGraph;
}

/**
 * A test on the driver of the tests, which behaves so. Afterwards nothing is alive that was not before.
 *
 * @param keptFds how many fds it leaves open: memory under a view that was moved away stays
 */
export function driverTest(
  name: string,
  words: readonly string[],
  fn: (there: There) => unknown,
  keptFds = 0,
  lacks?: string,
): void {
  const reason = missing ?? lacks;
  Deno.test({
    name: `vaapi: ${name}${reason === undefined ? "" : ` (skipped: needs ${reason})`}`,
    ignore: reason !== undefined,
    async fn() {
      behave();
      VaapiContext.open({ node: NODE })[Symbol.dispose](); // what libraries open once, and keep
      const [alive, fds] = [ledger.alive, openFds()];
      behave(...words);
      {
        using va = VaapiContext.open({ node: NODE });
        using graph = new MapperGraph([host, va]);
        await fn({ va, graph });
      }
      behave();
      await assertAlive(alive, "alive after the test");
      assertOpenFds(fds + keptFds);
    },
  });
}
