/**
 * The process that looks at the pictures: it takes a twentieth of a second for each, and draws one a second as text.
 *
 * `viewer.ts PATH`; main.ts starts it.
 *
 * @module
 */
import { type Frame, host, type HostTensor } from "@samepage/interop";
import { FrameRing } from "@samepage/interop/channel";
import { print } from "../edges/report.ts";

const [path] = Deno.args;
const [COLUMNS, ROWS] = [64, 18];
const SHADES = " .:-=+*#%@";

await using ring = await FrameRing.open<Frame<HostTensor>>(path, { contexts: [host] });
let [shown, next] = [0, 0];
for await (const frame of ring) {
  shown++;
  if (performance.now() > next) {
    next = performance.now() + 1000;
    console.log(drawn(frame.planes[0]));
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
}
print("shown", `${shown} frames; ${ring.missed} were dropped for want of time`);

/** A picture as text. */
function drawn(plane: HostTensor): string {
  const { shape: [height, width], strides: [stride] } = plane.layout;
  const bytes = plane.bytes({ access: "read" });
  const rows = Array.from({ length: ROWS }, (_, row) => {
    const y = Math.floor((row + 0.5) * height / ROWS);
    return Array.from({ length: COLUMNS }, (_, column) => {
      const x = Math.floor((column + 0.5) * width / COLUMNS);
      return SHADES[Math.floor(bytes[y * stride + x] * SHADES.length / 256)];
    }).join("");
  });
  return rows.join("\n");
}
