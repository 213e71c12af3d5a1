import type { Address } from "../../ffi/address.ts";
import { layout, type LayoutInit } from "../../src/core/layout/layout.ts";
import { adoptTensor } from "../../src/core/tensors/adopt.ts";
import { FFmpegContext, type FFmpegTensor } from "../../src/ffmpeg/mod.ts";
import { formats } from "../../src/ffmpeg/formats.ts";
import { buildFrames, CFrame, inC } from "../ffmpeg/frames.ts";
import { SIZE } from "./case.ts";
import { frameworkEnd, withFramework } from "./host_end.ts";
import type { Candidate, End, Foreign } from "./subject.ts";

const missing = await buildFrames();

/** The edges of AVFrames. */
export function ffmpegs(): Candidate[] {
  return ["avframe→host", "host→avframe"].map((edge) => ({
    edge,
    open: missing === undefined
      ? () => withFramework(edge.startsWith("host"), () => FFmpegContext.open(), endOf)
      : `there is no ${missing}`,
  }));
}

/** Memory of FFmpeg's. */
function endOf(target: FFmpegContext): End {
  return frameworkEnd(target, {
    allocate: (init) => allocated(target, init),
    allocateFrame(info) {
      using made = CFrame.picture(formats.nameOf(info.format)!, info.width, info.height);
      return target.attach(made.pointer, { access: "read-write" });
    },
    foreign: () => foreignFrame(target),
  });
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
