/**
 * What the tests of GStreamer need.
 *
 * @module
 */
import { assertAlive } from "../alive.ts";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor, ledger, MapperGraph } from "@samepage/interop";
import { until } from "../conformance/bytes.ts";
import { type Expected, withEmptyLedger } from "../unit/ledger.ts";
import { lacking } from "./lacking.ts";

/** Why there is no GStreamer here; undefined where there is. */
export const missing: string | undefined = lacking();

/** A test that needs GStreamer, which fails if an object of samepage's is left. `lacks` names what else is missing. */
export function test(name: string, fn: () => void | Promise<void>, expected: Expected = {}, lacks?: string): void {
  const reason = missing ?? lacks;
  Deno.test({
    name: reason === undefined ? name : `${name} (not here: ${reason})`,
    ignore: reason !== undefined,
    fn: withEmptyLedger(async () => await fn(), expected),
  });
}

/** A context, and a graph of it and the host. */
export class Open implements Disposable {
  readonly gst: GStreamerContext = GStreamerContext.openSync();
  readonly graph: MapperGraph = new MapperGraph([host, this.gst]);

  /** A map to the host, which is an alias. */
  map(frame: Frame, access: "read" | "read-write" = "read"): Frame<HostTensor> {
    const mapped = this.graph.map(frame, host, { access }) as Frame<HostTensor>;
    assertEquals(mapped.route!.bytesMoved, 0);
    return mapped;
  }

  [Symbol.dispose](): void {
    this.graph[Symbol.dispose]();
    this.gst[Symbol.dispose]();
  }
}

/** A test with a context, after which nothing of samepage's is left. */
export function testOpen(name: string, run: (open: Open) => void | Promise<void>, lacks?: string): void {
  test(
    name,
    async () => {
      {
        using open = new Open();
        await run(open);
      }
      // The memory of a flag that GStreamer has set is freed soon, and not at once.
      await until(() => ledger.alive["native.flag"] === undefined);
    },
    {},
    lacks,
  );
}

/** The same for what ends in the background, once GStreamer has let go. */
export function testOfLateEnds(
  name: string,
  fn: () => void | Promise<void>,
  expected: Expected = {},
  lacks?: string,
): void {
  test(
    name,
    async () => {
      const { alive } = ledger;
      await fn();
      await assertAlive(alive, "alive after the test");
    },
    expected,
    lacks,
  );
}
