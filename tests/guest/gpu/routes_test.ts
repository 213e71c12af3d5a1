/** The routes of surfaces, on the guest's GPU. */
import { dmabuf } from "../../../src/dmabuf/mod.ts";
import { VaapiContext } from "../../../src/vaapi/mod.ts";
import { open } from "../../opencl/help.ts";
import { assertRoutes, bytesOf, hostNode, NV12, openclObjects, routesOf, vaapiNodes } from "../../routes/routes.ts";
import { guestTest } from "../needs.ts";

const FOLDER = new URL("../../../out/guest/gpu", import.meta.url).pathname;
const NODE = "/dev/dri/renderD128";

guestTest("explain() finds the routes of surfaces", async () => {
  using va = VaapiContext.open({ node: NODE });
  using cl = open("pocl");
  const nodes = [
    hostNode(),
    bytesOf("dmabuf", dmabuf, (init) => dmabuf.allocate(init), { "NV12": () => dmabuf.allocateFrame(NV12) }),
    ...openclObjects("opencl", cl),
    ...vaapiNodes(va),
  ];
  await assertRoutes("guest_gpu", await routesOf(nodes), FOLDER);
}, [NODE, "/dev/udmabuf"]);
