import { host, type HostTensor } from "../../host/mod.ts";
import { Transform } from "../stage.ts";

const THICK = 2;

/**
 * Draws a white box around each detection, in place, in the first plane: luma, or packed colours.
 *
 * @example
 * ```ts
 * import { host, imageInfo } from "@samepage/interop";
 * import { outline, pipeline } from "@samepage/interop/pipeline";
 *
 * const source = async function* () {
 *   const frame = host.allocateFrame(imageInfo({ format: "GRAY8", width: 8, height: 8 }));
 *   frame.metadata.add("detection", { xMin: 0, yMin: 0, xMax: 1, yMax: 1 });
 *   yield frame;
 * };
 * for await (using frame of pipeline(source(), outline())) console.log(frame.planes[0].target === host); // true
 * ```
 */
export function outline(): Transform<HostTensor> {
  return new Transform<HostTensor>({
    name: "outline",
    takes: { memory: host },
    process({ planes: [{ layout }], planes: [plane], regions }) {
      if (regions.length === 0) return;
      const [rows, columns] = layout.shape;
      const [bytes, [stride, step]] = [plane.bytes(), layout.strides];
      const fill = (left: number, top: number, right: number, bottom: number) => {
        for (let y = Math.max(0, top); y < Math.min(bottom, rows); y++) {
          bytes.fill(255, y * stride + Math.max(0, left) * step, y * stride + Math.min(right, columns) * step);
        }
      };
      for (const { x, y, width, height } of regions) {
        fill(x, y, x + width, y + THICK);
        fill(x, y + height - THICK, x + width, y + height);
        fill(x, y, x + THICK, y + height);
        fill(x + width - THICK, y, x + width, y + height);
      }
    },
  });
}
