import { type Address, NULL } from "../../ffi/address.ts";
import {
  GST_BUFFER_FLAG_TAG_MEMORY,
  GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT,
  GST_FLOW_OK,
  GST_PAD_PROBE_TYPE_BLOCK,
  GST_PAD_PROBE_TYPE_PUSH,
  GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
} from "../../ffi/gstreamer/constants.ts";
import { GstAllocator, GstAllocatorClass, GstBufferPoolAcquireParams } from "../../ffi/gstreamer/structs.ts";
import type { Resource } from "../core/life/resource.ts";
import { allOrNothing, thenUndo, type Undo, undoAll } from "../core/life/undo.ts";
import { viewAt } from "../core/native/pin.ts";
import { cString } from "../core/native/text.ts";
import type { FrameInfo } from "../core/layout/frame_info.ts";
import type { AdoptedPlane } from "../core/tensors/adopt.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { type FrameMemory, NativeBuffers } from "../core/tensors/native_buffers.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { loadFunctions } from "../guard/functions.ts";
import { functionsOf } from "../guard/load.ts";
import { assertMachine } from "../guard/machine.ts";
import type { HeldBuffer } from "./held.ts";
import { checks, gobject, gst, made, takenText } from "./library.ts";
import { structs } from "./objects.ts";
import { ALIGN, allocCode, CONTROL, holdCode, INSTANCE, offerCode } from "./pool_code.ts";
import { sizeFor } from "./proposal.ts";

/** What a pool of a sink's is made of. */
export interface UpstreamPoolInit<T extends Tensor> {
  /** The pipeline's, which stops the streaming threads, and then calls {@link UpstreamPool.end}. */
  readonly writer: Resource;
  /** The sink's pad. */
  readonly pad: Address;
  readonly memory: FrameMemory<T>;
  /** How many buffers there are. */
  readonly slots: number;
  /** Rows begin at multiples of so many bytes, where elements let a pool say so: a power of two. */
  readonly rowAlign?: number | undefined;
  /** False to do without machine code: then buffers that the elements have made are given memory of ours. */
  readonly machineCode: boolean;
}

/**
 * Buffers of ours for the elements in front of a sink, each in a tensor of its own. The elements write into them on their
 * own threads. A `GstMemory` stands over each; it is free while this pool has the only reference.
 */
export class UpstreamPool<T extends Tensor = Tensor> {
  readonly #init: UpstreamPoolInit<T>;
  /** What ends with the pipeline. */
  readonly #undo: Undo = [];
  #buffers: NativeBuffers<T> | undefined;
  /** Makes the buffers, and has the elements go on. */
  #allocate: (() => void) | undefined;
  /** Has the elements go on without them. */
  #unblock: (() => void) | undefined;
  /** Has elements wait again at their next ALLOCATION query. */
  #block: (() => void) | undefined;
  #element: string | undefined;

  /**
   * Has the pad wait at its first ALLOCATION query, which comes once the caps are known.
   *
   * @throws {InteropError} where there is no machine code for this machine, and the program demands such buffers.
   */
  constructor(init: UpstreamPoolInit<T>) {
    this.#init = init;
    const { pad, machineCode } = init;
    gst().gst_object_ref(pad);
    this.#undo.push(() => gst().gst_object_unref(pad));
    if (machineCode) allOrNothing("offering memory to a pipeline", (undo) => this.#offer(undo), this.#undo);
  }

  /** True while elements wait for the buffers: {@link make} makes them. They wait until it is called. */
  get isAwaited(): boolean {
    return this.#allocate !== undefined && gst().gst_pad_is_blocking(this.#init.pad) !== 0;
  }

  /** True until elements have asked for buffers, or have sent a frame without. */
  get mayBeAwaited(): boolean {
    return this.#allocate !== undefined;
  }

  /** True if it waits for a buffer to {@link adopt}. */
  get adopts(): boolean {
    return !this.#init.machineCode && this.#buffers === undefined;
  }

  /** The element in front of the sink, for messages: what has written a frame elsewhere. */
  get element(): string {
    return this.#element ??= elementBefore(this.#init.pad);
  }

  /** A frame came: elements that have not asked for buffers have their own. */
  settle(): void {
    this.#unblock?.();
  }

  /**
   * Makes the buffers that the elements wait for. It makes none for what has no size of its own, such as sound.
   *
   * @throws {ArgumentError} for memory that allocates something else. The elements go on with GStreamer's memory.
   */
  make(): void {
    this.#allocate?.();
  }

  /**
   * Without machine code: gives memory of ours to the buffers of the pool that this one came from. The pipeline is in
   * PAUSED, so that most of them are there. It does nothing for a buffer of no pool.
   *
   * @throws {ArgumentError} for memory that allocates something else.
   */
  adopt(buffer: Address): void {
    const pool = structs.GstBuffer.at(buffer).pool as Address;
    if (!this.adopts || pool === NULL) return;
    const acquired = new BigUint64Array(1);
    const params = new Uint8Array(GstBufferPoolAcquireParams.size);
    const { flags } = GstBufferPoolAcquireParams.fields;
    new DataView(params.buffer).setUint32(flags.offset, GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT, true);
    const taken: Address[] = [];
    thenUndo("giving memory to a pool", (undo) => {
      undo.push(() => taken.forEach((one) => gst().gst_mini_object_unref(one)));
      while (taken.length < this.#init.slots) {
        if (gst().gst_buffer_pool_acquire_buffer(pool, acquired, params) !== GST_FLOW_OK) break;
        taken.push(acquired[0] as Address);
      }
      const theirs = made(gst().gst_buffer_peek_memory(buffer, 0), "gst_buffer_peek_memory");
      const { maxsize, align, offset, size } = structs.GstMemory.at(theirs);
      if (taken.length === 0 || gst().gst_buffer_n_memory(buffer) !== 1 || align >= ALIGN) return;
      const memories = this.#fill(taken.length, Number(maxsize));
      for (const [i, memory] of memories.entries()) {
        Object.assign(structs.GstMemory.at(memory), { offset, size });
        gst().gst_mini_object_ref(memory);
        gst().gst_buffer_replace_memory_range(taken[i], 0, -1, memory);
        gst().gst_buffer_unset_flags(taken[i], GST_BUFFER_FLAG_TAG_MEMORY); // or the pool would drop it
      }
    });
  }

  /**
   * The frame over what a GstBuffer refers to; undefined if that is GStreamer's memory.
   *
   * @param held given back once the frame has ended
   */
  frameOf(
    info: FrameInfo,
    planes: readonly Pick<AdoptedPlane, "block" | "layout">[],
    held: HeldBuffer,
  ): Frame<T> | undefined {
    const about = { access: held.access, metadata: undefined };
    return this.#buffers?.frameIn(info, planes, about, () => held.release("unused"));
  }

  /** The pipeline has stopped: its elements no longer have a pool, and ask again once it plays. */
  stopped(): void {
    if (this.#unblock === undefined) this.#block?.();
  }

  /** The pipeline has ended: no GStreamer thread still writes, but what it has sent on may live. */
  end(): void {
    undoAll(this.#undo, "giving the buffers of a pipeline back");
  }

  /** Slots begin at multiples of this. */
  get #align(): number {
    return Math.max(ALIGN, this.#init.rowAlign ?? 1);
  }

  /** Puts two probes on the pad: one that waits, and one that offers an allocator. */
  #offer(undo: Undo): void {
    const { pad, slots, rowAlign } = this.#init;
    const { type, hold, offer, entries, memType } = allocatorType();
    const allocator = gst().gst_object_ref_sink(gobject().g_object_new_with_properties(type, 0, NULL, NULL));
    const control = viewAt(allocator, INSTANCE, "gstreamer");
    undo.push(() => {
      control.setInt32(CONTROL.count, 0, true); // a pool of an element's may keep it, and ask again
      gst().gst_object_unref(allocator);
    });
    control.setBigUint64(GstAllocator.fields.mem_type.offset, memType, true);
    control.setBigUint64(CONTROL.align, BigInt(this.#align), true);
    control.setBigUint64(CONTROL.offer, entries.gst_query_add_allocation_param, true);
    control.setBigUint64(CONTROL.fallback, entries.gst_allocator_alloc, true);
    const probe = (how: number, callback: Address) => {
      const mask = GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | how;
      const id = gst().gst_pad_add_probe(pad, mask, callback, allocator, NULL);
      made(id as Address, "gst_pad_add_probe");
      return () => gst().gst_pad_remove_probe(pad, id);
    };
    undo.push(probe(GST_PAD_PROBE_TYPE_PUSH, offer));
    const block = this.#block = () => {
      const remove = probe(GST_PAD_PROBE_TYPE_BLOCK, hold);
      const unblock = this.#unblock = () => {
        this.#allocate = this.#unblock = undefined;
        remove();
      };
      this.#allocate = () => {
        this.#allocate = undefined;
        thenUndo("making the buffers of a pipeline", (later) => {
          later.push(unblock);
          const byteLength = sizeFor(pad, control.getBigUint64(CONTROL.query, true) as Address, rowAlign);
          if (byteLength === 0 || this.#buffers !== undefined) return;
          this.#fill(slots, byteLength).forEach((memory, i) => {
            control.setBigUint64(CONTROL.slots + 8 * i, memory, true);
          });
          control.setBigUint64(CONTROL.capacity, BigInt(byteLength), true);
          control.setInt32(CONTROL.count, slots, true);
        });
      };
    };
    block();
    undo.push(() => this.#unblock?.());
  }

  /** Makes the buffers, and a GstMemory over each. */
  #fill(count: number, byteLength: number): readonly Address[] {
    const { writer, memory } = this.#init;
    const buffers = new NativeBuffers<T>({
      ...{ writer, library: "GStreamer", count, align: this.#align, checks },
    });
    const memories: Address[] = [];
    const undo: Undo = [
      () => buffers.end(),
      () => memories.forEach((one) => gst().gst_mini_object_unref(one)),
    ];
    allOrNothing("making the buffers of a pipeline", () => {
      const size = BigInt(byteLength);
      for (let i = 0; i < count; i++) {
        memories.push(buffers.add(memory, byteLength, (start) => {
          const { data, callback } = buffers;
          return made(
            gst().gst_memory_new_wrapped(0, start, size, 0n, size, data, callback),
            "gst_memory_new_wrapped",
          );
        }));
      }
    }, undo);
    this.#buffers = buffers;
    // Ended after the allocator, and before its pad.
    this.#undo.splice(1, 0, ...undo);
    return memories;
  }
}

/** The name of the element that a pad is linked to. */
function elementBefore(pad: Address): string {
  const peer = gst().gst_pad_get_peer(pad);
  if (peer === NULL) return "no element";
  const element = gst().gst_pad_get_parent_element(peer);
  gst().gst_object_unref(peer);
  if (element === NULL) return "another pipeline";
  const name = takenText(gst().gst_object_get_name(element))!;
  gst().gst_object_unref(element);
  return name;
}

interface AllocatorType {
  readonly type: bigint;
  readonly hold: Address;
  readonly offer: Address;
  readonly entries: Readonly<Record<"gst_query_add_allocation_param" | "gst_allocator_alloc", Address>>;
  readonly memType: bigint;
}

let registered: AllocatorType | undefined;

/** The class of allocators whose function is machine code: one for each that a process has loaded. */
function allocatorType(): AllocatorType {
  if (registered !== undefined) return registered;
  const hint = "Pass { machineCode: false }, or leave into out.";
  assertMachine("into: what has GStreamer write to other memory", { api: "gstreamer", hint });
  const code = { alloc: allocCode(), offer: offerCode(), hold: holdCode() };
  const { alloc, ...probes } = loadFunctions("gstreamer-pool", code);
  const { g_type_from_name, g_type_register_static_simple, g_type_class_ref } = gobject();
  const name = cString(`SamepageAllocator${alloc.toString(16)}`);
  const parent = gst().gst_allocator_get_type();
  const type = g_type_from_name(name) ||
    g_type_register_static_simple(parent, name, GstAllocatorClass.size, NULL, INSTANCE, NULL, 0) ||
    g_type_from_name(name); // another isolate was faster
  made(type as Address, "g_type_register_static_simple");
  structs.GstAllocatorClass.at(g_type_class_ref(type)).alloc = alloc;
  const system = gst().gst_allocator_find(cString("SystemMemory"));
  const { mem_type: memType } = structs.GstAllocator.copyOf(system);
  gst().gst_object_unref(system);
  const entries = functionsOf("gstreamer", "gst_query_add_allocation_param", "gst_allocator_alloc");
  return registered = { type, ...probes, entries, memType };
}
