import { assert, assertEquals, assertRejects } from "@std/assert";
import sharp, { type Sharp } from "sharp";
import { PhotoError, readPhoto, writePng } from "../../examples/edges/photo.ts";

const PHOTO = new URL("../../examples/edges/photo.jpg", import.meta.url);

/** 20 × 10 pixels, the left half dark red, the right half light blue. */
const SAMPLE = Uint8Array.from({ length: 20 * 10 * 3 }, (_, i) => {
  const right = Math.floor(i / 3) % 20 >= 10;
  return [right ? 120 : 140, right ? 180 : 20, right ? 230 : 30][i % 3];
});

function sample(): Sharp {
  return sharp(SAMPLE, { raw: { width: 20, height: 10, channels: 3 } });
}

/** A copy of `bytes` with a big-endian integer of `length` bytes written at `offset`. */
function patched(bytes: Uint8Array, offset: number, length: number, value: number): Uint8Array {
  const copy = bytes.slice();
  for (let i = 0; i < length; i++) copy[offset + i] = value >>> 8 * (length - 1 - i);
  return copy;
}

/** A PNG whose header claims another size, with the right checksum. */
async function pngClaiming(width: number, height: number): Promise<Uint8Array> {
  const claimed = patched(patched(await sample().png().toBuffer(), 16, 4, width), 20, 4, height);
  return patched(claimed, 29, 4, crc32(claimed.subarray(12, 29)));
}

/** A JPEG whose header claims another size. */
async function jpegClaiming(width: number, height: number): Promise<Uint8Array> {
  const jpeg: Uint8Array = await sample().jpeg().toBuffer();
  const startOfFrame = jpeg.findIndex((byte, i) => byte === 0xff && jpeg[i + 1] === 0xc0);
  return patched(patched(jpeg, startOfFrame + 5, 2, height), startOfFrame + 7, 2, width);
}

/** The checksum at the end of a PNG chunk. */
function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc >>> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** Asserts a PhotoError of one sentence that contains `reason`. */
async function assertRefused(source: string | URL | Uint8Array, reason: string): Promise<void> {
  const { message } = await assertRejects(() => readPhoto(source), PhotoError, reason);
  assert(/^[^\n]+[^.:\n]\.$/.test(message), message);
}

Deno.test("readPhoto: the bundled photograph", async () => {
  const { width, height, rgba, decoder, decoderCopy } = await readPhoto(PHOTO);
  assertEquals([width, height, rgba.length], [1024, 819, 4 * 1024 * 819]);
  assert(rgba.every((value, i) => i % 4 < 3 || value === 255));
  assert(decoder.startsWith("sharp "));
  assert(decoderCopy.includes(String(rgba.length)));
});

const KINDS: Record<string, () => Sharp> = {
  "JPEG": () => sample().jpeg({ quality: 100, chromaSubsampling: "4:4:4" }),
  "progressive JPEG": () => sample().jpeg({ quality: 100, chromaSubsampling: "4:4:4", progressive: true }),
  "PNG": () => sample().png(),
  "palette PNG": () => sample().png({ palette: true }),
  "interlaced PNG": () => sample().png({ progressive: true }),
  "16-bit PNG": () => sample().toColourspace("rgb16").png(),
};

for (const [kind, make] of Object.entries(KINDS)) {
  Deno.test(`readPhoto: ${kind}`, async () => {
    const { width, height, rgba } = await readPhoto(await make().toBuffer());
    assertEquals([width, height], [20, 10]);
    for (const [x, expected] of [[2, [140, 20, 30, 255]], [17, [120, 180, 230, 255]]] as const) {
      const pixel = rgba.subarray(4 * (5 * 20 + x), 4 * (5 * 20 + x) + 4);
      assert(expected.every((value, i) => Math.abs(pixel[i] - value) <= 3), `${pixel} is not ${expected}`);
    }
  });
}

Deno.test("readPhoto: a CMYK JPEG comes out as RGBA", async () => {
  const { width, height, rgba } = await readPhoto(await sample().toColourspace("cmyk").jpeg().toBuffer());
  assertEquals([width, height, rgba.length], [20, 10, 800]);
});

for (const [kind, make] of [["JPEG", () => sample().jpeg()], ["PNG", () => sample().png()]] as const) {
  Deno.test(`readPhoto: a grey ${kind} has three equal channels`, async () => {
    const { rgba } = await readPhoto(await make().toColourspace("b-w").toBuffer());
    assertEquals(rgba.length, 800);
    for (let i = 0; i < rgba.length; i += 4) {
      assertEquals([rgba[i], rgba[i], 255], [rgba[i + 1], rgba[i + 2], rgba[i + 3]]);
    }
  });
}

Deno.test("readPhoto: transparency is kept, and does not dim the colours", async () => {
  const { rgba } = await readPhoto(await sample().ensureAlpha(0.4).png().toBuffer());
  assertEquals([...rgba.subarray(0, 4)], [140, 20, 30, 102]);
});

Deno.test("readPhoto: an EXIF orientation is applied", async () => {
  const jpeg = await sample().withMetadata({ orientation: 6 }).jpeg().toBuffer(); // to be turned a quarter clockwise
  const { width, height, rgba } = await readPhoto(jpeg);
  assertEquals([width, height], [10, 20]);
  assert(rgba[0] > rgba[2] && rgba[rgba.length - 4] < rgba[rgba.length - 2], "red above, blue below");
});

Deno.test("readPhoto: anything but a picture is refused", async () => {
  await assertRefused("no/such/photo.jpg", "no such file");
  await assertRefused(new URL(".", import.meta.url), "it is not a regular file");
  await assertRefused(new Uint8Array(), "is empty");
  await assertRefused(new TextEncoder().encode("a text"), "is neither a JPEG nor a PNG");
  await assertRefused(new TextEncoder().encode("<svg xmlns='http://www.w3.org/2000/svg'/>"), "is neither");
  await assertRefused(import.meta.filename!, "is neither a JPEG nor a PNG");
});

Deno.test("readPhoto: a file cut short anywhere is refused", async () => {
  for (const bytes of [await Deno.readFile(PHOTO), await sample().png().toBuffer()]) {
    for (const length of [8, 20, 40, Math.floor(bytes.length / 2), bytes.length - 20]) {
      await assertRefused(bytes.subarray(0, length), "cannot be decoded");
    }
  }
});

Deno.test("readPhoto: a damaged file is refused", async () => {
  const jpeg = await Deno.readFile(PHOTO);
  for (let i = 100_000; i < 101_000; i++) jpeg[i] = 73 * i;
  await assertRefused(jpeg, "cannot be decoded");
  const png = await sample().png().toBuffer();
  await assertRefused(patched(png, png.indexOf("IDAT") + 8, 4, 0x12345678), "cannot be decoded");
});

Deno.test("readPhoto: a header that claims too much is refused before decoding", async () => {
  await assertRefused(await pngClaiming(60_000, 60_000), "claims 60000 × 60000 pixels");
  await assertRefused(await pngClaiming(2 ** 31 - 1, 2 ** 31 - 1), "cannot be decoded");
  await assertRefused(await pngClaiming(0, 10), "cannot be decoded");
  await assertRefused(await jpegClaiming(65_000, 65_000), "claims 65000 × 65000 pixels");
  await assertRefused(await jpegClaiming(65_535, 65_535), "cannot be decoded");
});

Deno.test("readPhoto: a header that claims more than the file holds is refused", async () => {
  await assertRefused(await pngClaiming(9_000, 9_000), "cannot be decoded");
  await assertRefused(await jpegClaiming(9_000, 9_000), "cannot be decoded");
});

Deno.test("writePng: what was written is read back, in one 8-bit channel", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/made/too/edges.png`;
  try {
    const grey = Uint8Array.from({ length: 31 * 17 }, (_, i) => i % 3 * 100);
    const length = await writePng(path, grey, 31, 17);
    assertEquals((await Deno.stat(path)).size, length);
    const { channels, depth } = await sharp(await Deno.readFile(path)).metadata();
    assertEquals([channels, depth], [1, "uchar"]);
    const { width, height, rgba } = await readPhoto(path);
    assertEquals([width, height], [31, 17]);
    assertEquals(rgba.filter((_, i) => i % 4 === 0), grey);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("writePng: a place that cannot be written to is named", async () => {
  const inAFile = `${import.meta.filename}/x.png`;
  await assertRejects(() => writePng(inAFile, new Uint8Array(1), 1, 1), PhotoError, "photo_test.ts/x.png cannot be");
});

Deno.test("writePng: bytes that do not fit the size are refused", async () => {
  await assertRejects(() => writePng("never-written.png", new Uint8Array(5), 3, 2), PhotoError);
});
