/** Every native call of pipelines fails once: what comes of it is typed, the pipeline ends, and nothing stays. */
import { assert, assertEquals } from "@std/assert";
import { type Frame, host, imageInfo, ledger, MapperGraph } from "../../mod.ts";
import { GStreamerContext, type Pipeline } from "../../src/gstreamer/mod.ts";
import { until } from "../conformance/bytes.ts";
import { PROBES } from "../conformance/opencv_variants.ts";
import { openFds } from "../gc.ts";
import { lacking } from "../gstreamer/lacking.ts";
import { SILENT } from "./gstreamer_failures.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();
const missing = lacking();

const seen = new Set<string>();

interface There {
  readonly pipeline: Pipeline;
  readonly graph: MapperGraph;
  readonly gst: GStreamerContext;
}

const SMALL = "video/x-raw,format=GRAY8,width=16,height=8";
const GRAY = imageInfo({ format: "GRAY8", width: 16, height: 8 });

function test(name: string, description: string, use: (there: There) => unknown, silent: readonly string[] = []): void {
  Deno.test({
    name: `faults: gstreamer: ${name}${missing === undefined ? "" : ` (skipped: needs ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      using gst = await GStreamerContext.open();
      using graph = new MapperGraph([host, gst]);
      const operation = async () => {
        await using pipeline = gst.launch(description);
        await use({ pipeline, graph, gst });
      };
      await operation();
      const fds = openFds();
      const intact = async () => {
        assert(await until(() => openFds() <= fds && ledger.alive["native.flag"] === undefined), "what stays open");
      };
      for (const { call } of await sweep(operation, intact, [...PROBES, ...SILENT, ...silent])) seen.add(call);
    },
  });
}

test(
  "frames out of a pipeline",
  `videotestsrc num-buffers=3 ! ${SMALL} ! appsink name=out sync=false`,
  async (there) => {
    for await (using _ of there.pipeline.sink("out", { queue: 1 })) continue;
    await there.pipeline.ended();
  },
);

test("frames into a pipeline", "appsrc name=in ! fakesink", async ({ pipeline, graph, gst }) => {
  const writer = pipeline.source("in", GRAY).getWriter();
  writer.closed.catch(() => {});
  for (let i = 0; i < 2; i++) {
    using picture = host.allocateFrame(GRAY);
    using mapped = graph.map(picture, gst, { access: "read" }) as Frame;
    await writer.write(mapped);
  }
  await writer.close();
  await pipeline.ended();
});

/** The end comes 40 ms later, so that it is waited for. */
test(
  "an end that is waited for",
  `videotestsrc is-live=true num-buffers=4 ! ${SMALL},framerate=100/1 ! fakesink sync=true`,
  async ({ pipeline }) => {
    await pipeline.play();
    await pipeline.ended();
  },
);

test("a flush of what cannot seek", "appsrc name=in ! fakesink", async ({ pipeline, graph, gst }) => {
  const writer = pipeline.source("in", GRAY).getWriter();
  writer.closed.catch(() => {});
  using picture = host.allocateFrame(GRAY);
  using mapped = graph.map(picture, gst, { access: "read" }) as Frame;
  await writer.write(mapped);
  await pipeline.flush();
}, ["gstreamer.gst_element_seekAsync"]); // it fails of itself

test("changes of state, and a seek", `videotestsrc num-buffers=90 ! ${SMALL} ! fakesink`, async ({ pipeline }) => {
  await pipeline.pause();
  await pipeline.seek(1);
  void [pipeline.position, pipeline.duration];
  await pipeline.stop();
});

test("an error", "filesrc location=/nonesuch ! fakesink", async ({ pipeline }) => {
  await pipeline.play().catch((error) => {
    if (!String(error).includes("Resource not found")) throw error;
  });
}, ["gstreamer.gst_element_set_stateAsync"]); // it fails of itself

Deno.test({
  name: `faults: gstreamer: every function of pipelines that can fail was made to${
    missing === undefined ? "" : " (skipped)"
  }`,
  ignore: missing !== undefined,
  fn() {
    const expected = [
      ...["gst_parse_launch", "gst_bin_get_by_name", "gst_element_get_bus", "gst_element_set_state"],
      ...["gst_element_set_stateAsync", "gst_element_get_stateAsync", "gst_element_seekAsync"],
      ...["gst_element_send_event", "gst_event_new_flush_start", "gst_event_new_flush_stop"],
      ...["gst_bus_timed_pop_filtered", "gst_bus_timed_pop_filteredAsync", "gst_element_query_position"],
    ].map((fn) => `gstreamer.${fn}`);
    expected.push(
      ...["gst_app_src_push_buffer", "gst_app_src_end_of_stream"].map((fn) => `gstreamer_app.${fn}`),
      ...["gst_app_sink_try_pull_sample", "gst_app_sink_try_pull_sampleAsync"].map((fn) => `gstreamer_app.${fn}`),
    );
    assertEquals(expected.filter((call) => !seen.has(call)), []);
  },
});
