import { layout, type LayoutInit } from "../../src/core/layout/layout.ts";
import { adoptTensor } from "../../src/core/tensors/adopt.ts";
import { formats } from "../../src/gstreamer/formats.ts";
import { GStreamerContext, type GStreamerTensor } from "../../src/gstreamer/mod.ts";
import { addressIn, CBuffer, memory } from "../gstreamer/buffers.ts";
import { lacking } from "../gstreamer/lacking.ts";
import { SIZE } from "./case.ts";
import { frameworkEnd, withFramework } from "./host_end.ts";
import type { Candidate, End, Foreign } from "./subject.ts";

/** The edges of GstBuffers. */
export function gstreamers(): Candidate[] {
  const missing = lacking();
  return ["gstbuffer→host", "host→gstbuffer"].map((edge) => ({
    edge,
    open: missing === undefined
      ? () => withFramework(edge.startsWith("host"), () => GStreamerContext.openSync(), endOf)
      : `there is no ${missing}`,
  }));
}

/** Memory of GStreamer's. */
function endOf(target: GStreamerContext): End {
  return frameworkEnd(target, {
    allocate: (init) => allocated(target, init),
    allocateFrame({ format, width, height }) {
      using made = new CBuffer(memory(4 * width * height));
      const caps = `video/x-raw,format=${formats.nameOf(format)},width=${width},height=${height}`;
      return target.attach(made.address, { caps });
    },
    foreign: () => foreignBuffer(target),
  });
}

/** A tensor of any layout, in the memory of a buffer. */
function allocated(target: GStreamerContext, init: LayoutInit): GStreamerTensor {
  const at = layout(init);
  const byteLength = at.byteOffset + at.byteLength;
  const made = new CBuffer(memory(byteLength));
  const address = addressIn(made);
  const owner = { handle: made.address, release: () => made[Symbol.dispose]() };
  const block = { kind: "gstreamer.memory", address, byteLength };
  return adoptTensor(target, owner, { handle: address, layout: at, block });
}

/** A picture of one row, as other code has it. */
function foreignBuffer(target: GStreamerContext): Foreign {
  const caps = `video/x-raw,format=GRAY8,width=${SIZE},height=1`;
  const [made, misfit] = [0, 1].map(() => new CBuffer(memory(SIZE)));
  misfit.addVideoMeta("GRAY8", [SIZE, 2], [0], [SIZE]);
  return {
    attach: (options) => target.attach(made.address, { ...options, caps }),
    misfit: (options) => target.attach(misfit.address, options),
    [Symbol.dispose]() {
      misfit[Symbol.dispose]();
      made[Symbol.dispose]();
    },
  };
}
