/** Libraries of JavaScript's over a tensor's bytes: npm's apache-arrow and sharp, and Deno's WebGPU. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  type Data,
  Field,
  FixedSizeList,
  Float32,
  makeData,
  makeVector,
  Table,
  tableFromIPC,
  tableToIPC,
  Uint8,
  Vector,
} from "apache-arrow";
import sharp from "sharp";
import { AccessError, ArgumentError, host, MapperGraph } from "@samepage/interop";
import { withEmptyLedger } from "../unit/ledger.ts";

Deno.test(
  "apache-arrow's vectors and tables are over the tensor's own bytes",
  withEmptyLedger(async () => {
    using tensor = host.allocate({ shape: [3], dtype: "f32" });
    tensor.view().set([1, 2, 3]);
    await tensor.lend((view) => {
      const vector = makeVector(view);
      view[1] = 20;
      assertEquals([...vector], [1, 20, 3], "it sees what is written");
      assert(vector.data[0].values.buffer === view.buffer);
      const table = new Table({ height: vector });
      assertEquals(table.get(2)!.toJSON(), { height: 3 });
      assertEquals(tableFromIPC(tableToIPC(table)).numRows, 3);
    });
    const data = makeData({ type: new Float32(), length: 3, data: tensor.view() });
    const vector = new Vector([data]);
    assertEquals(vector.get(0), 1);
    using _lent = tensor.slice(tensor.layout); // its views are revoked
    assertEquals((data.values as Float32Array).length, 0);
  }),
);

Deno.test(
  "a column of apache-arrow's becomes a tensor, without a copy",
  withEmptyLedger(() => {
    const items = makeData({ type: new Uint8(), length: 6, data: new Uint8Array([1, 2, 3, 4, 5, 6]) });
    const type = new FixedSizeList(2, new Field("item", new Uint8()));
    const pairs: Data = makeData({ type, length: 3, nullCount: 0, child: items });
    const { values } = new Vector([pairs]).data[0].children[0];
    using tensor = host.wrap((values as Uint8Array<ArrayBuffer>).buffer, { shape: [3, 2], dtype: "u8" });
    assertEquals([...tensor.view()], [1, 2, 3, 4, 5, 6]);
    assertEquals((values as Uint8Array).length, 0, "it was taken over");
  }),
);

const RAW = { raw: { width: 4, height: 2, channels: 3 } } as const;

Deno.test(
  "sharp reads a tensor's pixels in place, on another thread, while they are lent",
  withEmptyLedger(async () => {
    using tensor = host.allocate({ shape: [2, 4, 3], dtype: "u8" });
    tensor.view().fill(10);
    const png = await tensor.lend(async (view) => {
      const picture = sharp(view, RAW);
      view.fill(50); // no copy was made before
      assertThrows(() => tensor.view(), AccessError);
      return await picture.png().toBuffer();
    });
    const { data } = await sharp(png).raw().toBuffer({ resolveWithObject: true });
    assertEquals([...data], new Array(24).fill(50));
  }),
);

Deno.test(
  "sharp sees what was written to a tensor since it has read it, by a new sharp()",
  withEmptyLedger(async () => {
    using tensor = host.allocate({ shape: [2, 4, 3], dtype: "u8" });
    for (const value of [1, 200, 30]) {
      tensor.view().fill(value);
      const flipped = await tensor.lend((view) => sharp(view, RAW).flip().raw().toBuffer());
      assertEquals([...flipped], new Array(24).fill(value));
    }
  }),
);

/** The libvips that sharp has loaded, by its own functions. */
function libvips() {
  const path = /\/\S*libvips-cpp\.so\S*/.exec(Deno.readTextFileSync("/proc/self/maps"))?.[0];
  return Deno.dlopen(path!, {
    vips_image_new_from_memory: { parameters: ["buffer", "usize", "i32", "i32", "i32", "i32"], result: "pointer" },
    vips_avg: { parameters: ["pointer", "buffer", "pointer"], result: "i32" },
    vips_image_invalidate_all: { parameters: ["pointer"], result: "void" },
    g_object_unref: { parameters: ["pointer"], result: "void" },
  }).symbols;
}

Deno.test(
  "libvips keeps the result for an image over a tensor until vips_image_invalidate_all()",
  withEmptyLedger(async () => {
    using tensor = host.allocate({ shape: [2, 4, 3], dtype: "u8" });
    await tensor.lend((view) => {
      const vips = libvips();
      const image = vips.vips_image_new_from_memory(view, 24n, 4, 2, 3, 0);
      const average = new Float64Array(1);
      const averages = [10, 50, 50].map((value, i) => {
        view.fill(value);
        if (i === 2) vips.vips_image_invalidate_all(image);
        assertEquals(vips.vips_avg(image, average, null), 0);
        return average[0];
      });
      assertEquals(averages, [10, 10, 50]);
      vips.g_object_unref(image);
    });
  }),
);

Deno.test("graph.explain() and map() say why nothing of WebGPU's is a source or a target", () => {
  using graph = new MapperGraph([host]);
  using tensor = host.allocate({ shape: [16], dtype: "f32" });
  for (const { prototype } of [GPUBuffer, GPUDevice, GPUTexture]) {
    const theirs = Object.create(prototype); // there may be no adapter, and only the class counts
    for (const ask of [graph.explain, graph.map] as ((from: unknown, to: unknown) => unknown)[]) {
      for (const [from, to] of [[tensor, theirs], [theirs, host]]) {
        const error = assertThrows(() => ask.call(graph, from, to), ArgumentError, "a GPU");
        assert(error.hint?.startsWith("Nothing of WebGPU's is shared in place"), error.message);
      }
    }
  }
});

const adapter = await navigator.gpu?.requestAdapter();

Deno.test({
  name: adapter
    ? "a mapped range of WebGPU's is filled in place by its address, and the GPU sees it"
    : "WebGPU (skipped: needs an adapter)",
  ignore: !adapter,
  fn: withEmptyLedger(async () => {
    const device = await adapter!.requestDevice();
    const [from, to] = [[GPUBufferUsage.COPY_SRC, true], [
      GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
      false,
    ]] as const;
    const source = device.createBuffer({ size: 64, usage: from[0], mappedAtCreation: from[1] });
    const result = device.createBuffer({ size: 64, usage: to[0], mappedAtCreation: to[1] });
    const range = source.getMappedRange();
    {
      const pointer = Deno.UnsafePointer.of(range);
      using tensor = host.wrap(pointer, { shape: [16], dtype: "f32" }, { keepAlive: range });
      tensor.view().fill(1.5);
    } // before unmap(), which frees the range
    source.unmap();
    const commands = device.createCommandEncoder();
    commands.copyBufferToBuffer(source, 0, result, 0, 64);
    device.queue.submit([commands.finish()]);
    await result.mapAsync(GPUMapMode.READ);
    assertEquals([...new Float32Array(result.getMappedRange())], new Array(16).fill(1.5));
    result.unmap();
    for (const buffer of [source, result]) buffer.destroy();
    device.destroy();
  }),
});

Deno.test({
  name: adapter
    ? "a mapped range that host.wrap() takes over never reaches the GPU"
    : "WebGPU's ranges (skipped: needs an adapter)",
  ignore: !adapter,
  fn: withEmptyLedger(async () => {
    const device = await adapter!.requestDevice();
    const source = device.createBuffer({ size: 64, usage: GPUBufferUsage.COPY_SRC, mappedAtCreation: true });
    const range = source.getMappedRange();
    using tensor = host.wrap(range);
    assertEquals([range.byteLength, tensor.byteLength], [0, 64], "it is a block of JavaScript's, and no GPU's");
    source.unmap();
    source.destroy();
    device.destroy();
  }),
});
