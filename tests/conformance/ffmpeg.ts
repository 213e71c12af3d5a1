import { MapperGraph } from "../../mod.ts";
import type { Address } from "../../ffi/address.ts";
import { layout, type LayoutInit } from "../../src/core/layout/layout.ts";
import { adoptTensor } from "../../src/core/tensors/adopt.ts";
import { FFmpegContext, type FFmpegTensor } from "../../src/ffmpeg/mod.ts";
import { ffmpegName } from "../../src/ffmpeg/formats.ts";
import { host } from "../../src/host/mod.ts";
import { buildFrames, CFrame, inC } from "../ffmpeg/frames.ts";
import { bytesAt } from "./bytes.ts";
import { SIZE } from "./case.ts";
import { byHost, hostEnd } from "./host_end.ts";
import { PROBES } from "./opencv_variants.ts";
import type { Candidate, End, Foreign, Subject } from "./subject.ts";

const missing = await buildFrames();

/** The edges of AVFrames. */
export function ffmpegs(): Candidate[] {
  return ["avframe→host", "host→avframe"].map((edge) => ({
    edge,
    open: missing === undefined ? () => opened(edge) : `there is no ${missing}`,
  }));
}

function opened(edge: string): Subject {
  using made = new DisposableStack();
  const [ffmpeg, other] = [0, 1].map(() => made.use(FFmpegContext.open()));
  const graph = made.use(new MapperGraph([host, ffmpeg, other]));
  const fromHost = edge.startsWith("host");
  const end = endOf(ffmpeg);
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
    openContext: () => FFmpegContext.open(),
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/** Memory of FFmpeg's. It has no commands: what writes it is a map of the CPU's. */
function endOf(target: FFmpegContext): End {
  const own = new MapperGraph([host, target]);
  return {
    target,
    allocate: (init) => allocated(target, init),
    allocateFrame(info) {
      using made = CFrame.picture(ffmpegName(info.format)!, info.width, info.height);
      return target.attach(made.pointer, { access: "read-write" });
    },
    foreign: () => foreignFrame(target),
    ...byHost(own),
    raw: {
      write(tensor, bytes) {
        look(tensor as FFmpegTensor).set(bytes);
        return () => Promise.resolve();
      },
      read: (tensor) => Promise.resolve(look(tensor as FFmpegTensor).slice()),
      look: (tensor) => look(tensor as FFmpegTensor),
    },
  };
}

const U8 = 0; // AV_SAMPLE_FMT_U8

/** A tensor of any layout, in the buffer of a frame of sound. */
function allocated(target: FFmpegContext, init: LayoutInit): FFmpegTensor {
  const at = layout(init);
  const byteLength = at.byteOffset + at.byteLength;
  const made = CFrame.sound(U8, 1, byteLength);
  const address = inC().plane_of(made.pointer, 0) as Address;
  const owner = { handle: made.pointer, release: () => made[Symbol.dispose]() };
  return adoptTensor(target, owner, {
    handle: address,
    layout: at,
    block: { kind: "ffmpeg.buffer", address, byteLength },
  });
}

/** A picture of one row, as other code has it. */
function foreignFrame(target: FFmpegContext): Foreign {
  const made = CFrame.picture("gray", SIZE, 1);
  const misfit = CFrame.picture("gray", SIZE, 1);
  inC().stretch(misfit.pointer, 1000);
  return {
    attach: (options) => target.attach(made.pointer, options),
    misfit: (options) => target.attach(misfit.pointer, options),
    [Symbol.dispose]() {
      misfit[Symbol.dispose]();
      made[Symbol.dispose]();
    },
  };
}

function look({ address, layout: { byteLength } }: FFmpegTensor): Uint8Array {
  return bytesAt(address, byteLength);
}
