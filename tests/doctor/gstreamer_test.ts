// What the doctor says of GStreamer: its version and plugins, or why it is not used.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { missing } from "../gstreamer/open.ts";
import { reported } from "./run.ts";

async function gstreamerIn(library?: string) {
  const env = library === undefined ? {} : { SAMEPAGE_LIB_GSTREAMER: library };
  const { apis, targets, edges } = await reported(["--no-proof"], { env, flags: ["--allow-ffi", "--allow-env"] });
  const about = apis.find(({ api }) => api === "gstreamer")!;
  return { ...about, targets: targets.filter(({ api }) => api === "gstreamer"), edges };
}

Deno.test({
  name: `doctor: GStreamer's version and plugins, and its edges to the host${missing ? ` (not here: ${missing})` : ""}`,
  ignore: missing !== undefined,
  async fn() {
    const { library, findings, devices, targets, edges } = await gstreamerIn();
    assertMatch(library.version!, /^GStreamer 1\.\d+/);
    assertEquals([findings, devices.map(({ name }) => name), targets.length], [[], [library.version!], 1]);
    const traits = devices[0].traits;
    assertMatch(traits.find(({ label }) => label === "plugins")!.text, /app 1\.\d+/);
    for (const { text } of traits.filter(({ label }) => label === "closed")) {
      assertMatch(text, /: there is no plugin \w+ \(apt install gstreamer1\.0-|^memory of CUDA: .*cudadownload/);
    }
    const textOf = (name: string) => traits.filter(({ label }) => label === name).map(({ text }) => text).join();
    assertMatch(textOf("dma-bufs"), /open\(\{ on: dmabuf \}\)/);
    for (const [plugin, label, on] of [["opengl", "memory of OpenGL", "egl"], ["va", "memory of VA-API", "va"]]) {
      const isThere = new RegExp(`\\b${plugin} 1`).test(textOf("plugins"));
      assertEquals(textOf(label).includes(`open({ on: ${on} })`), isThere, label);
    }
    for (const edge of ["gstbuffer→host", "host→gstbuffer"]) {
      assertEquals(edges.filter((one) => one.edge === edge).map(({ open }) => open), [true], edge);
    }
  },
});

Deno.test("doctor: without GStreamer all else is there", async () => {
  const { library, findings, devices, targets, edges } = await gstreamerIn("/nonexistent/libgstreamer-1.0.so.0");
  assertEquals([library.opened, devices, targets], [undefined, [], []]);
  assertEquals(library.attempts.map(({ path }) => path), ["/nonexistent/libgstreamer-1.0.so.0"]);
  assertMatch(findings[0].remedy ?? "", /SAMEPAGE_LIB_GSTREAMER/);
  assert(edges.some(({ open }) => open) || edges.length === 0);
});
