/** Metas of buffers as a frame's metadata, and back: regions, tensors, messages, custom metas, and unknown ones. */
import { assert, assertEquals } from "@std/assert";
import { type Frame, host, type ImageInfo, MapperGraph } from "@samepage/interop";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import type { Address } from "../../ffi/address.ts";
import { cString } from "../../src/core/native/text.ts";
import { gst, takenText } from "../../src/gstreamer/library.ts";
import { compileHere } from "./compiled.ts";
import { CBuffer, memory, Owned } from "./buffers.ts";
import { testOfLateEnds as test } from "./open.ts";

const SYMBOLS = {
  register_metas: { parameters: [], result: "void" },
  add_json: { parameters: ["u64", "buffer"], result: "void" },
  add_tensor: { parameters: ["u64"], result: "void" },
  add_event: { parameters: ["u64"], result: "void" },
  add_unknown: { parameters: ["u64", "i32"], result: "void" },
  unknown_of: { parameters: ["u64"], result: "i32" },
  add_region: { parameters: ["u64", "buffer", "u32", "u32", "u32", "u32", "f64"], result: "void" },
  metas_of: { parameters: ["u64"], result: "u64" },
} as const;

/** DL Streamer's part, in C. */
async function opened() {
  const { symbols } = Deno.dlopen(await compileHere("metas.cpp"), SYMBOLS);
  symbols.register_metas();
  return symbols;
}

const CAPS = "video/x-raw,format=GRAY8,width=100,height=50,framerate=1/1";

/** Attaches a buffer with metas; returns the metas of the buffer that the frame is handed on as. */
async function thereAndBack(
  add: (c: Awaited<ReturnType<typeof opened>>, buffer: Address, made: CBuffer) => void,
  look: (frame: Frame) => void,
): Promise<string[]> {
  const c = await opened();
  using gstreamer = await GStreamerContext.open();
  using graph = new MapperGraph([host, gstreamer]);
  using buffer = new CBuffer(memory(100 * 50));
  add(c, buffer.address, buffer);
  using frame = gstreamer.attach(buffer.address, { caps: CAPS });
  look(frame);
  using picture = graph.map(frame, host, { access: "read" });
  assertEquals(picture.metadata, frame.metadata, "it travels with a map");
  await using back = graph.map(picture, gstreamer, { access: "read" }) as Frame;
  using lent = new Owned(gstreamer.buffer(back));
  return takenText(c.metas_of(lent.address) as Address)!.trimEnd().split("\n").filter((line) =>
    line !== "GstVideoMetaAPI"
  );
}

const REGIONS = [
  "region cat 5 0: 10 20 30 25 [detection 0.75 -1 0 (null)] [classification_layer_name:prob 0.5 10 8 red] [object_id -1 42 0 (null)]",
];

test("attach() shows a region, what was found in it, and its tensors, and buffer() passes them on", async () => {
  const lines = await thereAndBack(
    (c, buffer) => {
      c.add_region(buffer, cString("cat"), 10, 20, 30, 25, 0.75);
      c.add_region(buffer, cString("dog"), 0, 0, 100, 50, 0.25);
    },
    ({ metadata }) => {
      const [cat, dog] = metadata.all("detection");
      const { id, ...about } = cat;
      assertEquals(about, { xMin: 0.1, yMin: 0.4, xMax: 0.4, yMax: 0.9, confidence: 0.75, labelId: 7, label: "cat" });
      assert(dog.id !== id, "each has an id of its own");
      const [red] = metadata.all("classification").filter(({ objectId }) => objectId === id);
      assertEquals(red.label, "red");
      assertEquals((red as { precision?: string }).precision, "FP32");
      assertEquals((red as { dims?: number[] }).dims, [1, 2]);
      assertEquals(new Float32Array((red as { data?: Uint8Array }).data!.slice().buffer), Float32Array.of(1.5, -2.5));
      assertEquals(metadata.all("objectId").map(({ id }) => id), [42, 42]);
    },
  );
  assertEquals(lines.length, 2);
  assertEquals(lines[0], REGIONS[0].replace("cat 5", "cat 0"));
});

test("buffer() writes the regions that a program has added or changed", async () => {
  const lines = await thereAndBack(
    (c, buffer) => c.add_region(buffer, cString("cat"), 10, 20, 30, 25, 0.75),
    ({ metadata }) => {
      const [cat] = metadata.all("detection");
      metadata.delete(cat);
      metadata.add("detection", { ...cat, label: "lynx", id: 5 });
      for (const { objectId: _, ...red } of metadata.all("classification")) {
        metadata.add("classification", { ...red, objectId: 5 });
      }
      metadata.add("detection", { xMin: 0, yMin: 0, xMax: 0.5, yMax: 1, parentId: 5, confidence: 1 });
    },
  );
  assertEquals(lines, [
    "region lynx 5 0: 10 20 30 25 [detection 0.75 -1 0 (null)] [classification_layer_name:prob 0.5 10 8 red]",
    "region  0 5: 0 0 50 50 [detection 1 -1 0 (null)]",
    "tensor classification_layer_name:prob prob 2",
  ]);
});

test("DL Streamer's tensors, messages and events of sound come and go", async () => {
  const lines = await thereAndBack(
    (c, buffer) => {
      c.add_json(buffer, cString('{"a":1}'));
      c.add_tensor(buffer);
      c.add_event(buffer);
    },
    ({ metadata }) => {
      assertEquals(metadata.get("json"), { message: '{"a":1}' });
      assertEquals(metadata.get("audioEvent"), { label: "bark", id: 3, start: 1000n, end: 2000n });
      const { modelName, layerName, layout, precision } = metadata.get("inferenceResult")!;
      assertEquals([modelName, layerName, layout, precision], ["net", "prob", "NC", "FP32"]);
      metadata.add("json", { message: "more" });
    },
  );
  assertEquals(lines.sort(), ["event bark 3 2000", "json more", 'json {"a":1}', "tensor output prob 2"]);
});

test("custom metas are dictionaries of their names", async () => {
  const name = cString("SamepageTestMeta");
  const lines = await thereAndBack(
    (_, buffer) => {
      gst().gst_meta_register_custom(name, new BigUint64Array(1), 0n as Address, 0n as Address, 0n as Address);
      gst().gst_buffer_add_custom_meta(buffer, name);
    },
    ({ metadata }) => {
      assertEquals(metadata.get("SamepageTestMeta"), {});
      metadata.set("SamepageTestMeta", { speed: 1.5, count: 3, at: 2n ** 40n, isNew: true, what: "a b", list: [1, 2] });
      metadata.add("nobody registered this", { a: 1 });
    },
  );
  assertEquals(lines, [
    "custom SamepageTestMeta, speed=(double)1.5, count=(int)3, at=(gint64)1099511627776, isNew=(boolean)true, " +
    'what=(string)"a\\ b", list=(uint)< 1, 2 >;',
  ]);
});

test("unknown metas are passed on as long as the frame lives", async () => {
  const c = await opened();
  using gstreamer = await GStreamerContext.open();
  using graph = new MapperGraph([host, gstreamer]);
  using buffer = new CBuffer(memory(100 * 50));
  c.add_unknown(buffer.address, 17);
  c.add_json(buffer.address, cString("gone"));
  const frame = gstreamer.attach(buffer.address, { caps: CAPS });
  frame.metadata.delete("json");
  {
    using picture = graph.map(frame, host, { access: "read" });
    await using back = graph.map(picture, gstreamer, { access: "read" }) as Frame;
    using lent = new Owned(gstreamer.buffer(back));
    assertEquals(c.unknown_of(lent.address), 17);
    assert(!takenText(c.metas_of(lent.address) as Address)!.includes("json"));
  }
  frame[Symbol.dispose]();
});

test("what says where planes lie is not passed on", async () => {
  const lines = await thereAndBack(
    (c, buffer, made) => {
      c.add_unknown(buffer, 1);
      made.addCrop(10, 10, 50, 20);
    },
    (frame) => assertEquals((frame.info as ImageInfo).width, 50),
  );
  assertEquals(lines, ["UnknownMetaAPI"]);
});

test("the bytes of a picture without metas cost its metadata nothing", async () => {
  using gstreamer = await GStreamerContext.open();
  using buffer = new CBuffer(memory(100 * 50));
  using frame = gstreamer.attach(buffer.address, { caps: CAPS });
  assertEquals([...frame.metadata.entries()], []);
});
