// A 1080p NV12 surface on the libva driver of the tests, which does next to nothing itself: its memory to another display and
// back, by fds; and its pixels for the CPU, in place and by copies.

import { type Frame, host, imageInfo, MapperGraph } from "@samepage/interop";
import { VaapiContext, type VaapiTensor } from "@samepage/interop/vaapi";
import { buildDriver, LIBRARY, NODE, useDriver } from "../tests/vaapi/driver.ts";
import { vaapiC } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { atMost, faster } from "./harness/goal.ts";
import { Missing } from "./harness/program.ts";
import { here } from "./harness/way.ts";

const missing = await buildDriver();
const c = (operation: string, name?: string) => vaapiC([LIBRARY, NODE], operation, name);

interface Opened {
  readonly graph: MapperGraph;
  readonly other: VaapiContext;
  readonly surface: Frame<VaapiTensor>;
}

let opened: Opened | undefined;

function open(): Opened {
  if (missing !== undefined) throw new Missing(missing);
  if (opened !== undefined) return opened;
  useDriver();
  const [va, other] = [VaapiContext.open({ node: NODE }), VaapiContext.open({ node: NODE })];
  const surface = va.allocateFrame(imageInfo({ format: "NV12", width: 1920, height: 1080 }));
  return opened = { graph: new MapperGraph([host, va, other]), other, surface };
}

figure({
  id: "vaapi-share",
  title: "export a surface, import it and release it",
  goal: atMost(1.1),
  ignore: missing !== undefined,
  ways: [
    c("share"),
    here("samepage", () => {
      const { graph, other, surface } = open();
      return {
        run(count) {
          for (let i = 0; i < count; i++) graph.map(surface, other)[Symbol.dispose]();
        },
      };
    }),
  ],
});

figure({
  id: "vaapi-read",
  title: "a surface's pixels for the CPU",
  goal: faster(10),
  ignore: missing !== undefined,
  ways: [
    c("get", "C, vaGetImage and memcpy"),
    here("samepage", () => {
      const { graph, surface } = open();
      return {
        run(count) {
          for (let i = 0; i < count; i++) {
            const pixels = graph.map(surface, host, { access: "read" });
            void pixels.planes[1].bytes({ access: "read" })[0];
            pixels[Symbol.dispose]();
          }
        },
      };
    }),
    c("derive", "C, vaDeriveImage"),
  ],
});
