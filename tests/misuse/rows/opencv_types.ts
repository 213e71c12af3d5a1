import { ArgumentError, host } from "@samepage/interop";
import { gpuMatHeader } from "@samepage/interop/opencv";
import { tryAll } from "../anything.ts";
import { staleViews } from "../../stale_views.ts";
import { any, fails } from "../kit.ts";
import { eye, photo } from "../opencv.ts";
import { table } from "../row.ts";

export default table(import.meta, {
  "anything for any argument of OpenCV": {
    flags: ["--allow-ffi", "--allow-read"],
    warns: /^/,
    leaves: true,
    async run() {
      using it = eye();
      const { cv, graph } = it;
      using source = photo();
      using result = photo();
      using from = graph.map(source, cv.mat);
      using to = graph.map(result, cv.mat);
      await tryAll({
        "matOf": (x) => cv.matOf(x),
        "matOf channels": (x) => cv.matOf({ channels: x }),
        "umatOf channels": (x) => cv.umatOf({ channels: x }),
        "create": (x) => cv.mat.create(x)[Symbol.dispose](),
        "create dtype": (x) => cv.mat.create({ shape: [4, 4], dtype: x })[Symbol.dispose](),
        "attach": (x) => cv.mat.attach(x === 5n ? "5n" as never : x),
        "attach options": (x) => cv.mat.attach(from.handle, x)[Symbol.dispose](),
        "gpuMatHeader": (x) => gpuMatHeader(x),
        "cvtColor src": (x) => cv.cvtColor(x, to, "BGR2GRAY"),
        "cvtColor code": (x) => cv.cvtColor(from, to, x),
        "GaussianBlur size": (x) => cv.GaussianBlur(from, to, x),
        "GaussianBlur options": (x) => cv.GaussianBlur(from, to, [5, 5], x),
        "Canny threshold": (x) => cv.Canny(from, to, x, 1),
        "resize interpolation": (x) => cv.resize(from, to, [2, 2], { interpolation: x }),
        "warpAffine matrix": (x) => cv.warpAffine(from, to, x, [64, 64]),
        "threshold type": (x) => cv.threshold(from, to, 1, 2, x),
        "copyTo": (x) => cv.copyTo(from, x),
        "convertTo rtype": (x) => cv.convertTo(from, to, x),
        "flip": (x) => cv.flip(from, to, x),
        "imread": (x) => cv.imread(x),
        "imread mode": (x) => cv.imread("/etc/hostname", x),
        "imwrite": (x) => cv.imwrite(x, from),
        "imwrite options": (x) => cv.imwrite("/tmp/x.png", from, x),
        "imwrite ending": (x) => cv.imwrite(`/tmp/x.${String(typeof x === "object" ? 1 : x)}`, from),
        "imencode ending": (x) => cv.imencode(x, from),
        "imencode options": (x) => cv.imencode(".png", from, x),
        "imdecode": (x) => cv.imdecode(x),
        "imdecode mode": (x) => cv.imdecode(new Uint8Array(4), x),
        "map to a host frame": (x) => graph.map(x, host),
      });
    },
  },
  "a view of a file whose bytes are gone": {
    leaves: true,
    run() {
      using it = eye();
      for (const view of staleViews()) {
        const error = fails(view.constructor.name, () => it.cv.imdecode(any(view)), ArgumentError);
        if (!/view is stale/.test(error.message)) throw new Error(error.message);
      }
    },
  },
});
