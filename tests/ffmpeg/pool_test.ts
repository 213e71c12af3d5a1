// Decoders that write into memory of ours, by machine code as their get_buffer2.

import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  ArgumentError,
  DisposedError,
  type Frame,
  host,
  type HostTensor,
  LayoutError,
  type LayoutInit,
  ledger,
  MapperGraph,
} from "@samepage/interop";
import { VulkanContext } from "@samepage/interop/vulkan";
import type { OpenCLTensor } from "@samepage/interop/opencl";
import type { Address } from "../../ffi/address.ts";
import type { FrameMemory } from "../../src/core/tensors/native_buffers.ts";
import { fieldsAt } from "../../src/ffmpeg/fields.ts";
import { avutil } from "../../src/ffmpeg/library.ts";
import { until } from "../conformance/bytes.ts";
import { missing as missingVulkan } from "../vulkan/help.ts";
import { HERE, open as openOpenCL } from "../opencl/help.ts";
import { runModule } from "../process.ts";
import { warningsOf } from "../warnings.ts";
import { type Clip, clipOf, CODECS, joined } from "./codecs.ts";
import { testClips } from "./clip_tests.ts";
import { hashOf, RawDecoder } from "./raw.ts";

const H264: Clip = { ...CODECS[0], size: "318x182", frames: 30 };

/** What came of a file. */
interface Decoded {
  readonly hashes: readonly bigint[];
  /** Which frames lie in memory of ours. */
  readonly ours: readonly boolean[];
}

interface How {
  readonly threads?: number;
  readonly slots?: number;
  readonly into?: FrameMemory<HostTensor>;
  /** What becomes of each frame; it is disposed at once by default. */
  readonly use?: (frame: Frame<HostTensor> | undefined, pointer: Address) => void;
}

/** Decodes a file; each frame of ours is compared with what FFmpeg shows, and lies where its buffer does. */
async function decoded(path: string, { use = (frame) => frame?.[Symbol.dispose](), ...how }: How): Promise<Decoded> {
  const [hashes, ours]: [bigint[], boolean[]] = [[], []];
  await using decoder = await RawDecoder.open<HostTensor>(path, how);
  for await (const pointer of decoder.frames()) {
    hashes.push(hashOf(pointer));
    const frame = decoder.frameOf(pointer);
    ours.push(frame !== undefined);
    if (frame !== undefined) assertIsOurs(frame, pointer);
    use(frame, pointer);
  }
  return { hashes, ours };
}

function assertIsOurs(frame: Frame<HostTensor>, pointer: Address): void {
  const { view } = fieldsAt(pointer);
  const { data } = avutil().structs.AVFrame.fields;
  assertEquals(frame.route.bytesMoved, 0);
  for (const [i, { address, grant: { allocation: { block } } }] of frame.planes.entries()) {
    assertEquals(view.getBigUint64(data.offset + 8 * i, true), address);
    assert(address >= block.address! && address < block.address! + BigInt(block.byteLength));
  }
}

const count = (ours: readonly boolean[]) => ours.filter((is) => is).length;

for (const threads of [1, 4]) {
  for (const slots of [1, 2, 3, 5, 9, 24]) {
    testClips(`H.264 with ${threads} threads and ${slots} buffers: the pixels are the default's`, async () => {
      const path = await clipOf(H264);
      const { hashes } = await decoded(path, { threads });
      const got = await decoded(path, { threads, slots, into: host });
      assertEquals(got.hashes, hashes);
      assertEquals(got.ours.length, 30);
      if (slots === 24) assertEquals(count(got.ours), 30);
      else assert(count(got.ours) > 0);
    });
  }

  testClips(`with ${threads} threads, FFmpeg's own buffers come where none of ours is left`, async () => {
    const path = await clipOf(H264);
    const { hashes } = await decoded(path, { threads });
    const kept: Frame<HostTensor>[] = [];
    const pixels: bigint[] = [];
    const use = (frame: Frame<HostTensor> | undefined, pointer: Address) => {
      if (frame === undefined) return;
      kept.push(frame);
      pixels.push(hashOf(pointer));
    };
    const got = await decoded(path, { threads, slots: 12, into: host, use });
    assertEquals(got.hashes, hashes);
    assert(kept.length > 3 && kept.length <= 12, `${kept.length}`);
    assertEquals(kept.length, count(got.ours));
    assertEquals(got.ours.at(-1), false);
    // The decoder has ended, and what the program kept is as it was.
    for (const frame of kept) assert(frame.planes[0].bytes({ access: "read" }).some((byte) => byte !== 0));
    for (const frame of kept) frame[Symbol.dispose]();
  });
}

for (const format of ["yuv444p", "yuv420p10le", "nv12"]) {
  testClips(`frames of another format than the first are FFmpeg's: ${format}`, async () => {
    const clips = [H264, { ...H264, format, frames: 10 }].map((clip) => ({ ...clip, file: "h264" }));
    const path = await joined(`format-${format}.h264`, clips);
    const { hashes } = await decoded(path, { threads: 4 });
    const got = await decoded(path, { threads: 4, into: host });
    assertEquals(got.hashes, hashes);
    assertEquals(got.ours, Array.from({ length: 40 }, (_, i) => i < 30 || format === "nv12"));
  });
}

for (
  const [size, areOurs] of [["128x64", true], ["318x184", true], ["640x360", false], ["640x182", false], [
    "318x360",
    false,
  ]] as const
) {
  testClips(`a size that changes in the middle to ${size}: ${areOurs ? "ours" : "FFmpeg's"}`, async () => {
    const clips = [H264, { ...H264, size, frames: 10 }].map((clip) => ({ ...clip, file: "h264" }));
    const path = await joined(`size-${size}.h264`, clips);
    for (const threads of [1, 4]) {
      const { hashes } = await decoded(path, { threads });
      const got = await decoded(path, { threads, into: host });
      assertEquals(got.hashes, hashes);
      assertEquals(got.ours, Array.from({ length: 40 }, (_, i) => i < 30 || areOurs));
    }
  });
}

testClips("a codec that takes no buffers of others gets none", async () => {
  const path = await clipOf({ ...H264, codec: "libaom-av1", file: "mkv", frames: 5, options: ["-cpu-used", "8"] });
  const into = { allocate: () => assert(false, "it was asked for memory") } as unknown as FrameMemory<HostTensor>;
  const { hashes } = await decoded(path, {});
  const got = await decoded(path, { into });
  assertEquals([got.hashes, count(got.ours)], [hashes, 0]);
});

testClips("frames outlive their decoder, and the memory ends with the last of them", async () => {
  const path = await clipOf(H264);
  const frames: Frame<HostTensor>[] = [];
  {
    await using decoder = await RawDecoder.open(path, { threads: 4, into: host });
    for await (const pointer of decoder.frames()) {
      frames.push(decoder.frameOf(pointer)!);
      if (frames.length === 3) break; // in the middle, while threads decode what follows
    }
  }
  const blocks = ledger.alive["host.block"];
  frames[0][Symbol.dispose]();
  frames[2][Symbol.dispose]();
  assertEquals(ledger.alive["host.block"], blocks);
  assertEquals(frames[1].planes[0].bytes({ access: "read" }).length > 0, true);
  frames[1][Symbol.dispose]();
  assertEquals(ledger.alive["host.block"] ?? 0, 0);
});

testClips("a plane may end before its frame, and a frame by the end of its planes", async () => {
  const path = await clipOf(H264);
  {
    await using decoder = await RawDecoder.open(path, { slots: 4, into: host });
    for await (const pointer of decoder.frames()) {
      const frame = decoder.frameOf(pointer);
      if (frame === undefined) continue;
      for (const { resource } of frame.planes) resource.dispose();
    }
  }
  assertEquals(ledger.alive["host.block"] ?? 0, 0);
});

testClips("memory stays for as long as other code of FFmpeg's has a reference to it", async () => {
  const { fns } = avutil();
  const other = new BigUint64Array([fns.av_frame_alloc()]);
  {
    await using decoder = await RawDecoder.open(await clipOf(H264), { into: host });
    for await (const pointer of decoder.frames()) {
      assertEquals(fns.av_frame_ref(other[0] as Address, pointer), 0);
      break;
    }
  }
  assertEquals(ledger.alive["host.block"], 24);
  const before = hashOf(other[0] as Address);
  await new Promise((resolve) => setTimeout(resolve, 10));
  assertEquals(hashOf(other[0] as Address), before);
  fns.av_frame_free(other);
  await until(() => ledger.alive["host.block"] === undefined);
});

testClips("a decoder looks at a frame that it shows: it may be read only", async () => {
  await using decoder = await RawDecoder.open(await clipOf(H264), { into: host });
  for await (const pointer of decoder.frames()) {
    using frame = decoder.frameOf(pointer)!;
    assertEquals(frame.access, avutil().fns.av_frame_is_writable(pointer) === 1 ? "read-write" : "read");
    if (frame.access === "read") assertThrows(() => frame.planes[0].bytes({ access: "write" }));
  }
});

const ONE_BUFFER = 112192;

testClips(
  "a view that was moved away keeps its bytes for good",
  async () => {
    const path = await clipOf(H264);
    const warnings = await warningsOf(async () => {
      await using decoder = await RawDecoder.open(path, { into: host, slots: 8 });
      let moved: ArrayBuffer | undefined;
      let before: number[] = [];
      for await (const pointer of decoder.frames()) {
        using frame = decoder.frameOf(pointer);
        if (frame === undefined || moved !== undefined) continue;
        const bytes = frame.planes[0].bytes({ access: "read" });
        before = [...bytes];
        moved = bytes.buffer.transfer();
      }
      assertEquals([...new Uint8Array(moved!).subarray(0, before.length)], before);
    });
    assert(warnings.some((text) => text.includes("moved away")), warnings.join());
  },
  { quarantined: ONE_BUFFER },
);

/** Memory that cannot be decoded into, and why. */
const REFUSED: readonly (readonly [string, (layout: LayoutInit<"u8">) => unknown, typeof ArgumentError, string])[] = [
  ["nothing", () => undefined, ArgumentError, "returns a Tensor"],
  ["a number", () => 7, ArgumentError, "returns a Tensor"],
  ["too few bytes", () => host.allocate({ shape: [100], dtype: "u8" }), LayoutError as never, "is not the"],
  [
    "read-only memory",
    (layout) => {
      using all = host.allocate(layout);
      return host.wrap(all.address, layout, { access: "read" });
    },
    LayoutError as never,
    "to read and write",
  ],
];

for (const [name, allocate, type, words] of REFUSED) {
  testClips(`refused: ${name}`, async () => {
    const path = await clipOf(H264);
    const into = { allocate } as FrameMemory<HostTensor>;
    const error = await RawDecoder.open(path, { into }).then(() => undefined, (error) => error);
    assert(error instanceof type, `${error}`);
    assert(error.message.includes(words), error.message);
  });
}

testClips("memory that fails in the middle is given back", async () => {
  const path = await clipOf(H264);
  let left = 3;
  const into: FrameMemory = {
    allocate(layout) {
      if (left-- === 0) throw new Error("no more");
      return host.allocate(layout);
    },
  };
  const error = await RawDecoder.open(path, { into }).then(() => undefined, (error) => error);
  assertEquals(error?.message, "no more");
  assertEquals(ledger.alive["host.block"] ?? 0, 0);
});

const lacking = HERE.includes("pocl") ? undefined : "PoCL";

testClips("a decoded frame is an OpenCL buffer at once, and stays while a kernel uses it", async () => {
  using cl = openOpenCL("pocl");
  using graph = new MapperGraph([host, cl]);
  using program = cl.program(`kernel void sum(global const uchar *x, global ulong *out, int rounds) {
    ulong all = 0;
    for (int i = 0; i < rounds; i++) for (int at = 0; at < 4096; at++) all += x[at] * (i + 1);
    out[0] = all;
  }`);
  using sum = program.kernel("sum");
  const path = await clipOf(H264);
  const [expected, found]: bigint[][] = [[], []];
  const results: OpenCLTensor[] = [];
  {
    await using decoder = await RawDecoder.open(path, { threads: 4, slots: 20, into: host });
    for await (const pointer of decoder.frames()) {
      const frame = decoder.frameOf(pointer);
      if (frame === undefined) continue;
      const bytes = frame.planes[0].bytes({ access: "read" }).subarray(0, 4096);
      expected.push(bytes.reduce((all, byte) => all + BigInt(byte), 0n) * 500n * 1001n);
      const mapped = graph.map(frame, cl, { access: "read" }) as Frame<OpenCLTensor>;
      assertEquals(mapped.route.bytesMoved, 0);
      const result = cl.allocate({ shape: [1], dtype: "u64" });
      sum.run({ items: [1] }, [mapped.planes[0], result, 1000]);
      results.push(result);
      frame[Symbol.dispose](); // with its map, after the kernel
    }
  }
  for (const result of results) {
    using out = graph.map(result, host) as HostTensor<"u64">;
    found.push(out.view()[0]);
    result[Symbol.dispose]();
  }
  assertEquals(found, expected);
}, { lacking });

testClips("an isolate may be terminated while its decoder's threads write", async () => {
  const path = await clipOf({ ...H264, size: "1918x1078", frames: 3 });
  const text = `
    for (let i = 0; i < 8; i++) {
      const worker = new Worker("${new URL("workers/decodes.ts", import.meta.url)}", { type: "module" });
      worker.postMessage(${JSON.stringify(path)});
      await new Promise((resolve) => worker.onmessage = resolve);
      await new Promise((resolve) => setTimeout(resolve, 3 * i));
      worker.terminate();
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    console.log("alive");
  `;
  const { code, signal, stdout, stderr } = await runModule(text);
  assertEquals([code, signal, stdout.trim()], [0, null, "alive"], stderr);
});

for (const how of ["blocking", "not blocking"] as const) {
  const name = `a context that ends takes a decoder into its memory along, and the frames there: ${how}`;
  testClips(name, async () => {
    const vulkan = VulkanContext.open();
    const into = { allocate: (layout: LayoutInit<"u8">) => vulkan.allocate({ ...layout, memory: "host" }) };
    const decoder = await RawDecoder.open(await clipOf(H264), { threads: 4, into });
    const frames: Frame[] = [];
    for await (const pointer of decoder.frames()) {
      frames.push(decoder.frameOf(pointer)!);
      if (frames.length === 3) break;
    }
    assert(frames.every((frame) => vulkan.is(frame.planes[0])));
    frames[1][Symbol.dispose]();
    if (how === "blocking") vulkan[Symbol.dispose]();
    else await vulkan[Symbol.asyncDispose]();
    assertEquals(decoder.resource.state, "freed");
    assertThrows(() => frames[0].planes[0].slice(frames[0].planes[0].layout), DisposedError);
  }, { lacking: missingVulkan() });
}

testClips("no codec goes beyond its buffers, at no size", async () => {
  const paths: string[] = [];
  for (const size of ["318x182", "63x65", "66x34"]) {
    for (const clip of CODECS) {
      if (clip.codec === "libtheora" && size !== "318x182") continue; // FFmpeg does not read its own small ones
      paths.push(await clipOf({ ...clip, size, frames: 8 }));
    }
  }
  const worker = new URL("workers/guarded.ts", import.meta.url);
  const text = `Deno.args.push(...${JSON.stringify(paths)}); await import("${worker}");`;
  const { code, signal, stdout, stderr } = await runModule(text);
  assertEquals([code, signal], [0, null], `${stdout.slice(-200)} ${stderr}`);
  const lines = stdout.trim().split("\n");
  assertEquals(lines.length, 4 * paths.length);
  for (const line of lines) assert(/: 8 8 8$/.test(line), line);
});
