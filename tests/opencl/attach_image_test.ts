/** Images that other code made, by OpenCL's own calls. */
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { AccessError, ArgumentError, DisposedError, host } from "@samepage/interop";
import type { ImageType } from "@samepage/interop/opencl";
import * as CL from "../../ffi/opencl/constants.ts";
import { writeClImageDesc, writeClImageFormat } from "../../ffi/opencl/structs.ts";
import { assertBytes, bench, open, type Platform, random, testEach, thrown } from "./help.ts";
import { addressOf, bufferOf, made, raw, release, told } from "./raw.ts";

const RGBA = { order: "RGBA", type: "UNSIGNED_INT8" } as const;
const CODES: { readonly [type: string]: number } = {
  "1D": CL.CL_MEM_OBJECT_IMAGE1D,
  "2D": CL.CL_MEM_OBJECT_IMAGE2D,
  "3D": CL.CL_MEM_OBJECT_IMAGE3D,
  "2D array": CL.CL_MEM_OBJECT_IMAGE2D_ARRAY,
  "1D buffer": CL.CL_MEM_OBJECT_IMAGE1D_BUFFER,
};

/** Another library's image of RGBA bytes. */
function imageOf(
  context: bigint,
  { type = "2D", x = 8, y = 4, z = 0, flags = CL.CL_MEM_READ_WRITE, address = 0n, buffer = 0n }: {
    readonly type?: ImageType;
    readonly x?: number;
    readonly y?: number;
    readonly z?: number;
    readonly flags?: bigint;
    readonly address?: bigint;
    readonly buffer?: bigint;
  } = {},
): bigint {
  const [format, desc] = [new DataView(new ArrayBuffer(8)), new DataView(new ArrayBuffer(72))];
  writeClImageFormat(format, 0, { image_channel_order: CL.CL_RGBA, image_channel_data_type: CL.CL_UNSIGNED_INT8 });
  writeClImageDesc(desc, 0, {
    image_type: CODES[type],
    image_width: BigInt(x),
    image_height: type.startsWith("1D") ? 0n : BigInt(y),
    image_depth: type === "3D" ? BigInt(z) : 0n,
    image_array_size: type === "2D array" ? BigInt(z) : 0n,
    image_row_pitch: 0n,
    image_slice_pitch: 0n,
    num_mip_levels: 0,
    num_samples: 0,
    buffer: buffer as never,
  });
  return made((code) => raw().clCreateImage!(context, flags, format, desc, address, code));
}

const references = (mem: bigint) => told("clGetMemObjectInfo", mem, CL.CL_MEM_REFERENCE_COUNT);

/** What we have retained we have released. rusticl's own commands may keep an image a little longer. */
function assertReferences(platform: Platform, mem: bigint, before: number): void {
  if (platform === "pocl") assertEquals(references(mem), before);
}

testEach("image(format).attach() retains another library's image of each kind, and has its pixels", (platform) => {
  using b = bench(platform);
  const kinds = [["1D", [8, 4]], ["2D", [4, 8, 4]], ["3D", [3, 4, 8, 4]], ["2D array", [3, 4, 8, 4]]] as const;
  for (const [type, shape] of kinds) {
    const theirs = imageOf(b.cl.handle, { type, z: 3 });
    const before = references(theirs);
    let ended = 0;
    {
      using untyped = b.cl.image(RGBA).attach(theirs); // it is what OpenCL says, whatever its shape
      assertEquals(untyped.type, type);
    }
    {
      using image = b.cl.image(RGBA, { type }).attach(theirs, { owner: () => void ended++ });
      assertEquals([image.handle as bigint, image.type, image.layout.shape], [theirs, type, shape]);
      assert(references(theirs) > before);
      const bytes = random(image.layout.byteLength);
      b.cl.queue.write(image, bytes);
      {
        using seen = b.graph.map(image, host);
        assertBytes(seen.bytes().subarray(0, 32), bytes.subarray(0, 32), type);
        thrown(AccessError, () => image.handle);
      }
      const back = new Uint8Array(bytes.length);
      b.cl.queue.read(image, back);
      assertBytes(back, bytes, type);
      assertEquals(ended, 0);
    }
    assertEquals(ended, 1);
    assertReferences(platform, theirs, before);
    release(theirs);
  }
});

testEach("image(format).attach() makes peers: of one image twice, and of our own", (platform) => {
  using b = bench(platform);
  const target = b.cl.image(RGBA);
  const theirs = imageOf(b.cl.handle);
  using own = target.allocate({ shape: [4, 8, 4] });
  for (const handle of [theirs, own.handle]) {
    const first = target.attach(handle);
    using second = target.attach(handle, { access: "read" });
    assertStrictEquals(first.grant.allocation, second.grant.allocation);
    assertStrictEquals(first.root, second.root);
    if (handle !== theirs) {
      assertStrictEquals(first.grant.allocation, own.grant.allocation);
      assertStrictEquals(first.root, own.root);
    }
    const bytes = random(128);
    b.cl.queue.write(first, bytes);
    thrown(AccessError, () => b.cl.queue.write(second, bytes));
    {
      using _mapped = b.graph.map(first, host);
      thrown(AccessError, () => second.handle);
    }
    if (handle === theirs) release(theirs);
    first[Symbol.dispose]();
    const back = new Uint8Array(128);
    b.cl.queue.read(second, back); // it is retained
    assertBytes(back, bytes);
  }
});

testEach("image(format).attach() says what does not fit, and calls the owner", (platform) => {
  using cl = open(platform);
  using other = open(platform);
  const target = cl.image(RGBA);
  const memory = new Uint8Array(4096 + 4096);
  const address = (addressOf(memory) + 4095n) / 4096n * 4096n;
  const flags = (bits: bigint) => imageOf(cl.handle, { flags: bits });
  const useHost = { flags: CL.CL_MEM_READ_WRITE | CL.CL_MEM_USE_HOST_PTR, address };
  const buffer = bufferOf(cl);
  const cases: readonly (readonly [handle: bigint, message: string])[] = [
    [bufferOf(cl), "expected an image, got another memory object"],
    [imageOf(other.handle), "the image is of another context"],
    [imageOf(cl.handle, useHost), "it lies in memory of the host"],
    [imageOf(cl.handle, { type: "1D buffer", buffer }), "it lies in the memory of another object"],
    [flags(CL.CL_MEM_READ_ONLY), "it was made with CL_MEM_READ_ONLY"],
    [flags(CL.CL_MEM_WRITE_ONLY), "it was made with CL_MEM_WRITE_ONLY"],
    [flags(CL.CL_MEM_READ_WRITE | CL.CL_MEM_HOST_NO_ACCESS), "it was made with CL_MEM_HOST_NO_ACCESS"],
  ];
  let calls = 0;
  const owner = () => void calls++;
  for (const [handle, message] of cases) {
    const error = thrown(ArgumentError, () => target.attach(handle, { owner }));
    assert(error.argument === "handle" && error.message.includes(message), error.message);
    release(handle);
  }
  release(buffer);
  const image = imageOf(cl.handle);
  const wrong = [
    [cl.image({ order: "RGBA", type: "SIGNED_INT8" }), "its pixels are RGBA UNSIGNED_INT8"],
    [cl.image(RGBA, { type: "3D" }), "it is a 2D image, and these are 3D"],
  ] as const;
  for (const [target, message] of wrong) {
    const error = thrown(ArgumentError, () => target.attach(image, { owner }));
    assert(error.message.includes(message), error.message);
  }
  for (const handle of [0n, -1n, 2n ** 64n, 1, "1", null, undefined]) {
    thrown(ArgumentError, () => target.attach(handle as bigint, { owner }));
  }
  assertEquals(calls, cases.length + wrong.length + 7);
  assertReferences(platform, image, 1);
  cl[Symbol.dispose]();
  thrown(DisposedError, () => target.attach(image));
  release(image);
});
