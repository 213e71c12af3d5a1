/** What transfers do where a tensor's `cl_mem` is a sub-buffer: each in a process of its own, since PoCL 3.1 crashes there. */
import { assertEquals } from "@std/assert";
import { testEach } from "./help.ts";
import { linesOf } from "./subprocess.ts";

/** Tensors of one buffer that begin where a sub-buffer may, and bytes before and after. */
const SETUP = `
import { imageInfo } from "@samepage/interop";
using b = help.bench(Deno.env.get("PLATFORM"));
const { cl } = b;
const { queue } = cl;
const begin = 2 * cl.subBufferAlign;
const SIZE = begin + 4096;
const bytes = (tensor) => {
  const all = new Uint8Array(tensor.layout.byteLength);
  queue.read(tensor, all);
  return all;
};
const rootOf = () => {
  const root = cl.allocate({ shape: [SIZE], dtype: "u8" });
  const there = help.random(SIZE);
  queue.write(root, there);
  return { root, there };
};
// In a block the other tensors lend the bytes back at its end.
const elements = (strides) => {
  const at = [];
  for (let y = 0; y < 7; y++) for (let x = 0; x < 5; x++) at.push(y * strides[0] + x * strides[1]);
  return at;
};
const rows = (strides, byteOffset) => ({ shape: [7, 5], dtype: "u8", strides, byteOffset });
const PITCHES = [[5, 1], [16, 1], [24, 1], [40, 4]];
`;

/** What a process runs, by what it is about; it throws where bytes are wrong. */
const PROGRAMS: { readonly [what: string]: string } = {
  "copy from one": `
    for (const from of PITCHES) for (const to of PITCHES) {
      const { root, there } = rootOf();
      using _ = root, target = cl.allocate({ ...rows(to, 0) });
      queue.fill(target, 0);
      { using part = root.slice(rows(from, begin)); queue.copy(part, target); }
      const seen = bytes(target);
      const places = elements(to);
      elements(from).forEach((at, i) => { if (seen[places[i]] !== there[begin + at]) throw new Error(from + " to " + to); });
    }`,
  "copy to one": `
    for (const from of PITCHES) for (const to of PITCHES) {
      const { root, there } = rootOf();
      using _ = root, source = cl.allocate(rows(from, 0));
      const given = help.random(source.layout.byteLength);
      queue.write(source, given);
      { using part = root.slice(rows(to, begin)); queue.copy(source, part); }
      const places = elements(to);
      elements(from).forEach((at, i) => there[begin + places[i]] = given[at]);
      help.assertBytes(bytes(root), there, from + " to " + to);
    }`,
  "copy between two of one buffer": `
    for (const from of PITCHES) for (const to of PITCHES) {
      const { root, there } = rootOf();
      using _ = root;
      {
        using source = root.slice(rows(from, begin)), target = root.slice(rows(to, begin + 2048));
        queue.copy(source, target);
      }
      const places = elements(to);
      elements(from).forEach((at, i) => there[begin + 2048 + places[i]] = there[begin + at]);
      help.assertBytes(bytes(root), there, from + " to " + to);
    }`,
  "copy from and to the second plane of a mapped frame": `
    const info = imageInfo({ format: "NV12", width: 64, height: 64 });
    using frame = host.allocateFrame(info, { rowAlign: 256 });
    for (const plane of frame.planes) plane.bytes().fill(7);
    {
      using mapped = b.graph.map(frame, cl);
      const [, chroma] = mapped.planes;
      using there = cl.allocate({ shape: [32, 32, 2], dtype: "u8" });
      queue.copy(chroma, there);
      help.assertBytes(bytes(there), new Uint8Array(2048).fill(7));
      queue.fill(there, 9);
      queue.copy(there, chroma);
    }
    const seen = frame.planes[1].bytes();
    seen.forEach((byte, i) => { if (byte !== (i % 256 < 64 ? 9 : 7)) throw new Error("at " + i + " there is " + byte); });`,
  "copyImage to one and from one": `
    const { root, there } = rootOf();
    using _ = root, image = cl.image({ order: "RGBA", type: "UNSIGNED_INT8" }).allocate({ shape: [16, 8, 4] });
    const given = help.random(512);
    queue.write(image, given);
    {
      using part = root.slice({ shape: [512], dtype: "u8", byteOffset: begin });
      queue.copy(image, part);
    }
    there.set(given, begin);
    help.assertBytes(bytes(root), there);
    {
      using part = root.slice({ shape: [16, 32], dtype: "u8", byteOffset: begin + 1024 });
      queue.copy(part, image);
    }
    const seen = new Uint8Array(512);
    queue.read(image, seen);
    help.assertBytes(seen, there.slice(begin + 1024, begin + 1536));`,
  "fill, read, write, readRect, writeRect and migrate of one": `
    for (const pitches of PITCHES) {
      const { root, there } = rootOf();
      using _ = root;
      {
        using part = root.slice(rows(pitches, begin));
        queue.migrate([part], { to: "device" });
        help.assertBytes(bytes(part), there.slice(begin, begin + part.layout.byteLength));
        const seen = new Uint8Array(35);
        queue.read(part, seen, { at: "dense" });
        elements(pitches).forEach((at, i) => { if (seen[i] !== there[begin + at]) throw new Error("readRect " + pitches); });
        queue.fill(part, 5);
        elements(pitches).forEach((at) => there[begin + at] = 5);
        help.assertBytes(bytes(part), there.slice(begin, begin + part.layout.byteLength));
        const given = help.random(35);
        queue.write(part, given, { at: "dense" });
        elements(pitches).forEach((at, i) => there[begin + at] = given[i]);
      }
      help.assertBytes(bytes(root), there, String(pitches));
    }`,
};

for (const [what, program] of Object.entries(PROGRAMS)) {
  testEach(`sub-buffers: ${what}`, async (platform) => {
    const lines = await linesOf(`${SETUP}\n${program}\nconsole.log("done");`, { env: { PLATFORM: platform } });
    assertEquals(lines, ["done"]);
  });
}
