// Host memory: mapped and given back, untouched.

import { host } from "@samepage/interop";
import { c } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { FRAME } from "./harness/frame.ts";
import { atMostMore } from "./harness/goal.ts";
import { here } from "./harness/way.ts";

const SIZES = {
  page: { what: "4096 bytes", init: { shape: [4096], dtype: "u8" } },
  frame: { what: "a frame", init: FRAME },
} as const;

for (const [size, { what, init }] of Object.entries(SIZES)) {
  figure({
    id: `allocate-${size}`,
    title: `allocate ${what} on the host and dispose it`,
    goal: atMostMore(2.5),
    ways: [
      c("allocate", size),
      here("samepage", () => ({
        run(count) {
          for (let i = 0; i < count; i++) host.allocate(init)[Symbol.dispose]();
        },
      })),
    ],
  });
}
