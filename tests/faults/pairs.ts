/**
 * FFmpeg's objects that were made, and not freed. The ledger counts samepage's own, and FFmpeg's are memory like any other.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { setTap } from "../../src/core/native/library.ts";
import { tapped } from "./tap.ts";

/** What makes an object, and what frees it, also where no object was made. */
const PAIRS: Readonly<Record<string, readonly string[]>> = {
  av_frame_alloc: ["av_frame_free"],
  av_packet_alloc: ["av_packet_free"],
  avcodec_alloc_context3: ["avcodec_free_context"],
  avformat_alloc_context: ["avformat_close_input"],
  avformat_alloc_output_context2: ["avformat_free_context"],
  avio_open2: ["avio_close", "avio_closep"],
  av_dict_set: ["av_dict_free"],
  av_buffer_pool_init2: ["av_buffer_pool_uninit"],
};

// deno-lint-ignore no-explicit-any -- a native function of any signature
type Native = (...args: any[]) => any;

const counts = new Map<string, number>();

/** Packets that hold what was read. */
const full = new Set<bigint>();
let overwritten = 0;

/** Where FFmpeg reads a packet into one that holds another, nothing frees the first one's data. */
const PACKETS: Readonly<Record<string, (fn: Native) => Native>> = {
  av_read_frame: (fn) => async (context, packet) => {
    if (full.has(packet)) overwritten++;
    const code = await fn(context, packet);
    if (code >= 0) full.add(packet);
    return code;
  },
  av_packet_unref: (fn) => (packet) => {
    full.delete(packet);
    return fn(packet);
  },
  av_packet_free: (fn) => (at) => {
    full.delete(at[0]);
    return fn(at);
  },
};

/** Puts functions that fail on request in the place of every library's own, as installTap() does, and counts these. */
export function installPairs(): void {
  const names = new Set(Object.entries(PAIRS).flat(2));
  setTap((api, functions) => {
    const entries = Object.entries(tapped(api, functions)).map(([name, fn]) => {
      const seen = PACKETS[name]?.(fn as Native) ?? fn;
      return [name, names.has(name) ? counted(name, seen as Native) : seen];
    });
    return Object.fromEntries(entries);
  });
}

/** It returns an address, an error below zero, or nothing. */
function counted(name: string, fn: Native): Native {
  return (...args) => {
    const made = fn(...args);
    if (made === undefined || (typeof made === "bigint" ? made !== 0n : made >= 0) || !(name in PAIRS)) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return made;
  };
}

/** Counts from now on: what was made so far may stay. */
export function forgetPairs(): void {
  counts.clear();
  overwritten = 0;
}

/** Since the last call, at least as many objects of each kind were freed as were made. */
export function assertPairs(): void {
  const countOf = (name: string) => counts.get(name) ?? 0;
  const left = Object.entries(PAIRS).map(([make, frees]) => {
    return { make, made: countOf(make), freed: frees.reduce((sum, free) => sum + countOf(free), 0) };
  }).filter(({ made, freed }) => freed < made);
  const lost = overwritten;
  forgetPairs();
  assertEquals(left, [], "objects that were made and not freed");
  assertEquals(lost, 0, "packets that were read over others");
}
