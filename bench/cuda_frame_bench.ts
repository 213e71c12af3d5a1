// A frame through one kernel and back, the host looking at it afterwards: in mapped memory, and by copies.

import { cudaC } from "./harness/c.ts";
import { FRAME_BYTES } from "./harness/cuda.ts";
import { figure } from "./harness/figure.ts";
import { faster } from "./harness/goal.ts";
import { here, moving } from "./harness/way.ts";
import {
  invertingByPageableCopies,
  invertingByPinnedCopies,
  invertingInMapped,
  invertingRegistered,
} from "./operations/cuda_frame.ts";

/** What a frame's copies move: there and back. */
const COPIED = 2 * FRAME_BYTES;

figure({
  id: "cuda-frame-pinned",
  title: "a frame through a kernel and back, against pinned copies",
  on: "cuda",
  goal: faster(1.4),
  ways: [
    moving(COPIED, here("samepage, copying", invertingByPinnedCopies)),
    moving(0, here("samepage", invertingInMapped)),
    moving(COPIED, cudaC("cuda_frame", "pinned", "C, copying")),
    moving(0, cudaC("cuda_frame", "mapped")),
  ],
});

figure({
  id: "cuda-frame-pageable",
  title: "a frame through a kernel and back, against pageable copies",
  on: "cuda",
  goal: faster(5),
  ways: [
    moving(COPIED, here("samepage, copying", invertingByPageableCopies)),
    moving(0, here("samepage", invertingInMapped)),
    moving(0, here("samepage, registered for it", invertingRegistered)),
    moving(COPIED, cudaC("cuda_frame", "pageable", "C, copying")),
    moving(0, cudaC("cuda_frame", "mapped")),
    moving(0, cudaC("cuda_frame", "registered", "C, registered for it")),
  ],
});
