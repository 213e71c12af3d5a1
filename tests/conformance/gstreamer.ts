import { MapperGraph } from "../../mod.ts";
import { layout, type LayoutInit } from "../../src/core/layout/layout.ts";
import { adoptTensor } from "../../src/core/tensors/adopt.ts";
import { gstName } from "../../src/gstreamer/formats.ts";
import { GStreamerContext, type GStreamerTensor } from "../../src/gstreamer/mod.ts";
import { host } from "../../src/host/mod.ts";
import { addressIn, CBuffer, memory } from "../gstreamer/buffers.ts";
import { lacking } from "../gstreamer/lacking.ts";
import { bytesAt } from "./bytes.ts";
import { SIZE } from "./case.ts";
import { byHost, hostEnd } from "./host_end.ts";
import { PROBES } from "./opencv_variants.ts";
import type { Candidate, End, Foreign, Subject } from "./subject.ts";

/** The edges of GstBuffers. */
export function gstreamers(): Candidate[] {
  const missing = lacking();
  return ["gstbuffer→host", "host→gstbuffer"].map((edge) => ({
    edge,
    open: missing === undefined ? () => opened(edge) : `there is no ${missing}`,
  }));
}

function opened(edge: string): Subject {
  using made = new DisposableStack();
  const [gst, other] = [0, 1].map(() => made.use(GStreamerContext.openSync()));
  const graph = made.use(new MapperGraph([host, gst, other]));
  const fromHost = edge.startsWith("host");
  const end = endOf(gst);
  const kept = made.move();
  return {
    graph,
    source: fromHost ? hostEnd : end,
    target: fromHost ? end : hostEnd,
    ...(fromHost ? { elsewhere: endOf(other) } : {}),
    expected: "alias",
    withoutCalls: true,
    silentAtAllocating: PROBES,
    silentAtAttaching: PROBES,
    openContext: () => GStreamerContext.openSync(),
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/** Memory of GStreamer's. It has no commands: what writes it is a map of the CPU's. */
function endOf(target: GStreamerContext): End {
  const own = new MapperGraph([host, target]);
  return {
    target,
    allocate: (init) => allocated(target, init),
    allocateFrame({ format, width, height }) {
      using made = new CBuffer(memory(4 * width * height));
      const caps = `video/x-raw,format=${gstName(format)},width=${width},height=${height}`;
      return target.attach(made.address, { caps });
    },
    foreign: () => foreignBuffer(target),
    ...byHost(own),
    raw: {
      write(tensor, bytes) {
        look(tensor as GStreamerTensor).set(bytes);
        return () => Promise.resolve();
      },
      read: (tensor) => Promise.resolve(look(tensor as GStreamerTensor).slice()),
      look: (tensor) => look(tensor as GStreamerTensor),
    },
  };
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

function look({ address, layout: { byteLength } }: GStreamerTensor): Uint8Array {
  return bytesAt(address, byteLength);
}
