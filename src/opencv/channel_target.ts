import { PrintedTarget } from "../core/graph/context.ts";
import type { OpenCVBase } from "./base.ts";

/** A target for OpenCV matrices, of any number of channels or of one. */
export abstract class ChannelTarget extends PrintedTarget<OpenCVBase> {
  /** The number of channels of its matrices; undefined if their shape decides. */
  readonly channels: number | undefined;

  /** Made by the context. */
  constructor(context: OpenCVBase, channels?: number) {
    super(context);
    this.channels = channels;
  }

  /** The channels, for messages. */
  protected override facts(): string[] {
    return this.channels === undefined ? [] : [`${this.channels} channels`];
  }
}
