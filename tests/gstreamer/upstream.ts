/**
 * Pipelines by GStreamer's own functions: what the elements in front of a sink write to.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { host, type Tensor } from "@samepage/interop";
import { Resource } from "@samepage/interop/backend";
import type { FrameMemory } from "@samepage/interop/ffmpeg";
import { type Address, NULL } from "../../ffi/address.ts";
import * as c from "../../ffi/gstreamer/constants.ts";
import { GstMapInfo } from "../../ffi/gstreamer/structs.ts";
import { cString } from "../../src/core/native/text.ts";
import { gst, gstApp } from "../../src/gstreamer/library.ts";
import { UpstreamPool, type UpstreamPoolInit } from "../../src/gstreamer/pool.ts";

const FOREVER = 2n ** 64n - 1n;

/** A pipeline whose appsink is called `out`, with a pool at it. */
export class Pipeline implements AsyncDisposable {
  readonly pipeline: Address;
  readonly sink: Address;
  readonly pool: UpstreamPool;
  readonly #resource: Resource;

  constructor(description: string, init: Partial<UpstreamPoolInit<Tensor>> = {}) {
    const { gst_parse_launch, gst_bin_get_by_name, gst_element_get_static_pad, gst_object_unref } = gst();
    const error = new BigUint64Array(1);
    this.pipeline = gst_parse_launch(cString(description), error);
    assertEquals(error[0], 0n, description);
    this.sink = gst_bin_get_by_name(this.pipeline, cString("out"));
    const pad = gst_element_get_static_pad(this.sink, cString("sink"));
    const resource = this.#resource = new Resource({
      name: "a pipeline of a test",
      undo: [() => {
        this.pool.end();
        gst_object_unref(this.sink);
        gst_object_unref(this.pipeline);
      }],
    });
    this.pool = new UpstreamPool({
      ...{ writer: resource, pad, memory: host as FrameMemory, slots: 24, machineCode: true, ...init },
    });
    gst_object_unref(pad);
  }

  /** Begins to play; the buffers are made once they are awaited, or once there is one to adopt. True if they were. */
  async play(): Promise<boolean> {
    this.set(c.GST_STATE_PAUSED);
    for (;;) {
      const preroll = gstApp().gst_app_sink_try_pull_preroll(this.sink, 0n);
      const isAwaited = this.pool.isAwaited;
      if (isAwaited) this.pool.make();
      else if (preroll === NULL) {
        await new Promise((resolve) => setTimeout(resolve, 2));
        continue;
      } else this.pool.adopt(gst().gst_sample_get_buffer(preroll));
      if (preroll !== NULL) gst().gst_mini_object_unref(preroll);
      this.set(c.GST_STATE_PLAYING);
      return isAwaited;
    }
  }

  /** The next buffer, with a reference; NULL after the last one. */
  async pull(): Promise<Address> {
    const sample = await gstApp().gst_app_sink_try_pull_sampleAsync(this.sink, FOREVER);
    if (sample === NULL) return NULL;
    const buffer = gst().gst_sample_get_buffer(sample);
    gst().gst_mini_object_ref(buffer);
    gst().gst_mini_object_unref(sample);
    return buffer;
  }

  set(state: number): void {
    gst().gst_element_set_state(this.pipeline, state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.set(c.GST_STATE_NULL);
    await this.#resource.disposeAsync();
  }
}

/** Where a buffer's memory begins, and how many bytes it has. */
export function mapped(buffer: Address): { address: Address; byteLength: number } {
  const map = new DataView(new ArrayBuffer(GstMapInfo.size));
  const bytes = new Uint8Array(map.buffer);
  assertEquals(gst().gst_buffer_map(buffer, bytes, c.GST_MAP_READ), 1);
  const { data, size } = GstMapInfo.fields;
  const found = {
    address: map.getBigUint64(data.offset, true) as Address,
    byteLength: Number(map.getBigUint64(size.offset, true)),
  };
  gst().gst_buffer_unmap(buffer, bytes);
  return found;
}
